"""A Flow world as data (JSON, versioned): agents, plugins, sessions, turns.

It says what agents are made of, what their models answer, and what a user says in which
session. A FlowWorld turns it into a model, tools, callbacks and plugins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, JsonValue, PositiveInt, model_validator

from compat.dialects.flow.content import Content
from compat.dialects.flow.model import LlmResponse, Usage
from compat.engines.flow.operations import (
    AGENT_HOOKS,
    CALLBACKS,
    OF_HOOK,
    OF_PROCESSOR,
    OF_TOOL,
    AnyFlowOp,
    FlowSaying,
    Values,
)
from refengine.testing.ops import Spec

FLOW_VERSION: Final = 1
ALL: Final = "*"
"""Every confirmation that was asked for and not answered."""

Callback: TypeAlias = tuple[AnyFlowOp, ...]


class FlowReplySpec(FlowSaying):
    """A response of a model, or one chunk of it."""

    partial: bool = False
    turn_complete: bool = False
    finish_reason: str = ""
    error_code: str = ""
    error_message: str = ""
    usage: int | None = None

    def response(self) -> LlmResponse:
        """Return it as the dialect has it."""
        return LlmResponse(
            content=self.content("model"),
            partial=self.partial,
            turn_complete=self.turn_complete,
            finish_reason=self.finish_reason,
            error_code=self.error_code,
            error_message=self.error_message,
            usage=None if self.usage is None else Usage(total=self.usage),
        )


class FlowAnswerSpec(FlowReplySpec):
    """How a model answers one call: one response, several, or a vendor's chunks.

    ``responses`` are given as they are, as a model of one's own would. ``chunks`` go
    through the engine's aggregation if the run streams, null being one without any
    candidate; else they are one response. After them the model raises ``error``, if
    there is one.
    """

    responses: tuple[FlowReplySpec, ...] = ()
    chunks: tuple[FlowReplySpec | None, ...] = ()
    error: str | None = None

    @model_validator(mode="after")
    def _in_one_form(self) -> FlowAnswerSpec:
        own = said_of(self) - {"responses", "chunks", "error"}
        forms = [bool(own), bool(self.responses), bool(self.chunks)]
        if sum(forms) > 1:
            raise ValueError("say it in one form: itself, 'responses' or 'chunks'")
        return self


class FlowOutcomeSpec(Spec):
    """What a tool gives: any JSON, or it raises an error of that text."""

    result: JsonValue = None
    error: str | None = None


class FlowToolSpec(Spec):
    """A tool; the nth outcome is that of its nth call, the last of all further ones.

    With ``agent`` it is an agent that is called as a tool, and has no other behaviour.
    """

    name: str = ""
    description: str = ""
    parameters: Values | None = None
    outcomes: tuple[FlowOutcomeSpec, ...] = ()
    do: Callback = ()
    long_running: bool = False
    needs_confirmation: bool = False
    delay_ms: int = Field(default=0, ge=0)
    agent: FlowAgentSpec | None = None
    skip_summarization: bool = False

    @model_validator(mode="after")
    def _tool_or_agent(self) -> FlowToolSpec:
        if self.agent is not None:
            own = said_of(self) - {"agent", "skip_summarization"}
            if own:
                raise ValueError(f"a tool with 'agent' has no {min(own)!r}")
        elif not self.name:
            raise ValueError("a tool has a 'name', or is an 'agent'")
        _refuse(f"tool {self.name!r}", self.do, OF_TOOL)
        return self

    @property
    def called(self) -> str:
        """The name by which a model calls it."""
        return self.name if self.agent is None else self.agent.name


class FlowProcessorSpec(Spec):
    """A request processor of a user's own: what it does, and where it stands.

    ``at`` is its place among those that every agent has, None behind all of them.
    """

    do: Callback = ()
    at: int | None = Field(default=None, ge=0, le=12)

    @model_validator(mode="after")
    def _known_operations(self) -> FlowProcessorSpec:
        _refuse("a processor", self.do, OF_PROCESSOR)
        return self


class FlowAgentSpec(Spec):
    """An agent. All but names, callbacks and ``sub_agents`` is for kind ``llm``.

    ``script`` is what its model answers, call by call, in all turns; past its end it
    says that it is at its end. ``provided_instruction`` comes from a function, and is
    used as it is. A callback is what it does; an empty one abstains.
    """

    name: str
    kind: Literal["llm", "sequential", "loop", "parallel"] = "llm"
    description: str = ""
    sub_agents: tuple[FlowAgentSpec, ...] = ()
    max_iterations: int = Field(default=0, ge=0)
    model: str = "gemini-2.5-flash"
    script: tuple[FlowAnswerSpec, ...] = ()
    tools: tuple[FlowToolSpec, ...] = ()
    instruction: str = ""
    provided_instruction: str | None = None
    global_instruction: str = ""
    include_contents: Literal["default", "none"] = "default"
    temperature: float | None = None
    disallow_transfer_to_parent: bool = False
    disallow_transfer_to_peers: bool = False
    input_schema: Values | None = None
    output_schema: Values | None = None
    output_key: str = ""
    processors: tuple[FlowProcessorSpec, ...] = ()
    callbacks: dict[str, tuple[Callback, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> FlowAgentSpec:
        if self.kind != "llm":
            own = {"name", "kind", "description", "sub_agents", "callbacks"}
            own |= {"max_iterations"} if self.kind == "loop" else set()
            extra = sorted(said_of(self) - own)
            if extra:
                raise ValueError(f"{self.kind} agent {self.name!r} has no {extra[0]!r}")
        for hook, callbacks in self.callbacks.items():
            known = CALLBACKS if self.kind == "llm" else AGENT_HOOKS
            if hook not in known:
                raise ValueError(f"agent {self.name!r} has no callbacks {hook!r}")
            for each in callbacks:
                _refuse(f"{hook} of {self.name!r}", each, OF_HOOK[hook])
        return self

    def tree(self) -> Iterator[FlowAgentSpec]:
        """Yield it, the agents below it, and those that are its tools."""
        yield self
        for each in self.sub_agents:
            yield from each.tree()
        for tool in self.tools:
            if tool.agent is not None:
                yield from tool.agent.tree()


class FlowPluginSpec(Spec):
    """A plugin: for each hook that it has, what it does there."""

    name: str
    hooks: dict[str, Callback] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known_hooks(self) -> FlowPluginSpec:
        for hook, todo in self.hooks.items():
            if hook not in OF_HOOK:
                raise ValueError(f"plugin {self.name!r}: {hook!r} is not a hook")
            _refuse(f"{hook} of plugin {self.name!r}", todo, OF_HOOK[hook])
        return self


class FlowSessionSpec(Spec):
    """A session as it is before the first turn."""

    user: str = "u"
    state: Values = Field(default_factory=dict)
    artifacts: dict[str, str] = Field(default_factory=dict)


class FlowAnsweredSpec(Spec):
    """A user's answer to a confirmation: ``of`` a tool, by its name, or of all.

    As ``wrapped`` it is sent as front ends do, JSON text under ``response``.
    """

    of: str = ALL
    confirmed: bool = True
    payload: JsonValue = None
    wrapped: bool = False


class FlowLateSpec(Spec):
    """The result of a long-running call, which the user sends: that tool's last."""

    of: str
    result: Values


class FlowTurnSpec(FlowSaying):
    """One message of a user, and the run that it leads to.

    It says what is said, then the answers to confirmations, then late results. With
    ``fresh`` the runner is made anew before, over the same services, as another process
    would. The consumer leaves after so many events with ``leave_after``.
    """

    session: str = "s"
    confirms: tuple[FlowAnsweredSpec, ...] = ()
    late: tuple[FlowLateSpec, ...] = ()
    stream: bool = False
    fresh: bool = False
    leave_after: PositiveInt | None = None

    @model_validator(mode="after")
    def _says_something(self) -> FlowTurnSpec:
        if not (self.said or self.confirms or self.late):
            raise ValueError("a turn says something: 'text', 'parts' or an answer")
        return self

    @property
    def said(self) -> Content | None:
        """What is said beside answers, None if nothing is."""
        return self.content("user")


class FlowScenario(Spec):
    """A session of a Flow engine: what its agents are, and what is said to them."""

    version: Literal[1] = FLOW_VERSION
    subject: Literal["flow"] = "flow"
    agent: FlowAgentSpec
    plugins: tuple[FlowPluginSpec, ...] = ()
    sessions: dict[str, FlowSessionSpec] = Field(
        default_factory=lambda: {"s": FlowSessionSpec()}
    )
    artifact_service: bool = True
    turns: Annotated[tuple[FlowTurnSpec, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _sessions_are_there(self) -> FlowScenario:
        for at, turn in enumerate(self.turns):
            if turn.session not in self.sessions:
                raise ValueError(f"turns[{at}].session: no session {turn.session!r}")
        if not self.artifact_service and any(
            each.artifacts for each in self.sessions.values()
        ):
            raise ValueError("sessions with artifacts need the artifact_service")
        return self

    @model_validator(mode="after")
    def _agents_have_names_of_their_own(self) -> FlowScenario:
        names = [each.name for each in self.agents()]
        twice = sorted({each for each in names if names.count(each) > 1})
        if twice:
            raise ValueError(f"agent {twice[0]!r} stands twice")
        return self

    def agents(self) -> Iterator[FlowAgentSpec]:
        """Yield all agents, those that are tools among them."""
        return self.agent.tree()


def said_of(spec: Spec) -> set[str]:
    """Return the fields of a part that are not as they are when left out."""
    return {
        name
        for name, each in type(spec).model_fields.items()
        if getattr(spec, name) != each.get_default(call_default_factory=True)
    }


def _refuse(owner: str, todo: Callback, allowed: frozenset[str]) -> None:
    """Raise ValueError for an operation that has no meaning there."""
    for each in todo:
        if each.op not in allowed:
            raise ValueError(f"{owner} cannot do {each.op!r}")


FlowToolSpec.model_rebuild()
FlowAgentSpec.model_rebuild()
