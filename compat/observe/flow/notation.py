"""The notation of ADK rows: parts, events, actions and agents, as dialect values.

It is the short notation in which the rows were recorded: ``call`` and ``resp`` for a
function call and its response, ``inline`` for bytes, ``video_meta`` for what a vendor
adds. A key that it does not have is refused, so that a misspelt one is not passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from compat.dialects.flow import (
    Actions,
    Blob,
    CodeResult,
    Content,
    Event,
    FileData,
    FunctionCall,
    FunctionResponse,
    LlmResponse,
    Part,
    ToolConfirmation,
    Usage,
)
from compat.dialects.flow.transfer import AgentInTree
from refengine.testing.json_values import is_mapping

Object: TypeAlias = dict[str, Any]


def _named(*names: str) -> Any:  # noqa: ANN401  # what pydantic's Field returns
    """Return a field that may be left out and has these names."""
    return Field(default=None, validation_alias=AliasChoices(*names))


class _Notation(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RowCall(_Notation):
    """A function call; ``args`` null is a call without any."""

    name: str
    id: str = ""
    args: Object | None = None

    def value(self) -> FunctionCall:
        """Return it as the dialect has it."""
        return FunctionCall(self.name, self.args or {}, self.id)


class RowResponse(_Notation):
    """A function response; ``response`` null is a tool that gave nothing."""

    name: str
    id: str = ""
    response: Object | None = None

    def value(self) -> FunctionResponse:
        """Return it as the dialect has it."""
        return FunctionResponse(self.name, self.response, self.id)


class RowPart(_Notation):
    """A part of a content; ``{}`` is an empty one."""

    text: str = ""
    thought: bool = False
    call: RowCall | None = _named("call", "function_call")
    resp: RowResponse | None = _named("resp", "function_response")
    inline: str | None = _named("inline", "inline_data")
    file: str | None = _named("file", "file_data")
    code: str | None = _named("code", "executable_code")
    code_result: str | None = _named("code_result", "code_execution_result")
    video_meta: Any = _named("video_meta", "video_metadata")

    def value(self) -> Part:
        """Return it as the dialect has it."""
        meta = self.video_meta
        return Part(
            text=self.text,
            thought=self.thought,
            call=None if self.call is None else self.call.value(),
            response=None if self.resp is None else self.resp.value(),
            blob=None if self.inline is None else Blob(self.inline.encode()),
            file=None if self.file is None else FileData(self.file),
            code=self.code,
            code_result=(
                None if self.code_result is None else CodeResult(self.code_result)
            ),
            metadata={} if meta is None else {"video_meta": meta},
        )


class RowContent(_Notation):
    """A content; its role is the author's where an event leaves it out."""

    role: str | None = None
    parts: list[RowPart] | None = None

    def content(self, default_role: str = "") -> Content | None:
        """Return it as the dialect has it; None where there is no list of parts."""
        if self.parts is None:
            return None
        role = default_role if self.role is None else self.role
        return Content(role, tuple(each.value() for each in self.parts))


class RowConfirmation(_Notation):
    """What is asked before a call is run; a text is its hint."""

    hint: str = ""
    confirmed: bool = False
    payload: Any = None

    @model_validator(mode="before")
    @classmethod
    def _hint_alone(cls, given: Any) -> Any:  # noqa: ANN401  # any JSON value
        return {"hint": given} if isinstance(given, str) else given

    def value(self) -> ToolConfirmation:
        """Return it as the dialect has it."""
        return ToolConfirmation(
            hint=self.hint, confirmed=self.confirmed, payload=self.payload
        )


class RowActions(_Notation):
    """The actions of an event."""

    state_delta: Object | None = None
    artifact_delta: dict[str, int] | None = None
    skip_summarization: bool | None = None
    escalate: bool | None = None
    transfer_to_agent: str | None = None
    confirmations: dict[str, RowConfirmation] | None = _named(
        "requested_tool_confirmations", "requested_confirmations", "confirmations"
    )

    def value(self) -> Actions:
        """Return it as the dialect has it."""
        asked = self.confirmations or {}
        return Actions(
            state_delta=self.state_delta or {},
            artifact_delta=self.artifact_delta or {},
            requested_confirmations={key: asked[key].value() for key in asked},
            skip_summarization=self.skip_summarization,
            transfer_to_agent=self.transfer_to_agent or "",
            escalate=self.escalate,
        )


class RowEvent(RowContent):
    """An event of a session."""

    author: str = "cur"
    branch: str | None = ""
    partial: bool = False
    invocation_id: str | None = _named("invocation_id", "invocation")
    long_running_ids: list[str] | None = _named(
        "long_running_ids", "long_running_tool_ids"
    )
    skip_summarization: bool | None = None
    transfer_to_agent: str | None = None
    error_code: str | None = None
    actions: RowActions | None = None

    def value(self) -> Event:
        """Return it as the dialect has it."""
        actions = {} if self.actions is None else self.actions.model_dump()
        for name in ("skip_summarization", "transfer_to_agent"):
            if getattr(self, name) is not None:
                actions[name] = getattr(self, name)
        return Event(
            author=self.author,
            content=self.content("user" if self.author == "user" else "model"),
            branch=self.branch or "",
            partial=self.partial,
            invocation_id=self.invocation_id or "",
            long_running_ids=tuple(self.long_running_ids or ()),
            error_code=self.error_code or "",
            actions=RowActions.model_validate(actions).value(),
        )


class RowChunk(RowContent):
    """A chunk of a stream; ``parts`` null is one without content.

    ``usage`` is a number of tokens in all.
    """

    partial: bool = False
    finish: str | None = _named("finish", "finish_reason")
    usage: int | None = None
    no_candidates: bool = False

    def value(self) -> LlmResponse | None:
        """Return it as the dialect has it; None where the vendor said nothing."""
        if self.no_candidates:
            return None
        return LlmResponse(
            content=self.content("model"),
            partial=self.partial,
            finish_reason=self.finish or "",
            usage=None if self.usage is None else Usage(total=self.usage),
        )


AgentKind: TypeAlias = Literal["llm", "base", "sequential", "parallel", "loop"]


@dataclass(frozen=True, slots=True)
class RowNode:
    """An agent without a model, as far as its place in a tree goes."""

    name: str
    sub_agents: tuple[AgentInTree, ...]


@dataclass(frozen=True, slots=True)
class RowModelNode(RowNode):
    """An agent with a model."""

    disallow_transfer_to_parent: bool
    disallow_transfer_to_peers: bool


class RowAgent(_Notation):
    """An agent of a tree, for whom it may be transferred to."""

    name: str
    type: AgentKind = "llm"
    subs: list[RowAgent] = Field(default_factory=list["RowAgent"])
    no_parent: bool = False
    no_peers: bool = False

    def value(self) -> AgentInTree:
        """Return it as the dialect has it."""
        subs = tuple(each.value() for each in self.subs)
        if self.type != "llm":
            return RowNode(self.name, subs)
        return RowModelNode(self.name, subs, self.no_parent, self.no_peers)


def _flat_hook(raw: object) -> object:
    """Return a hook that is null as one that abstains."""
    return {"ret": None} if raw is None else raw


class RowHook(_Notation):
    """What a hook, a tool or a model does: return, raise, or either by an error.

    ``ret`` and ``err`` at once is what only Go can do. With ``on_err`` the hook does
    one thing if it is given an error and another (``else``) if not.
    """

    ret: Any = None
    err: str | None = None
    on_err: Annotated[RowHook | None, BeforeValidator(_flat_hook)] = None
    otherwise: Annotated[RowHook | None, BeforeValidator(_flat_hook)] = Field(
        default=None, validation_alias="else"
    )

    def given(self, error: Exception | None) -> RowHook:
        """Return what it does where it is given this error, or none."""
        if self.on_err is None and self.otherwise is None:
            return self
        chosen = self.otherwise if error is None else self.on_err
        return RowHook() if chosen is None else chosen


class RowPlugin(_Notation):
    """The hooks of one plugin around a model or a tool."""

    before: RowHook | None = None
    after: RowHook | None = None
    on_error: RowHook | None = None


class RowCallbacks(_Notation):
    """The lists of hooks of one agent around a model or a tool."""

    before: list[RowHook] = Field(default_factory=list[RowHook])
    after: list[RowHook] = Field(default_factory=list[RowHook])
    on_error: list[RowHook] = Field(default_factory=list[RowHook])


def without_unset(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without what is null, false, empty text or an empty object."""
    return {
        key: without_unset(each) if is_mapping(each) else each
        for key, each in raw.items()
        if each not in (None, False, "", {}, [])
    }
