"""The bars under pytest-benchmark, the two sides of each in one group.

    pytest -p benchmark benchmarks --benchmark-only

For looking into one time, saving it and comparing it with a later one. What a bar is
held to is the ratio of paired samples that ``python -m benchmarks`` measures; here the
sides come one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

import pytest

from benchmarks.bars import BARS
from benchmarks.fixture import Benchmark
from benchmarks.measure import MeasuredBar, MeasuredPair, admit, sample
from benchmarks.parts import SharedParts

UNITS: Final = 10_000
"""How many runs, layers or hooks one time in the table stands for, more or less."""


class Admitted:
    """Runs in one event loop, and keeps the pair that was set up last."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner
        self._last: tuple[MeasuredBar, MeasuredPair] | None = None

    def pair(self, bar: MeasuredBar) -> MeasuredPair:
        """Return the bar's pair; raises WorkDiffersError."""
        if self._last is None or self._last[0] is not bar:
            self._last = bar, self.runner.run(self._set_up(bar))
        return self._last[1]

    async def _set_up(self, bar: MeasuredBar) -> MeasuredPair:
        await admit(bar)
        return await bar.set_up(SharedParts())


@pytest.fixture(scope="module")
def admitted() -> Iterator[Admitted]:
    """Give one event loop to all measurements."""
    with asyncio.Runner() as runner:
        yield Admitted(runner)


@pytest.mark.benchmark(disable_gc=True)
@pytest.mark.parametrize("side", ["floor", "subject"])
@pytest.mark.parametrize("bar", BARS, ids=lambda bar: bar.name)
def test_cost(
    bar: MeasuredBar, side: str, admitted: Admitted, benchmark: Benchmark
) -> None:
    """Both sides make the calls they say, and take their time."""
    pair = admitted.pair(bar)
    measured = pair.floor if side == "floor" else pair.subject
    times = max(1, UNITS // measured.units)
    benchmark.group = f"{bar.number}. {bar.name}"
    benchmark(lambda: admitted.runner.run(sample(measured, times)))
