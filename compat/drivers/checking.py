"""The self-test of a driver: each function of the protocol, in a small world.

What a driver does not declare is not asked for, and said to be so. Nothing here asks
whether an engine keeps the contract: that is ``refengine conform --engine-cmd``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from compat.drivers.checked import FunctionChecked, judged, lacking
from compat.drivers.checking_loops import LOOP_WORLDS
from compat.drivers.checking_sessions import SESSION_WORLDS
from compat.drivers.connection import DriverCallError, DriverProcess
from compat.drivers.kept import KeptDriver
from compat.drivers.opening import REACT, opened
from compat.drivers.remote import RemoteEngine
from refengine.errors import RefengineError
from refengine.testing.clock import run
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Observation, ObservationKind, Trace


@dataclass(frozen=True, slots=True)
class SmallWorld:
    """A world that shows a function, and what its trace has to hold."""

    function: str
    needs: tuple[str, ...]
    agent: Mapping[str, object]
    script: Sequence[str]
    holds: Callable[[Trace], bool]
    wanted: str
    streams: bool = False

    def check(self, engine: RemoteEngine) -> FunctionChecked:
        """Play it, if the driver declares what it needs."""
        missing = lacking(self.function, self.needs, engine.capabilities)
        if missing is not None:
            return missing
        told: dict[str, object] = {
            "agent": self.agent,
            "model_script": self.script,
            "runs": [{"input": ["user:hi"], "streaming": self.streams}],
        }
        trace = run(play(read_scenario(told), engine))
        failed = [str(each.data["error"]) for each in trace.of("event") if _fails(each)]
        failed += [str(each.data["error"]) for each in trace.of("build_error")]
        return judged(self.function, self.holds(trace), self.wanted, failed)


def _fails(entry: Observation) -> bool:
    return entry.data.get("kind") == "error"


def _says(kind: ObservationKind, **values: object) -> Callable[[Trace], bool]:
    """Return what looks for an entry of that kind with these values."""

    def holds(trace: Trace) -> bool:
        wanted = values.items()
        return any(
            all(str(value) in str(each.data.get(key)) for key, value in wanted)
            for each in trace.of(kind)
        )

    return holds


def _either(*holds: Callable[[Trace], bool]) -> Callable[[Trace], bool]:
    """Return what asks whether one of them holds."""
    return lambda trace: any(each(trace) for each in holds)


TOOL: Final = ({"name": "t", "result": "r"},)
ASKED: Final = ("assistant:[1:t({})]", "assistant:done")


def _with(**handler: object) -> dict[str, object]:
    return {"tools": TOOL, "handlers": [{"id": "H", **handler}]}


def _struct(**fields: object) -> dict[str, object]:
    return {"tools": TOOL, "middlewares": [{"id": "M", **fields}]}


_SEES: Final = _says("model_request", messages="seen")
WORLDS: Final = (
    SmallWorld(
        "run, model",
        (),
        {"instruction": "B"},
        ["assistant:done"],
        _says("model_request", messages="'B'"),
        "the model is asked with the instruction and the input",
    ),
    SmallWorld(
        "event",
        (),
        {},
        ["assistant:done"],
        _says("run_end", status="completed", answer="done"),
        "the answer is told, and the run is completed",
    ),
    SmallWorld(
        "tool",
        (),
        {"tools": TOOL},
        ASKED,
        lambda trace: (
            len(trace.of("tool_end")) == 1
            and _says("run_end", status="completed")(trace)
        ),
        "the tool is called once, and the run is completed",
    ),
    SmallWorld(
        "an error keeps its number",
        (),
        {"tools": [{"name": "t", "error": "no"}]},
        ASKED,
        _either(
            _says("event", error="no", **{"class": "ScriptedError"}),
            _says("model_request", messages="'tool'"),
        ),
        "a tool's error ends the run unchanged, or its text becomes the result",
    ),
    SmallWorld(
        "errors have a kind",
        (),
        {},
        ASKED,
        _either(
            _says("event", **{"class": "ToolNotFound"}),
            _says("model_request", messages="'tool'"),
        ),
        "a call of an unknown tool ends the run with kind unknown_tool, or is answered",
    ),
    SmallWorld(
        "hook before_agent",
        ("before_agent", "edited_config"),
        _with(before_agent=[{"op": "append_instruction", "sep": "", "text": "seen"}]),
        ["assistant:done"],
        _SEES,
        "what it adds to the instruction reaches the model",
    ),
    SmallWorld(
        "hook before_model",
        ("before_model",),
        _with(before_model=[{"op": "append", "msg": "user:seen"}]),
        ["assistant:done"],
        _SEES,
        "what it appends reaches the model",
    ),
    SmallWorld(
        "hook after_model",
        ("after_model",),
        _with(after_model=[{"op": "record"}]),
        ["assistant:done"],
        _says("hook_enter", hook="after_model", seen="done"),
        "it is entered with the answer",
    ),
    SmallWorld(
        "hook after_agent",
        ("after_agent",),
        _with(after_agent=[{"op": "record"}]),
        ["assistant:done"],
        _says("hook_enter", hook="after_agent", seen="done"),
        "it is entered with the history",
    ),
    SmallWorld(
        "hook wrap_model, next",
        ("wrap_model",),
        _with(wrap_model={"record": "x"}),
        ["assistant:done"],
        lambda trace: (
            _says("hook_exit", hook="wrap_model")(trace)
            and len(trace.of("model_request")) == 1
        ),
        "it goes on to the model, and returns",
    ),
    SmallWorld(
        "hook wrap_tool, next",
        ("wrap_tool",),
        _with(wrap_invokable={"prefix_result": "seen>"}),
        ASKED,
        _SEES,
        "what it puts before the result reaches the model",
    ),
    SmallWorld(
        "struct",
        ("struct_model_hooks",),
        _struct(before_chat_model=[{"op": "append", "msg": "user:seen"}]),
        ["assistant:done"],
        _SEES,
        "what it appends reaches the model",
    ),
    SmallWorld(
        "factory, endpoint",
        ("struct_tool_wrappers",),
        _struct(wrap_tool_call={"invokable": {"prefix_result": "seen>"}}),
        ASKED,
        _SEES,
        "what it puts before the result reaches the model",
    ),
    SmallWorld(
        "unknown_tool",
        ("unknown_tools_handler",),
        {"unknown_tools_handler": "seen"},
        ASKED,
        _SEES,
        "its text reaches the model as the result",
    ),
    SmallWorld(
        "streams: pull",
        ("streaming",),
        {"tools": TOOL},
        ASKED,
        _says("run_end", status="completed", answer="done"),
        "a run that streams is completed with the same answer",
        streams=True,
    ),
    SmallWorld(
        "settle",
        (),
        {"tools": [{"name": "t", "result": "r", "delay_ms": 60000}]},
        ASKED,
        _says("run_end", status="completed"),
        "a tool that takes a minute of virtual time is waited for",
    ),
    SmallWorld(
        "texts: half of a pair",
        ("lone_surrogates",),
        {"tools": [{"name": "t", "result": "<u+dc80>seen"}]},
        ASKED,
        _says("model_request", messages="\\udc80seen"),
        "half of a surrogate pair comes back as it was",
    ),
)


OF_DIALECT: Final[Mapping[str, Sequence[Any]]] = MappingProxyType(
    {REACT: WORLDS, "stream-loop": LOOP_WORLDS, "callbacks": SESSION_WORLDS}
)
"""The worlds of each dialect that has any."""


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
    if dialect not in OF_DIALECT:
        why = f"there are no small worlds for {dialect}: judge it by refengine conform"
        yield FunctionChecked("build, run", "not declared", why)
    for world in OF_DIALECT.get(dialect, ()):
        yield world.check(door)
    yield _no_method(command, patience)
    yield _shutdown(command, patience)


FACTS: Final = ("engine", "version", "language", "dialect", "profile")
"""What a driver has to say of itself, beside its capabilities."""


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
