"""What a child does: one hook of one framework, measured beside our engine.

First the gate, at every number of handlers that is measured; then the samples, raw, for
the parent to reckon with; then what a run holds, which is not timed.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from benchmarks import gate
from benchmarks.kinds import bare_side, engine_side, kind_of
from benchmarks.measure import Pair, Work
from benchmarks.parts import Kit
from benchmarks.peers.admitting import WorkNotDoneError, admit
from benchmarks.peers.peer import Variant
from benchmarks.peers.plan import Plan
from benchmarks.peers.turns import Turn, once, turns
from benchmarks.settings import Setting

Reply: TypeAlias = dict[str, Any]

MESSAGES: Final = 1
"""A peer is asked one question, and so are the sides beside it."""
LOST: Final = 2.0
"""A run as long as so many base runs is mostly handlers: their slope is no noise."""


async def measure(variant: Variant, plan: Plan) -> Reply:
    """Return the samples and the memory of a hook, or why there are none."""
    try:
        points = await admitted(variant, plan)
    except WorkNotDoneError as error:
        return {"blocked": {"clause": error.clause, "why": str(error)}}
    except Exception as error:  # noqa: BLE001  # whatever a framework raises is told
        return {"blocked": {"clause": None, "why": described(error)}}
    taken = [await one_series(variant, points, plan) for _ in range(plan.series)]
    return {"series": taken, "memory": await memory(variant, plan.memory)}


async def admit_ours(variant: Variant, n: int) -> None:
    """See that the run by hand and our engine do the work; raises WorkDiffersError."""
    setting = setting_of(variant, n)

    async def pair(kit: Kit) -> Pair:
        return Pair(bare_side(setting, kit), await engine_side(setting, kit))

    await gate.admit(gate.Bar(0, variant.ours, None, pair))


async def admitted(variant: Variant, plan: Plan) -> Sequence[int]:
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
    variant: Variant, points: Sequence[int], plan: Plan
) -> list[tuple[int, list[Turn]]]:
    """Set the three sides up anew at each number of handlers, and take turns."""
    taken: list[tuple[int, list[Turn]]] = []
    for n in points:
        setting = setting_of(variant, n)
        bare = bare_side(setting, Kit()).work
        ours = (await engine_side(setting, Kit())).work
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
        bare_side(setting_of(variant, n), Kit())
        await admit(variant, n, times=1)
    except Exception:  # noqa: BLE001  # how it fails is told by tries
        return False
    return True


async def _is_mostly_handlers(variant: Variant, n: int) -> bool:
    base, with_handlers = variant.build(0, None), variant.build(n, None)
    return await once(with_handlers) > LOST * await once(base)
