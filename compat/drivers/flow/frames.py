"""The frames of the Flow dialect: what its values are in them, and who calls what.

Values are the dialect's own as JSON (``compat.dialects.flow.values``): a field that has
its default is left out, bytes are base64.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from compat.drivers.frames import (
    METHODS,
    BuildResult,
    FailureTold,
    FramePart,
    Method,
    OfAgent,
)

ALIKE: Final = (
    *("initialize", "settle", "reset", "shutdown", "cancel", "close", "abandon"),
    *("subject", "effect", "now", "new_id", "tool_run", "entered"),
)
"""The methods that are as in every dialect."""


class FlowCallTold(FramePart):
    """A call of a tool; its arguments are an object."""

    name: str
    args: dict[str, Any] | None = None
    id: str = ""


class FlowResponseTold(FramePart):
    """What a tool gave; null is a tool that gave nothing."""

    name: str
    response: dict[str, Any] | None = None
    id: str = ""


class FlowBytesTold(FramePart):
    """Bytes in the content itself, in base64."""

    data: str
    mime_type: str = ""
    display_name: str = ""


class FlowFileTold(FramePart):
    """A file that stands elsewhere."""

    uri: str
    mime_type: str = ""
    display_name: str = ""


class FlowRanTold(FramePart):
    """What code gave that a model wrote."""

    output: str = ""
    outcome: str = ""


class FlowPartTold(FramePart):
    """A part of a content; it holds one thing, or nothing."""

    text: str = ""
    thought: bool = False
    call: FlowCallTold | None = None
    response: FlowResponseTold | None = None
    blob: FlowBytesTold | None = None
    file: FlowFileTold | None = None
    code: str | None = None
    code_result: FlowRanTold | None = None
    metadata: dict[str, Any] | None = None


class FlowContentTold(FramePart):
    """What one side said."""

    role: str = ""
    parts: list[FlowPartTold] | None = None


class FlowAnswerTold(FramePart):
    """A response of a model, or a chunk of one."""

    content: FlowContentTold | None = None
    partial: bool = False
    turn_complete: bool = False
    interrupted: bool = False
    error_code: str = ""
    error_message: str = ""
    finish_reason: str = ""
    usage: dict[str, int] | None = None
    grounding: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class FlowConfirmationTold(FramePart):
    """What a user is asked before a tool runs, and what he said."""

    hint: str = ""
    confirmed: bool = False
    payload: Any = None


class FlowActionsTold(FramePart):
    """What an event does besides saying something."""

    state_delta: dict[str, Any] | None = None
    artifact_delta: dict[str, int] | None = None
    requested_confirmations: dict[str, FlowConfirmationTold] | None = None
    skip_summarization: bool | None = None
    transfer_to_agent: str = ""
    escalate: bool | None = None


class FlowEventTold(FlowAnswerTold):
    """An entry of a session."""

    author: str = ""
    id: str = ""
    invocation_id: str = ""
    branch: str = ""
    timestamp: float = 0.0
    actions: FlowActionsTold | None = None
    long_running_ids: list[str] | None = None


class FlowDeclarationTold(FramePart):
    """What a model is told of a tool; ``parameters`` is a JSON schema."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class FlowRequestConfig(FramePart):
    """How a model is asked to answer."""

    system_instruction: str = ""
    tools: list[FlowDeclarationTold] | None = None
    response_schema: dict[str, Any] | None = None
    response_mime_type: str = ""
    temperature: float | None = None


class FlowRequestTold(FramePart):
    """What a model is asked."""

    model: str = ""
    contents: list[FlowContentTold] | None = None
    config: FlowRequestConfig | None = None


class FlowModelTold(FramePart):
    """The model of an agent: its number, and the vendor's name of it."""

    model: int
    name: str


class FlowToolTold(FramePart):
    """A tool by its number, or an agent that is called as one."""

    tool: int | None = None
    name: str = ""
    description: str = ""
    parameters: dict[str, Any] | None = None
    long_running: bool = False
    needs_confirmation: bool = False
    agent: FlowAgentTold | None = None
    skip_summarization: bool = False


class FlowAgentTold(FramePart):
    """An agent and those below it; a callback is a number."""

    name: str
    kind: Literal["llm", "sequential", "loop", "parallel"]
    description: str
    sub_agents: list[FlowAgentTold]
    callbacks: dict[str, list[int]]
    max_iterations: int | None = None
    model: FlowModelTold | None = None
    tools: list[FlowToolTold] | None = None
    instruction: str = ""
    provided_instruction: str | None = None
    global_instruction: str = ""
    include_contents: Literal["default", "none"] | None = None
    temperature: float | None = None
    disallow_transfer_to_parent: bool = False
    disallow_transfer_to_peers: bool = False
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    output_key: str = ""


class FlowPluginTold(FramePart):
    """A plugin: a number for each hook that it has."""

    name: str
    hooks: dict[str, int]


class FlowConfig(FramePart):
    """What a runner is made of."""

    agent: FlowAgentTold
    plugins: list[FlowPluginTold]
    artifact_service: bool
    subject: bool = False


class FlowBuildParams(OfAgent):
    """Make a runner over the services of a world, in place of the last one.

    Of a ``subject``, the agent is what its function is given: a model, tools and an
    instruction.
    """

    dialect: Literal["flow"]
    config: FlowConfig


class FlowSessionParams(OfAgent):
    """Make a session, put an event into one, or load one afresh.

    What no author said, the agent did.
    """

    do: Literal["create", "append", "load"]
    user: str
    session: str
    state: dict[str, Any] | None = None
    artifacts: dict[str, str] | None = None
    event: FlowEventTold | None = None


class FlowSessionResult(FramePart):
    """What is kept of a session: its events, its state, each version of its files."""

    events: list[FlowEventTold] | None = None
    state: dict[str, Any] | None = None
    artifacts: dict[str, list[str]] | None = None


class FlowRunParams(OfAgent):
    """Begin a run of a session with a message of its user, and a state with it."""

    user: str
    session: str
    content: FlowContentTold
    stream: bool
    state: dict[str, Any] | None = None


class FlowStreamResult(FramePart):
    """The number of a stream."""

    stream: int


class FlowStreamParams(OfAgent):
    """A stream of the side that is called."""

    stream: int


class FlowPiece(FramePart):
    """What a pull brings: of a run an event or an error, of a model a response."""

    end: bool | None = None
    event: FlowEventTold | None = None
    error: FailureTold | None = None
    response: FlowAnswerTold | None = None
    chunk: bool | None = None


class FlowModelParams(OfAgent):
    """Ask a model."""

    model: int
    request: FlowRequestTold
    stream: bool


class OfContext(OfAgent):
    """What is called for an agent: in which context, and for which call of a tool."""

    ctx: int | None = None
    agent_name: str = ""
    call_id: str = ""
    confirmation: FlowConfirmationTold | None = None
    args: dict[str, Any] | None = None


class FlowToolParams(OfContext):
    """Run a tool."""

    tool: int


class FlowToolResult(FramePart):
    """What a tool gave: any JSON."""

    result: Any = None


class FlowHookParams(OfContext):
    """Enter a callback, or a hook of a plugin, by its number."""

    hook: str
    extension: int
    content: FlowContentTold | None = None
    event: FlowEventTold | None = None
    request: FlowRequestTold | None = None
    response: FlowAnswerTold | None = None
    tool: str = ""
    result: dict[str, Any] | None = None
    has_result: bool = False
    error: FailureTold | None = None


class FlowHookResult(FramePart):
    """What it gave, as the hook has it; nothing if it abstains."""

    value: dict[str, Any] | None = None


class FlowRequestChange(FramePart):
    """How a hook left a request; what it left alone is not there."""

    contents: list[FlowContentTold] | None = None
    system_instruction: str | None = None
    tools: list[str] | None = None


class FlowContextParams(OfAgent):
    """Do one thing to the context of an open call."""

    ctx: int
    do: Literal[
        "read",
        "write",
        "save",
        "load",
        "change",
        "escalate",
        "skip_summarization",
        "transfer_to_agent",
        "ask_confirmation",
    ]
    key: str = ""
    value: Any = None
    hint: str = ""
    name: str = ""
    part: FlowPartTold | None = None
    args: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    response: FlowContentTold | None = None
    request: FlowRequestChange | None = None


class FlowContextResult(FramePart):
    """What it brings: a value of the state, a file, or its version."""

    value: Any = None
    has: bool = False
    part: FlowPartTold | None = None
    version: int | None = None


FLOW_METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        **{name: METHODS[name] for name in ALIKE},
        "build": Method(("harness",), FlowBuildParams, BuildResult),
        "session": Method(("harness",), FlowSessionParams, FlowSessionResult),
        "run": Method(("harness",), FlowRunParams, FlowStreamResult),
        "context": Method(("harness",), FlowContextParams, FlowContextResult),
        "pull": Method(("harness", "driver"), FlowStreamParams, FlowPiece),
        "model": Method(("driver",), FlowModelParams, FlowStreamResult),
        "tool": Method(("driver",), FlowToolParams, FlowToolResult),
        "hook": Method(("driver",), FlowHookParams, FlowHookResult),
    }
)
"""Every method of the Flow dialect."""
