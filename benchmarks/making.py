"""Setting a side up, and seeing first that it does the work it is measured for.

A side is made once of parts that count, and tried: it has to make its calls, no more
and no less, each time. What is measured is made alike of parts that do not count. A
time without that would say nothing: one framework gave up its tool above 480 layers
and was fast.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Final

from benchmarks.kinds import bare_side, clause_of, engine_side, kind_of
from benchmarks.measure import Side
from benchmarks.parts import Kit
from benchmarks.specs import SideSpec
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

    async def made(self, spec: SideSpec, kit: Kit) -> Side:
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
        side = await self.made(spec, Kit(tally))
        waited: list[float] = []
        for time in range(1, TIMES + 1):
            tally.clear()
            wall, own = perf_counter(), thread_time()
            await _run(side, spec)
            own, wall = thread_time() - own, perf_counter() - wall
            waited.append(max(1 - own / wall, 0.0))
            _compare(spec, side, tally, time)
        return min(waited)


async def _run(side: Side, spec: SideSpec) -> None:
    try:
        await side.work()
    except RecursionError as error:
        if spec.maker != "bare":
            raise
        n = spec.setting.n
        raise NotDoneError(None, f"Python's stack ends before {n:,} layers") from error


def _compare(spec: SideSpec, side: Side, tally: Counter[str], time: int) -> None:
    for call in {**side.calls, **tally}:
        wanted, got = side.calls.get(call, 0), tally[call]
        if wanted == got:
            continue
        why = f"{_shown(call)} {got:,} times in run {time}, and {wanted:,} are right"
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
