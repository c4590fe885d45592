"""Every frame of the protocol between a harness and a driver, as its schema has it.

The page docs/protocol.md shows one of each; a test holds real traffic against it and
``docs/protocol.schema.json`` (``frame_schema``). Dialects: ``dialect_frames``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

By: TypeAlias = Literal["harness", "driver"]


class FramePart(BaseModel):
    """What stands in a frame: nothing but what is said here."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class NothingPart(FramePart):
    """No parameters, or no result."""


class WireCall(FramePart):
    """A tool call of a message; in a chunk, a piece of one."""

    id: str
    name: str
    arguments: str
    index: int | None = None


class WireMessage(FramePart):
    """A message, or a chunk; a reference alone is one that was told before."""

    ref: int | None = None
    role: Literal["system", "user", "assistant", "tool", "none"] | None = None
    content: str | None = None
    tool_calls: list[WireCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    id: str | None = None
    extra: dict[str, Any] | None = None


class WireTool(FramePart):
    """A tool: what the model is told of it, and by which number it is called."""

    tool: int | None = None
    name: str
    description: str
    kind: Literal["invokable", "streamable", "both"] | None = None


class WireInput(FramePart):
    """The input of a tool call, which all wrappers of it share."""

    name: str
    arguments: str
    call_id: str


class ErrorPlace(FramePart):
    """Where an error of a subject arose: in a hook of what, or in its tool."""

    hook: str | None = None
    of: str | None = None
    tool: str | None = None
    call_id: str | None = None


class FailureData(FramePart):
    """Whose an error is: the harness's own by its number, the engine's by its kind.

    ``name`` is what its class is called, and one of a subject has a ``place``.
    """

    number: int | None = None
    kind: str | None = None
    name: str | None = None
    place: ErrorPlace | None = None


class FailureTold(FramePart):
    """The error of a reply or of an event, as JSON-RPC has it."""

    code: int
    message: str
    data: FailureData | None = None


class WirePiece(FramePart):
    """What one pull of a stream brings."""

    end: bool | None = None
    text: str | None = None
    message: WireMessage | None = None
    results: list[WireMessage] | None = None


class OfAgent(FramePart):
    """What is about an agent names it: the number that ``build`` gave."""

    agent: int


class InitializeParams(FramePart):
    """The first call."""

    protocol: int


class InitializeResult(FramePart):
    """What a driver is: of which engine, how it differs, and what it can be asked."""

    protocol: int
    engine: str
    version: str
    language: str
    dialect: str
    profile: str
    capabilities: list[str]


class WireWraps(FramePart):
    """Factories of tool wrappers by number; one that is not there is left out."""

    invokable: int | None = None
    streamable: int | None = None


class WireStruct(FramePart):
    """A struct middleware: which fields it has."""

    instruction: str
    tools: list[WireTool]
    fields: list[Literal["before_chat_model", "after_chat_model"]]
    wrap_tool_call: WireWraps


class WireConfig(FramePart):
    """An agent: its parts, and for each handler the hooks that it has."""

    name: str
    description: str
    instruction: str
    tools: list[WireTool]
    return_directly: dict[str, bool]
    tool_call_middlewares: list[WireWraps]
    structs: list[WireStruct]
    handlers: list[list[str]]
    handler_names: list[str]
    unknown_tools_handler: bool
    sequential: bool
    max_iterations: int
    subject: bool | None = None


class BuildParams(OfAgent):
    """Build an agent under a number."""

    config: WireConfig


class BuildResult(FramePart):
    """Of a subject in it: its hooks, and those names in errors that it chose."""

    hooks: list[str] | None = None
    names: list[str] | None = None


class SubjectParams(OfAgent):
    """Load a user's own extensions, before the first agent that has them."""

    path: str
    name: str


class SubjectResult(FramePart):
    """What was loaded."""

    name: str


class OfSubject(OfAgent):
    """What a subject asks, in which context, and in which tool call if in one."""

    ctx: int
    call_id: str | None = None


class EffectParams(OfSubject):
    """Tell what was done outside; ``wrong`` says why its data are not JSON."""

    name: str
    data: Any = None
    wrong: str | None = None


class NowResult(FramePart):
    """The seconds since the session began."""

    seconds: float


class NewIdResult(FramePart):
    """An id that is the same in every run of a session."""

    id: str


class ToolRunData(FramePart):
    """What is seen of a run of a tool; which of these there are depends on the kind."""

    name: str | None = None
    arguments: str | None = None
    mode: Literal["invoke", "stream"] | None = None
    implementation: str | None = None
    result: str | None = None
    chunk: str | None = None
    of: str | None = None
    error: str | None = None


class ToolRunParams(OfSubject):
    """Tell what a tool of the subject's own does."""

    kind: Literal["tool_start", "tool_end", "tool_error", "tool_chunk", "stream_close"]
    data: ToolRunData


class EnteredParams(OfAgent):
    """Tell that a hook of a subject is entered."""

    hook: str


class RunParams(OfAgent):
    """Run an agent; the reply comes when there are no more events."""

    run: int
    messages: list[WireMessage]
    stream: bool
    ctx: int


class CancelParams(OfAgent):
    """End a run that nobody listens to any more."""

    run: int


class StreamParams(OfAgent):
    """A stream of the side that is called."""

    stream: int


class AbandonParams(OfAgent):
    """Give up a call of the driver that is not answered yet."""

    call: int


class NextParams(OfAgent):
    """Go on into what a wrapper stands around, by the token that it was given."""

    token: int
    ctx: int
    messages: list[WireMessage] | None = None
    tools: list[str] | None = None
    name: str | None = None
    arguments: str | None = None
    call_id: str | None = None
    same: bool | None = None


class InnerResult(WireMessage):
    """What is inside gave: an answer, a result of a tool, or the stream of either."""

    stream: int | None = None
    result: str | None = None
    input: WireInput | None = None


class RunResultPart(FramePart):
    """A run has ended; what it came to, if the engine tells it, or a stream of that."""

    answer: WireMessage | None = None
    results: list[WireMessage] | None = None
    stream: int | None = None


class ModelParams(OfAgent):
    """Ask the model; its answer is a message, or a stream of chunks."""

    mode: Literal["invoke", "stream"]
    ctx: int
    messages: list[WireMessage]
    tools: list[WireTool]


class ToolParams(OfAgent):
    """Call a tool; its result is a text, or a stream of texts."""

    tool: int
    mode: Literal["invoke", "stream"]
    ctx: int
    arguments: str
    call_id: str


class HookParams(OfAgent):
    """Enter a hook of a handler; which of these there are depends on the hook."""

    handler: int
    hook: str
    ctx: int
    token: int | None = None
    instruction: str | None = None
    tools: list[WireTool] | None = None
    return_directly: dict[str, bool] | None = None
    messages: list[WireMessage] | None = None
    streaming: bool | None = None
    name: str | None = None
    arguments: str | None = None
    call_id: str | None = None


class HookResult(InnerResult):
    """What a hook leaves: as it was given, and for wrappers as what is inside."""

    ctx: int | None = None
    instruction: str | None = None
    tools: list[WireTool] | None = None
    return_directly: dict[str, bool] | None = None
    messages: list[WireMessage] | None = None


class StructParams(OfAgent):
    """Call a callback of a struct with the state object of that number."""

    struct: int
    field: Literal["before_chat_model", "after_chat_model"]
    ctx: int
    state: int
    messages: list[WireMessage]


class MessagesResult(FramePart):
    """The messages that a callback left in the state."""

    messages: list[WireMessage]


class FactoryParams(OfAgent):
    """Have a factory make the wrapper of a tool."""

    factory: int


class FactoryResult(FramePart):
    """The number of the endpoint that it made."""

    endpoint: int


class CalledPart(FramePart):
    """A call as the model made it, where wrappers have changed its input."""

    name: str
    call_id: str


class EndpointParams(OfAgent):
    """Call an endpoint that a factory made."""

    endpoint: int
    token: int
    ctx: int
    name: str
    arguments: str
    call_id: str
    of: CalledPart | None = None


class UnknownToolParams(OfAgent):
    """Ask what answers a call of a tool that does not exist."""

    ctx: int
    name: str
    arguments: str
    call_id: str


class EventParams(OfAgent):
    """An answer, a result, or the error of a run, as soon as the engine tells it."""

    run: int
    name: str
    role: str | None = None
    call_id: str | None = None
    message: WireMessage | None = None
    stream: int | None = None
    error: FailureTold | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """One method: who calls it, with what, and what the reply says; None if none."""

    by: tuple[By, ...]
    params: type[FramePart]
    result: type[FramePart] | None


METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        "initialize": Method(("harness",), InitializeParams, InitializeResult),
        "subject": Method(("harness",), SubjectParams, SubjectResult),
        "build": Method(("harness",), BuildParams, BuildResult),
        "run": Method(("harness",), RunParams, RunResultPart),
        "next": Method(("harness",), NextParams, InnerResult),
        "cancel": Method(("harness",), CancelParams, NothingPart),
        "settle": Method(("harness",), NothingPart, NothingPart),
        "reset": Method(("harness",), OfAgent, None),
        "shutdown": Method(("harness",), NothingPart, NothingPart),
        "pull": Method(("harness", "driver"), StreamParams, WirePiece),
        "close": Method(("harness", "driver"), StreamParams, NothingPart),
        "model": Method(("driver",), ModelParams, InnerResult),
        "tool": Method(("driver",), ToolParams, InnerResult),
        "hook": Method(("driver",), HookParams, HookResult),
        "struct": Method(("driver",), StructParams, MessagesResult),
        "factory": Method(("driver",), FactoryParams, FactoryResult),
        "endpoint": Method(("driver",), EndpointParams, InnerResult),
        "unknown_tool": Method(("driver",), UnknownToolParams, InnerResult),
        "event": Method(("driver",), EventParams, None),
        "abandon": Method(("driver",), AbandonParams, None),
        "effect": Method(("driver",), EffectParams, NothingPart),
        "now": Method(("driver",), OfSubject, NowResult),
        "new_id": Method(("driver",), OfSubject, NewIdResult),
        "tool_run": Method(("driver",), ToolRunParams, NothingPart),
        "entered": Method(("driver",), EnteredParams, None),
    }
)
"""Every method of the protocol."""
