"""The frames of dialects: what differs in them from those of ``frames``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from compat.drivers.flow.frames import FLOW_METHODS
from compat.drivers.frames import (
    METHODS,
    FailureData,
    FramePart,
    InnerResult,
    Method,
    NothingPart,
    OfAgent,
    StreamParams,
    WireCall,
    WireMessage,
    WirePiece,
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
    """What a tool gave: ``result`` is a text, or it is not a result at all."""

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


class RowTold(FramePart):
    """A type of callback that was added: who hears it, in order."""

    name: str
    owners: list[Literal["manager", "client", "listener"]]


class SessionsConfig(FramePart):
    """An agent with its manager; ``store`` is the agent whose store it shares."""

    tools: list[WireTool]
    rows: list[RowTold]
    middleware: int
    path: str | None
    store: int | None


class SessionsBuildParams(OfAgent):
    """Build an agent with its session manager under a number."""

    dialect: Literal["callbacks"]
    config: SessionsConfig


class StateTold(FramePart):
    """What is kept of a session."""

    session_id: str
    messages: list[WireMessage]
    more: dict[str, Any]


class SessionRunParams(OfAgent):
    """Play a session; the reply says how it ended, or is a stream of its facts."""

    run: int
    session_id: str
    texts: list[str]
    stream: bool


class SessionRunResult(FramePart):
    """How a session ended, or the stream of its facts."""

    answer: WireMessage | None = None
    status: str | None = None
    state: StateTold | None = None
    stream: int | None = None


class SessionParams(OfAgent):
    """Do something to a session manager, or ask it: ``do`` says what."""

    do: Literal["connect", "remove", "set", "listen", "manage", "emit", "stored"]
    client: int | None = None
    callbacks: CallbacksTold | None = None
    name: str | None = None
    data: list[Any] | None = None
    session_id: str | None = None


class SessionAnswer(FramePart):
    """What comes of it: what a callback gave, or what is stored."""

    given: Any = None
    state: StateTold | None = None


class FactTold(FramePart):
    """A fact of a stream: the type of its callback, and what that is told."""

    name: str
    data: list[Any]


class FactPiece(WirePiece):
    """What one pull brings: a chunk of an answer, or a fact."""

    fact: FactTold | None = None


class AroundParams(OfAgent):
    """Enter what stands around a delivery."""

    handler: int
    hook: Literal["around_callback"]
    token: int
    owner: Literal["manager", "client", "listener"]
    number: int
    name: str
    data: list[Any]


class DeliverParams(OfAgent):
    """Go on into what it stands around."""

    token: int


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
        "callbacks": MappingProxyType(
            {
                **SHARED,
                "build": Method(HARNESS, SessionsBuildParams, NothingPart),
                "session": Method(HARNESS, SessionParams, SessionAnswer),
                "run": Method(HARNESS, SessionRunParams, SessionRunResult),
                "pull": Method((*HARNESS, *DRIVER), StreamParams, FactPiece),
                "hook": Method(DRIVER, AroundParams, CallbackResult),
                "next": Method(HARNESS, DeliverParams, CallbackResult),
                "warning": Method(DRIVER, WarningParams, None),
            }
        ),
        "flow": FLOW_METHODS,
    }
)
"""Every method of each dialect."""
