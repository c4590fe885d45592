"""Setting a side up, and seeing first that it does the work it is measured for.

A side is made once of parts that count, and tried: it has to make its calls, no more
and no less, each time. What is measured is made alike of parts that do not count. A
time without that would say nothing: one framework gave up its tool above 480 layers
and was fast.

Then sides take turns, set up again each time. What a run holds is measured on its own,
never while time is: tracing an allocation takes longer than making it.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Any, Final, TypeVar, cast

from benchmarks.kinds import bare_side, clause_of, engine_side, kind_of
from benchmarks.measure import CLOCK, WALL, MeasuredSide, turns
from benchmarks.parts import SharedParts
from benchmarks.specs import Effort, SideSpec
from benchmarks.subject import NO_HOOK, Subjects
from refengine.errors import RefengineError

TIMES: Final = 3
"""How often a side is tried: state left over from one time would show the next."""


class NotDoneError(RefengineError):
    """A side that does other work than it is measured for."""

    def __init__(self, clause: str | None, why: str) -> None:
        self.clause = clause
        self.why = why
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes sides; ``subjects`` are the user's, if there are any."""

    subjects: Subjects

    async def made(self, spec: SideSpec, kit: SharedParts) -> MeasuredSide:
        """Return a side; raises what setting it up raises."""
        if spec.maker == "bare":
            return bare_side(spec.setting, kit)
        if spec.maker == "engine":
            return await engine_side(spec.setting, kit)
        return await self.subjects.side(spec, kit)

    async def admit(self, spec: SideSpec) -> float:
        """Try a side; raises NotDoneError, or what setting it up raises.

        Returns the share of its time in which its thread did not work: the least of
        all tries, since a neighbour on the machine may have stopped one of them.
        """
        tally = Counter[str]()
        side = await self.made(spec, SharedParts(tally))
        waited: list[float] = []
        for time in range(1, TIMES + 1):
            tally.clear()
            wall, own = perf_counter(), thread_time()
            await _run(side, spec)
            own, wall = thread_time() - own, perf_counter() - wall
            waited.append(max(1 - own / wall, 0.0))
            _compare(spec, side, tally, time)
        return min(waited)


async def _run(side: MeasuredSide, spec: SideSpec) -> None:
    try:
        await side.work()
    except RecursionError as error:
        if spec.maker != "bare":
            raise
        n = spec.setting.n
        raise NotDoneError(None, f"Python's stack ends before {n:,} layers") from error


def _compare(
    spec: SideSpec, side: MeasuredSide, tally: Counter[str], time: int
) -> None:
    for call in {**side.calls, **tally}:
        expected, got = side.calls.get(call, 0), tally[call]
        if expected == got:
            continue
        why = f"{_shown(call)} {got:,} times in run {time}, and {expected:,} are right"
        raise NotDoneError(_clause(spec, call), why)


def _clause(spec: SideSpec, call: str) -> str | None:
    """Return the clause that is not kept; the user's handlers may well break none."""
    if spec.setting.hook == NO_HOOK:
        return None
    return clause_of(kind_of(spec.setting.hook), spec.setting, call)


def _shown(call: str) -> str:
    kind, _, method = call.partition(".")
    if kind.endswith("Model"):
        return "the model was called"
    if method in {"invoke", "stream"}:
        return "the tool ran"
    return f"{method} was called"


T = TypeVar("T")
WARM_UPS = 3
"""Runs before one is looked at: the first ones fill caches that stay."""


class Deepest(SharedParts):
    """A kit whose model and tool look at how many blocks are in use when they run."""

    def __init__(self) -> None:
        super().__init__(Counter())
        self.blocks = 0

    def counted(self, method: Callable[..., T], key: str) -> Callable[..., T]:
        """Return a function; model and tool also look at what is in use."""
        if not key.endswith((".invoke", ".stream")):
            return method
        tool = cast("Callable[..., Awaitable[Any]]", method)

        async def looked(*given: object) -> object:
            self.blocks = max(self.blocks, sys.getallocatedblocks())
            return await tool(*given)

        return cast("Callable[..., T]", looked)


async def memory(maker: Maker, spec: SideSpec) -> dict[str, int]:
    """Return ``peak`` and ``left`` in bytes, ``blocks`` where model or tool run.

    Raises what setting the side up raises.
    """
    side = await maker.made(spec, SharedParts())
    found = await traced(side)
    kit = Deepest()
    side = await maker.made(spec, kit)
    for _ in range(WARM_UPS):
        await side.work()
    gc.collect()
    kit.blocks, before = 0, sys.getallocatedblocks()
    await side.work()
    return {**found, "blocks": max(kit.blocks - before, 0)}


async def traced(side: MeasuredSide) -> dict[str, int]:
    """Return the most bytes that one run holds, and those that it leaves."""
    tracemalloc.start()
    try:
        for _ in range(WARM_UPS):
            await side.work()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await side.work()
        _, peak = tracemalloc.get_traced_memory()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return {"peak": peak - before, "left": max(after - before, 0)}


WAITS: Final = 0.3
"""A subject waits if its thread does not work for this share of a run: less may be the
machine's part."""
BUDGET: Final = 60.0
"""Seconds for the rounds of all set-ups, half of what the parent of the child waits;
slow work gets fewer rounds a set-up, of which ``FEWEST`` have a median."""
FEWEST: Final = 2


def is_waiting(waited: float) -> bool:
    """Tell whether a side waits, by the share of its time that ``Maker.admit`` gave."""
    return waited > WAITS and CLOCK is not WALL


async def set_ups(
    maker: Maker, sides: Sequence[SideSpec], effort: Effort, *, waits: bool
) -> list[list[tuple[float, ...]]]:
    """Return the rounds of every set-up, each with the seconds of all sides.

    The sides were admitted before; where one ``waits`` the clock is the wall's. Raises
    what setting a side up raises.
    """
    series: list[list[tuple[float, ...]]] = []
    rounds, clock = effort.rounds, WALL if waits else CLOCK
    for _ in range(effort.sets):
        began = WALL()
        made = [await maker.made(side, SharedParts()) for side in sides]
        series.append(await turns(made, rounds, effort.seconds, clock))
        if (all_of_it := (WALL() - began) * effort.sets) > BUDGET:
            rounds = max(FEWEST, int(rounds * BUDGET / all_of_it))
    return series
