"""The gate: a ratio is worth nothing if one side does less of the work.

Before a bar is measured it is set up once of parts that count, and each side must make
exactly the calls it says it makes: N hooks called N times, the tool run once. What is
measured afterwards is set up alike, of parts that do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.measure import Pair, Ratio, Round, Side, ratio_of, series
from benchmarks.parts import Kit

SERIES: Final = 5
"""How many times a bar is set up and measured. Where its objects come to lie in memory
can make a side 2 % slower for as long as they live, whatever its code does."""

TIMES: Final = 3
"""How often a side is tried: state left over from one time would show the next."""


class WorkDiffersError(AssertionError):
    """A side made other calls than its bar says, so its time would mean nothing."""

    def __init__(
        self, bar: str, side: str, wanted: Mapping[str, int], got: Mapping[str, int]
    ) -> None:
        self.bar = bar
        self.side = side
        self.wanted = wanted
        self.got = got
        super().__init__(
            f"{bar}: the {side} is not what it is measured as."
            f" Calls wanted: {dict(wanted)}; calls made: {dict(got)}"
        )


@dataclass(frozen=True, slots=True)
class Bar:
    """One pair, and the ratio it is held to; None where it is told for comparison.

    ``number`` is the bar's place in the list of README.md, ``set_up`` makes the pair of
    a kit's parts.
    """

    number: int
    name: str
    limit: float | None
    set_up: Callable[[Kit], Awaitable[Pair]]


async def admit(bar: Bar) -> None:
    """See that both sides do the work they are measured as; raises WorkDiffersError."""
    tally = Counter[str]()
    pair = await bar.set_up(Kit(tally))
    await _try(bar.name, "floor", pair.floor, tally)
    await _try(bar.name, "subject", pair.subject, tally)


async def measured(bar: Bar, rounds: int) -> Ratio:
    """Admit the bar and measure it; raises WorkDiffersError."""
    await admit(bar)
    taken: list[Round] = []
    for _ in range(SERIES):
        taken += await series(await bar.set_up(Kit()), rounds)
    return ratio_of(bar.name, taken, bar.limit)


async def _try(bar: str, name: str, side: Side, tally: Counter[str]) -> None:
    for _ in range(TIMES):
        tally.clear()
        await side.work()
        if not side.calls or tally != Counter(side.calls):
            raise WorkDiffersError(bar, name, side.calls, tally)
