"""``python -m benchmarks.drivers``: how many sessions a second go through a driver.

Each is played on a real engine behind its driver and on the reference under the same
profile, in turns, so that what else a machine does falls on both: the ratio is that of
pairs. Sessions a second are those of one core: by the processor time of this process
and of the driver together, which take turns and never work at the same time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from statistics import median
from time import perf_counter, process_time
from types import MappingProxyType
from typing import Any, Final

from compat.drivers.remote import RemoteEngine
from compat.engines.capabilities import MissingExtraError
from compat.engines.importing import GROUP
from refengine.profile import profile
from refengine.testing import ReferenceEngine
from refengine.testing.clock import Loops
from refengine.testing.doors import Engine
from refengine.testing.machine import facts
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play

ENGINE: Final = "eino@0.9.13"
PAIRS: Final = 9
SESSIONS: Final = 40
"""Sessions of one half of a pair."""


def _handler(number: int) -> dict[str, object]:
    return {
        "id": f"H{number}",
        "before_agent": [{"op": "append_instruction", "sep": "\n", "text": "X"}],
        "before_model": [{"op": "append", "msg": f"user:m{number}"}],
        "after_model": [{"op": "record"}],
        "after_agent": [{"op": "record"}],
        "wrap_model": {"record": f"H{number}"},
        "wrap_invokable": {"prefix_result": f"{number}>"},
        "wrap_streamable": {},
    }


def _session(agent: Mapping[str, object], *script: str) -> Scenario:
    runs = [{"input": ["user:hi"]}]
    return read_scenario(
        {"agent": dict(agent), "model_script": [*script], "runs": runs}
    )


_TOOL: Final[Mapping[str, object]] = MappingProxyType(
    {"tools": [{"name": "t", "result": "r"}]}
)
_CALLS: Final = ("assistant:[1:t({})]", "assistant:done")


@dataclass(frozen=True, slots=True)
class DriverRow:
    """A kind of session, and how many of it a second of a core has to give."""

    name: str
    session: Scenario
    least: int | None


def driver_rows() -> tuple[DriverRow, ...]:
    """Return what is measured: from a model alone to two handlers of all hooks."""
    two = {"instruction": "B", "handlers": [_handler(1), _handler(2)], **_TOOL}
    return (
        DriverRow("one answer", _session({"tools": []}, "assistant:done"), None),
        DriverRow("bare: a tool, two answers", _session(_TOOL, *_CALLS), 500),
        DriverRow("the same, two handlers of all hooks", _session(two, *_CALLS), 150),
    )


@dataclass(frozen=True, slots=True)
class MeasuredDriver:
    """What came out: the middle of pairs."""

    row: DriverRow
    per_core: float
    """Sessions in a second of processor time."""
    per_second: float
    """Sessions in a second of this machine, as busy as it was."""
    ratio: float
    """Seconds of a session, of those of the same on the reference."""

    @property
    def holds(self) -> bool:
        """Whether it is as many as it has to be."""
        return self.row.least is None or self.per_core >= self.row.least


class SessionLostError(RuntimeError):
    """A session does not come to its end on an engine, so its seconds say nothing."""

    def __init__(self, row: DriverRow, engine: str) -> None:
        super().__init__(
            f"{row.name!r} does not end as completed on {engine}: measure an engine"
            " with the capabilities of all rows, or mend its driver"
        )


def measured_driver(
    row: DriverRow, engine: RemoteEngine, pairs: int, sessions: int
) -> MeasuredDriver:
    """Measure one row: so many pairs, of so many sessions on each side.

    Raises SessionLostError.
    """
    loops = Loops()
    ours = ReferenceEngine(profile(engine.profile))

    def played(on: Engine) -> Callable[[], None]:
        def go() -> None:
            for _ in range(sessions):
                loops.run(play(row.session, on))

        return go

    for on in (engine, ours):
        ends = loops.run(play(row.session, on)).of("run_end")
        if [each.data["status"] for each in ends] != ["completed"]:
            raise SessionLostError(row, on.name)
    theirs, reference = played(engine), played(ours)
    theirs()
    reference()
    found = [_pair(theirs, reference, engine) for _ in range(pairs)]
    seconds = median(each for each, _, _ in found)
    processor = median(each for _, each, _ in found)
    ratio = median(theirs / ours for theirs, _, ours in found)
    return MeasuredDriver(row, sessions / processor, sessions / seconds, ratio)


def _pair(
    theirs: Callable[[], None], reference: Callable[[], None], engine: RemoteEngine
) -> tuple[float, float, float]:
    """Return seconds of the engine, its processor's, and those of the reference."""
    used = process_time() + engine.processor_seconds()
    began = perf_counter()
    theirs()
    between = perf_counter()
    processor = process_time() + engine.processor_seconds() - used
    reference()
    return between - began, processor, perf_counter() - between


def _opened(name: str) -> RemoteEngine:
    """Return an installed engine behind a driver; raises SystemExit if it is none."""
    for point in entry_points(group=GROUP, name=name):
        made = point.load()()
        if isinstance(made, RemoteEngine):
            return made
    raise SystemExit(f"{name!r} is no installed engine behind a driver, as {ENGINE} is")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns 1 below a bar, 2 without what the engine needs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drivers")
    parser.add_argument("engine", nargs="?", default=ENGINE)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--json", action="store_true", help="a line of JSON a row")
    given = parser.parse_args(arguments)
    try:
        engine = _opened(given.engine)
    except MissingExtraError as error:
        print(error)  # noqa: T201  # its answer
        return 2
    print(facts())  # noqa: T201  # its answer
    found = [
        measured_driver(row, engine, given.pairs, SESSIONS) for row in driver_rows()
    ]
    for each in found:
        print(_as_json(each) if given.json else _as_text(each))  # noqa: T201  # its answer
    return int(not all(each.holds for each in found))


def _as_text(found: MeasuredDriver) -> str:
    bar = "" if found.row.least is None else f", at least {found.row.least}"
    mark = "" if found.holds else "  TOO FEW"
    return (
        f"{found.row.name}: {found.per_core:.0f} a second of a core{bar}"
        f" ({found.per_second:.0f} a second here, {found.ratio:.1f} times the"
        f" reference){mark}"
    )


def _as_json(found: MeasuredDriver) -> str:
    said: dict[str, Any] = {
        "row": found.row.name,
        "per_core": round(found.per_core),
        "per_second": round(found.per_second),
        "ratio": round(found.ratio, 2),
        "least": found.row.least,
    }
    return json.dumps(said)


if __name__ == "__main__":
    raise SystemExit(main())
