"""The fixture ``handler_cost``: a user's handlers, measured in his own test.

    def test_my_handlers_stay_cheap(handler_cost):
        cost = handler_cost(subject)
        assert cost.ratio.low <= 1.5

What is asserted is a ratio of the same process and minute, never a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from benchmarks.making import Maker, is_waiting, set_ups
from benchmarks.measure import sample
from benchmarks.parts import SharedParts
from benchmarks.plan import FULL, nobody
from benchmarks.specs import Setting, SideSpec
from benchmarks.statistics import change, difference, ratio, seconds
from benchmarks.subject import NO_HOOK, SubjectFunction, Subjects
from compat.verdicts.cost import Compared

RUNS: Final = 100
"""So many runs one time of pytest-benchmark's table stands for."""


class Benchmark(Protocol):
    """What is used of pytest-benchmark's fixture, which has no types."""

    group: str | None
    extra_info: dict[str, Any]

    def __call__(self, function: Callable[[], object]) -> object:
        """Time a function, as often as its own calibration says."""
        ...


class HandlerCost:
    """Measures a subject over the engine with no handler, and notes it in the table."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark

    def __call__(
        self, subject: SubjectFunction, *, history: int = 10, stream: bool = False
    ) -> Compared:
        """Return the ratio to a run with no handler, with its 99 % interval.

        ``subject(world)`` returns a list of struct middlewares or handlers, as for
        ``refengine migrate check``. A run of it becomes a row of pytest-benchmark's
        table, with the ratio in its ``extra_info``. Raises NotDoneError if the run
        does not call the model twice and the tool once, what the handlers raise, and
        WorldExtraError.
        """
        name = str(getattr(subject, "__name__", subject))
        maker = Maker(Subjects({"subject": (name, subject)}))
        setting = Setting(NO_HOOK, history=history, stream=stream)
        with asyncio.Runner() as runner:
            found = runner.run(_compared(maker, setting))
            side = runner.run(maker.made(SideSpec("subject", setting), SharedParts()))
            self._benchmark.group = "handler_cost"
            self._benchmark.extra_info.update(
                ratio=found.ratio.model_dump(),
                floor=found.floor,
                runs=RUNS,
            )
            self._benchmark(lambda: runner.run(sample(side, RUNS)))
        return found


async def _compared(maker: Maker, setting: Setting) -> Compared:
    specs = (SideSpec("subject", setting), nobody(setting))
    waited = [await maker.admit(spec) for spec in specs]
    series = await set_ups(maker, specs, FULL, waits=is_waiting(waited[0]))
    times = ratio(series, 0, 1)
    handlers = len(maker.subjects.extensions(specs[0], SharedParts()).names)
    return Compared(
        floor="no handlers",
        floor_seconds=seconds(series, 1),
        seconds=seconds(series, 0),
        ratio=times,
        per_handler=difference(series, 0, 1).times(1 / handlers),
        change=change(times, 0.0),
    )
