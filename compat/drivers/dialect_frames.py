"""The frames of dialects: what differs in them from those of ``frames``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from compat.drivers.frames import (
    METHODS,
    FailureData,
    FramePart,
    InnerResult,
    Method,
    NothingPart,
    OfAgent,
    WireCall,
    WireMessage,
    WireTool,
)

ALL: Final = (
    *("initialize", "settle", "reset", "shutdown", "cancel", "pull", "close"),
    "abandon",
)
"""The methods that are the same in every dialect."""


class ErrorTold(FramePart):
    """An error as something that is told."""

    message: str
    data: FailureData | None = None


class CallbacksTold(FramePart):
    """A set of callbacks: its number, and those that somebody listens with."""

    callbacks: int
    names: list[str]


class AskParams(OfAgent):
    """Ask the model; its answer is a stream of chunks."""

    mode: Literal["stream"]
    messages: list[WireMessage]
    tools: list[WireTool]


class UseParams(OfAgent):
    """Call a tool."""

    tool: int
    mode: Literal["invoke"]
    arguments: str
    call_id: str


class OutputGiven(FramePart):
    """What a tool gave that has more to say than a text."""

    result: Any
    requires_follow_up: Any


class UseResult(FramePart):
    """What a tool gave: ``result`` is a text, or it is no result at all."""

    result: Any = None
    output: OutputGiven | None = None


class CallbackParams(OfAgent):
    """Tell a callback; ``data`` are its arguments, as its dialect has them."""

    callbacks: int
    name: str
    data: list[Any]


class CallbackResult(FramePart):
    """What a callback gave, where that means anything."""

    given: Any = None


class SecondsPart(FramePart):
    """A time, since the play began."""

    seconds: float


class SleepParams(OfAgent):
    """Wait for so many seconds of the harness's time."""

    seconds: float


class IdResult(FramePart):
    """An id for a call that has none."""

    id: str


class LogParams(OfAgent):
    """A record of a log, by fields."""

    level: Literal["info", "warning"]
    fields: dict[str, str | int | float]


class WarningParams(OfAgent):
    """A warning, and what kind it is of."""

    kind: Literal["empty_prompt", "callback_failed"]
    text: str


class PartTold(FramePart):
    """A part of a streamed message, or a change of one."""

    id: str
    place: int
    kind: Literal["text", "tool_call", "tool_result"]
    state: Literal["streaming", "ready", "executing", "done", "error"]
    text: str
    call_id: str
    name: str
    error: str


class LoopConfig(FramePart):
    """A stream loop: its form, its tools, and what it may take."""

    form: Literal["own", "linear", "loop", "adapted"]
    instruction: str
    tools: list[WireTool]
    limits: dict[str, float]
    next_prompt: str | None


class LoopBuildParams(OfAgent):
    """Build a stream loop under a number."""

    dialect: Literal["stream-loop"]
    config: LoopConfig


class LoopRunParams(OfAgent):
    """Process an input; the reply says how that ended."""

    run: int
    input: str
    max_iterations: bool | int | float | Literal["NaN"] | None
    history: list[WireMessage]
    callbacks: CallbacksTold


class LoopRunResult(FramePart):
    """How it ended; ``text`` alone where a loop returns no more."""

    text: str
    status: str | None = None
    rounds: int | None = None
    parts: list[PartTold] | None = None
    history: list[WireMessage] | None = None


class ToolResultTold(FramePart):
    """What became of a call: ``data`` of ``on_tool_result``."""

    call_id: str
    name: str
    text: str
    error: ErrorTold | None = None


LOOP_DATA: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "on_chunk": (str,),
        "on_tool_call": (WireCall,),
        "on_tool_result": (ToolResultTold,),
        "on_part_event": (PartTold,),
        "on_parts_change": (list[PartTold],),
        "on_error": (ErrorTold, str),
        "on_end": (LoopRunResult,),
    }
)
"""What the callbacks of a stream loop are told."""

DRIVER: Final = ("driver",)
HARNESS: Final = ("harness",)
SHARED: Final[Mapping[str, Method]] = MappingProxyType(
    {
        **{name: METHODS[name] for name in ALL},
        "model": Method(DRIVER, AskParams, InnerResult),
        "tool": Method(DRIVER, UseParams, UseResult),
        "callback": Method(DRIVER, CallbackParams, CallbackResult),
        "now": Method(DRIVER, OfAgent, SecondsPart),
        "sleep": Method(DRIVER, SleepParams, NothingPart),
    }
)
"""The methods of every dialect beside its own."""

DIALECT_METHODS: Final[Mapping[str, Mapping[str, Method]]] = MappingProxyType(
    {
        "stream-loop": MappingProxyType(
            {
                **SHARED,
                "build": Method(HARNESS, LoopBuildParams, NothingPart),
                "run": Method(HARNESS, LoopRunParams, LoopRunResult),
                "new_id": Method(DRIVER, OfAgent, IdResult),
                "log": Method(DRIVER, LogParams, None),
                "warning": Method(DRIVER, WarningParams, None),
            }
        ),
    }
)
"""Every method of each dialect."""
