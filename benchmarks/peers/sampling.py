"""What a child does: one hook of one framework, measured beside our engine.

First the gate, at every number of handlers that is measured; then the samples, raw, for
the parent to reckon with; then what a run holds, which is not timed.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from time import get_clock_info, perf_counter, process_time
from typing import Any, Final, NamedTuple, TypeAlias

from benchmarks.kinds import bare_side, engine_side, kind_of
from benchmarks.measure import MeasuredBar, MeasuredPair, Work
from benchmarks.measure import admit as admit_pair
from benchmarks.parts import SharedParts
from benchmarks.peers.gate import WorkNotDoneError, admit
from benchmarks.peers.peer import Variant
from benchmarks.peers.plan import PeerPlan
from benchmarks.specs import Setting

_FINE: Final = 1e-6
CLOCK: Final = (
    process_time if get_clock_info("process_time").resolution <= _FINE else perf_counter
)
FEWEST: Final = 3
"""Rounds that are taken whatever they cost."""


class SampledTurn(NamedTuple):
    """One sample of each side, in seconds a run."""

    bare: float
    ours: float
    peer: float


async def turns(
    sides: tuple[Work, Work, Work], rounds: int, sample: float, budget: float
) -> list[SampledTurn]:
    """Take up to so many rounds, fewer if they go beyond the budget.

    ``sample`` and ``budget`` are seconds: of one sample at least, of all together.
    Each round another side goes first. No garbage is collected meanwhile, which spares
    a framework that leaves much of it.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        often = [await _often(side, sample) for side in sides]
        end = perf_counter() + budget
        taken: list[SampledTurn] = []
        while len(taken) < FEWEST or (len(taken) < rounds and perf_counter() < end):
            taken.append(await _round(sides, often, len(taken)))
        return taken
    finally:
        if was_enabled:
            gc.enable()


async def once(work: Work) -> float:
    """Return the seconds of one run, once warm."""
    await work()
    return median([await _sample(work, 1) for _ in range(FEWEST)])


async def _round(
    sides: Sequence[Work], often: Sequence[int], first: int
) -> SampledTurn:
    took = [0.0] * len(sides)
    for offset in range(len(sides)):
        at = (first + offset) % len(sides)
        took[at] = await _sample(sides[at], often[at])
    return SampledTurn(*took)


async def _sample(work: Work, times: int) -> float:
    start = CLOCK()
    for _ in range(times):
        await work()
    return (CLOCK() - start) / times


async def _often(work: Work, seconds: float) -> int:
    """Return how often to run for a sample of that length, once warm."""
    times = 1
    while (took := await _sample(work, times) * times) < seconds:
        missing = seconds / took if took else 10.0
        times = max(times + 1, int(times * min(missing, 10.0)))
    return times


Reply: TypeAlias = dict[str, Any]

MESSAGES: Final = 1
"""A peer is asked one question, and so are the sides beside it."""
LOST: Final = 2.0
"""A run as long as so many base runs is mostly handlers: their slope is not noise."""


async def measure_hook(variant: Variant, plan: PeerPlan) -> Reply:
    """Return the samples and the memory of a hook, or why there are none."""
    try:
        points = await admitted(variant, plan)
    except WorkNotDoneError as error:
        return {"blocked": {"clause": error.clause, "why": str(error)}}
    except Exception as error:  # noqa: BLE001  # whatever a framework raises
        return {"blocked": {"clause": None, "why": described(error)}}
    taken = [await one_series(variant, points, plan) for _ in range(plan.series)]
    return {"series": taken, "memory": await memory(variant, plan.memory)}


async def admit_ours(variant: Variant, n: int) -> None:
    """See that the run by hand and our engine do the work; raises WorkDiffersError."""
    setting = setting_of(variant, n)

    async def pair(kit: SharedParts) -> MeasuredPair:
        return MeasuredPair(bare_side(setting, kit), await engine_side(setting, kit))

    await admit_pair(MeasuredBar(0, variant.ours, None, pair))


async def admitted(variant: Variant, plan: PeerPlan) -> Sequence[int]:
    """Return the numbers of handlers to measure; raises what the gate raises.

    The first runs at each are the gate's, so a hook that does not do its work is not
    measured. Above ``plan.needed`` a number is just left out.
    """
    points = [n for n in plan.points if n <= plan.needed]
    for n in points:
        await admit_ours(variant, n)
        await admit(variant, n)
    further = [n for n in plan.points if n > plan.needed]
    points += [n for n in further if await _holds(variant, n)]
    for n in plan.further:
        if await _is_mostly_handlers(variant, points[-1]):
            return points
        points += [n] if await _holds(variant, n) else []
    return points


async def one_series(
    variant: Variant, points: Sequence[int], plan: PeerPlan
) -> list[tuple[int, list[SampledTurn]]]:
    """Set the three sides up anew at each number of handlers, and take turns."""
    taken: list[tuple[int, list[SampledTurn]]] = []
    for n in points:
        setting = setting_of(variant, n)
        bare = bare_side(setting, SharedParts()).work
        ours = (await engine_side(setting, SharedParts())).work
        sides = bare, ours, variant.build(n, None)
        taken.append((n, await turns(sides, plan.rounds, plan.sample, plan.budget)))
    return taken


async def memory(variant: Variant, between: tuple[int, int]) -> float:
    """Return the bytes that one handler adds to the peak of a run."""
    low, high = between
    added = await peak(variant.build(high, None)) - await peak(variant.build(low, None))
    return added / (high - low)


async def peak(work: Work) -> int:
    """Return the bytes that one run holds at most, beyond what stood before it."""
    await work()
    gc.collect()
    tracemalloc.start()
    try:
        await work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def setting_of(variant: Variant, n: int) -> Setting:
    """Return what the two other sides run: as much history as a peer is given."""
    return replace(kind_of(variant.ours).setting(n), history=MESSAGES)


def described(error: BaseException) -> str:
    """Return an exception in one line: its class and the first line it says."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


async def _holds(variant: Variant, n: int) -> bool:
    try:
        bare_side(setting_of(variant, n), SharedParts())
        await admit(variant, n, times=1)
    except Exception:  # noqa: BLE001  # tries find out how it fails
        return False
    return True


async def _is_mostly_handlers(variant: Variant, n: int) -> bool:
    base, with_handlers = variant.build(0, None), variant.build(n, None)
    return await once(with_handlers) > LOST * await once(base)
