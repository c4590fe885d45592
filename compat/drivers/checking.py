"""The self-test of a driver: each function of the protocol, in a small world.

The worlds are those of ``small_worlds.toml``. What a driver does not declare is not
asked for, and said to be so. Nothing here asks whether an engine keeps the contract:
that is ``refengine conform --engine-cmd``.
"""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from compat.drivers.connection import DriverCallError, DriverProcess, KeptDriver
from compat.drivers.remote import REACT, opened
from compat.engines.callbacks.playing import play_callbacks
from compat.engines.callbacks.scenario import CallbacksScenario
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.scenario import LoopScenario
from refengine.errors import RefengineError
from refengine.testing.clock import run
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Observation, Trace

Found: TypeAlias = Literal["ok", "not declared", "FAILED"]
Doc: TypeAlias = "Mapping[str, Any]"


@dataclass(frozen=True, slots=True)
class FunctionChecked:
    """What came of one function: ``why`` says what was wrong, or what it needs."""

    function: str
    found: Found
    why: str = ""


def _played(doc: Doc, door: Any) -> Trace:  # noqa: ANN401  # each dialect has its door
    hi = {"runs": [{"input": ["user:hi"]}], "model_script": ["assistant:done"]}
    return run(play(read_scenario({"agent": {}, **hi, **doc}), door))


def _played_loop(doc: Doc, door: Any) -> Trace:  # noqa: ANN401  # as above
    text = json.dumps({"turns": [{"input": "hi"}], **doc})
    return play_loop(LoopScenario.model_validate_json(text), door)


def _played_sessions(doc: Doc, door: Any) -> Trace:  # noqa: ANN401  # as above
    scenario = CallbacksScenario.model_validate_json(json.dumps(doc))
    return play_callbacks(scenario, door)


PLAYED: Final[Mapping[str, Callable[[Doc, Any], Trace]]] = MappingProxyType(
    {REACT: _played, "stream-loop": _played_loop, "callbacks": _played_sessions}
)
"""How a world is played, in each dialect that has any."""
OWN: Final = ("function", "needs", "sees", "or_sees", "wanted")
"""What is said of a world, beside the world."""


def check_driver(command: Sequence[str], patience: float) -> Iterator[FunctionChecked]:
    """Yield what came of each function; a driver that is over ends it."""
    try:
        door = opened("driver", KeptDriver(lambda: command, patience))
    except (RefengineError, OSError) as error:
        yield FunctionChecked("initialize", "FAILED", str(error))
        return
    missing = [each for each in FACTS if not door.about.get(each)]
    if missing:
        why = f"it does not give its {', '.join(missing)}"
        yield FunctionChecked("initialize", "FAILED", why)
        return
    yield FunctionChecked("initialize", "ok")
    dialect = door.about["dialect"]
    if dialect not in PLAYED:
        why = f"there are no small worlds for {dialect}: judge it by refengine conform"
        yield FunctionChecked("build, run", "not declared", why)
    for world in small_worlds().get(dialect, ()):
        yield _checked(world, door)
    yield _no_method(command, patience)
    yield _shutdown(command, patience)


FACTS: Final = ("engine", "version", "language", "dialect", "profile")
"""What a driver has to say of itself, beside its capabilities."""


def small_worlds() -> Mapping[str, Sequence[Doc]]:
    """Return the worlds of each dialect that has any."""
    path = Path(__file__).with_name("small_worlds.toml")
    return tomllib.loads(path.read_text("utf-8"))


def _checked(world: Doc, door: Any) -> FunctionChecked:  # noqa: ANN401  # as above
    """Play a world, if the driver declares what it needs."""
    function = world["function"]
    lacking = [x for x in world.get("needs", ()) if x not in door.capabilities]
    if lacking:
        return FunctionChecked(function, "not declared", ", ".join(lacking))
    doc = {name: each for name, each in world.items() if name not in OWN}
    trace = PLAYED[door.about["dialect"]](doc, door)
    if any(_has(trace, each) for each in (world["sees"], world.get("or_sees")) if each):
        return FunctionChecked(function, "ok")
    errors = [*_errors(trace)]
    got = f"; it ended with {errors[0]}" if errors else ""
    return FunctionChecked(function, "FAILED", f"wanted: {world['wanted']}{got}")


def _has(trace: Trace, sees: Sequence[Doc]) -> bool:
    """Tell whether a trace holds all of that."""
    for wanted in sees:
        there = trace.of(wanted["kind"])
        if len(there) != wanted.get("times", len(there)):
            return False
        if not any(_matches(each, wanted) for each in there):
            return False
    return True


def _matches(entry: Observation, wanted: Doc) -> bool:
    said = {**entry.data, "says": entry.data}
    return all(
        re.search(each, str(said.get(name)))
        for name, each in wanted.items()
        if name not in {"kind", "times"}
    )


def _errors(trace: Trace) -> Iterator[str]:
    for each in trace.of("event", "build_error", "run_end", "effect"):
        error: Any = each.data.get("error")
        if error:
            yield str(error if isinstance(error, str) else error["text"])


def _no_method(command: Sequence[str], patience: float) -> FunctionChecked:
    function = "a method that does not exist"
    driver = DriverProcess(command, patience)
    try:
        run(_called(driver, "no_such_method"))
    except DriverCallError:
        return FunctionChecked(function, "ok")
    except RefengineError as error:
        return FunctionChecked(function, "FAILED", str(error))
    finally:
        driver.close()
    return FunctionChecked(function, "FAILED", "wanted: an error in reply")


def _shutdown(command: Sequence[str], patience: float) -> FunctionChecked:
    driver = DriverProcess(command, patience)
    try:
        run(_called(driver, "shutdown"))
    except RefengineError as error:
        return FunctionChecked("shutdown", "FAILED", str(error))
    status = driver.wait()
    why = "" if status == 0 else f"wanted: exit status 0, but it is {status}"
    return FunctionChecked("shutdown", "FAILED" if why else "ok", why)


async def _called(driver: DriverProcess, method: str) -> None:
    driver.attach()
    try:
        await asyncio.ensure_future(driver.call(method, {}))
    finally:
        driver.detach()
