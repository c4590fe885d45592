"""What a hook of a Flow world does, as data: operations, one after the other.

A hook without operations abstains. Any operation may carry ``on_call``: it is done only
the nth time that this hook is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias, cast

from pydantic import Discriminator, Field, JsonValue, PositiveInt

from compat.dialects.flow.content import (
    Blob,
    Content,
    FileData,
    FunctionCall,
    FunctionResponse,
    Part,
    text_content,
)
from compat.dialects.flow.events import Event, ToolConfirmation
from compat.dialects.flow.model import LlmRequest, LlmResponse
from compat.engines.flow.observing import FlowNotes, ScriptedFlowError
from refengine.testing.ops import Spec

Values: TypeAlias = dict[str, JsonValue]


class FlowCallSpec(Spec):
    """A call of a tool; one without an id is given one by the engine."""

    name: str
    args: Values = Field(default_factory=dict)
    id: str = ""

    def value(self) -> FunctionCall:
        """Return it as the dialect has it."""
        return FunctionCall(self.name, self.args, self.id)


class FlowResultSpec(Spec):
    """A function response as a user may send it, true or forged."""

    name: str
    response: Values = Field(default_factory=dict)
    id: str = ""

    def value(self) -> FunctionResponse:
        """Return it as the dialect has it."""
        return FunctionResponse(self.name, self.response, self.id)


class FlowPartSpec(Spec):
    """A part of a content; ``blob`` is text that stands as bytes, ``file`` a URI."""

    text: str = ""
    thought: bool = False
    call: FlowCallSpec | None = None
    response: FlowResultSpec | None = None
    blob: str | None = None
    file: str | None = None

    def part(self) -> Part:
        """Return it as the dialect has it."""
        return Part(
            text=self.text,
            thought=self.thought,
            call=None if self.call is None else self.call.value(),
            response=None if self.response is None else self.response.value(),
            blob=None if self.blob is None else Blob(self.blob.encode(), "text/plain"),
            file=None if self.file is None else FileData(self.file, "text/plain"),
        )


class FlowSaying(Spec):
    """What is said: ``text`` is one part, then ``parts``, then ``calls``."""

    text: str | None = None
    parts: tuple[FlowPartSpec, ...] = ()
    calls: tuple[FlowCallSpec, ...] = ()

    def content(self, role: str) -> Content | None:
        """Return it as a content of that role, None if it says nothing."""
        texts = () if self.text is None else (FlowPartSpec(text=self.text),)
        calls = (FlowPartSpec(call=each) for each in self.calls)
        parts = tuple(each.part() for each in (*texts, *self.parts, *calls))
        return Content(role, parts) if parts else None


class FlowContext(Protocol):
    """What a door gives hooks of agents, models and tools, and tools themselves.

    ``state`` is read and written by key, ``actions`` are those of the event that is
    being made; the last three are of a tool's context alone, and of the hooks around
    it.
    """

    @property
    def agent_name(self) -> str:
        """The agent that runs."""
        ...

    @property
    def state(self) -> Any:  # noqa: ANN401  # of any engine
        """The state, to read and to write."""
        ...

    @property
    def actions(self) -> Any:  # noqa: ANN401  # of any engine
        """What is set besides: escalate, skip_summarization, transfer_to_agent."""
        ...

    async def save_artifact(self, name: str, part: Part) -> int:
        """Keep one more version of a file and return its number."""
        ...

    async def load_artifact(self, name: str) -> Part | None:
        """Return the newest version of a file, None if there is none."""
        ...

    @property
    def call_id(self) -> str:
        """The id of the call."""
        ...

    @property
    def confirmation(self) -> ToolConfirmation | None:
        """What the user said to this call, None if he was not asked."""
        ...

    def request_confirmation(self, hint: str = "", payload: object = None) -> None:
        """Ask the user before this call goes on."""
        ...


@dataclass(frozen=True, slots=True)
class Performance:
    """One call of a hook, or of a tool: who, how often, and what it was given."""

    point: str
    hook: str
    ctx: Any
    given: Mapping[str, Any]
    nth: int
    notes: FlowNotes

    @property
    def call_id(self) -> str | None:
        """The id of the call that it is about, None if it is about none."""
        return getattr(self.ctx, "call_id", None) or None

    def value(self, saying: FlowSaying, result: Any) -> Any:  # noqa: ANN401  # what the hook gives
        """Return what is said as this hook gives it."""
        if "tool" in self.hook:
            return result
        role = "user" if self.hook == "on_user_message" else "model"
        content = saying.content(role)
        if self.hook == "on_event":
            return replace(cast("Event", self.given["event"]), content=content)
        if "model" not in self.hook:
            return content
        if not isinstance(saying, Give):
            return LlmResponse(content=content)
        code, partial = saying.error_code, saying.partial
        return LlmResponse(content=content, error_code=code, partial=partial)

    def note(self, **told: object) -> None:
        """Put down what the operation saw."""
        self.notes.recorder.note({"at": self.point, **told}, self.call_id)

    def read(self, key: str) -> Any:  # noqa: ANN401  # any JSON value
        """Return what stands in the state, None if nothing does."""
        return self.ctx.state[key] if key in self.ctx.state else None  # noqa: SIM401  # a state has no get()

    def number(self, key: str) -> int:
        """Return a number of the state, 0 if none stands there."""
        found = self.read(key)
        return found if type(found) is int else 0


async def perform(todo: Iterable[FlowOp], call: Performance) -> Any:  # noqa: ANN401  # what the hook gives
    """Do the operations in turn; return the value of the first that gives one.

    Raises ScriptedFlowError where it is told to.
    """
    for op in todo:
        if op.on_call in {None, call.nth}:
            value = await op.do(call)
            if value is not None:
                return value
    return None


REJECTED: Final = {"rejected": True}
WAITS: Final = {"waits": True}
"""What a tool or a hook gives that asked for confirmation: no, or no answer yet."""


class FlowOp(Spec):
    """One operation of a hook, or of a tool before it gives its result."""

    on_call: PositiveInt | None = None

    async def do(self, call: Performance) -> Any:  # noqa: ANN401  # what the hook gives
        """Do it, and return what the hook gives if that ends it."""
        raise NotImplementedError


class Give(FlowOp, FlowSaying):
    """Return a value: what is said, or of a tool hook the ``result``; ends the hook.

    ``error_code`` and ``partial`` are for a response of a model.
    """

    op: Literal["return"]
    result: Values | None = None
    error_code: str = ""
    partial: bool = False

    async def do(self, call: Performance) -> Any:  # noqa: ANN401  # what the hook gives
        return call.value(self, self.result)


class RaiseError(FlowOp):
    """Raise a ScriptedFlowError of that text."""

    op: Literal["raise"]
    text: str

    async def do(self, call: Performance) -> None:
        raise ScriptedFlowError(self.text, call.point)


class EditRequest(FlowOp):
    """Change the request in place; ``keep_last`` cuts the contents to so many."""

    op: Literal["edit_request"]
    append_instruction: str = ""
    append_text: str = ""
    keep_last: int | None = Field(default=None, ge=0)
    drop_tool: str = ""

    async def do(self, call: Performance) -> None:
        request: LlmRequest = call.given["request"]
        request.append_instructions(self.append_instruction)
        if self.keep_last is not None:
            kept = request.contents[max(len(request.contents) - self.keep_last, 0) :]
            request.contents[:] = kept
        if self.append_text:
            request.contents.append(text_content("user", self.append_text))
        if self.drop_tool:
            tools = tuple(x for x in request.config.tools if x.name != self.drop_tool)
            request.config = replace(request.config, tools=tools)


class EditResponse(FlowOp):
    """Change the text of a response in place; not all dialects let a hook do that."""

    op: Literal["edit_response"]
    text: str

    async def do(self, call: Performance) -> None:
        call.ctx.edit_response(self.text)


class EditArgs(FlowOp):
    """Change the arguments of a call in place."""

    op: Literal["edit_args"]
    values: Values

    async def do(self, call: Performance) -> None:
        call.given["args"].update(self.values)


class EditResult(FlowOp):
    """Change the result of a tool in place, if it is an object."""

    op: Literal["edit_result"]
    values: Values

    async def do(self, call: Performance) -> None:
        result = call.given["result"]
        if isinstance(result, dict):
            cast("Values", result).update(self.values)


class WriteState(FlowOp):
    """Write a value; ``app:``, ``user:`` and ``temp:`` keys are of those scopes."""

    op: Literal["write_state"]
    key: str
    value: JsonValue = None

    async def do(self, call: Performance) -> None:
        call.ctx.state[self.key] = self.value


class CountState(FlowOp):
    """Add one to a number of the state, which begins at 0."""

    op: Literal["count_state"]
    key: str

    async def do(self, call: Performance) -> None:
        call.ctx.state[self.key] = call.number(self.key) + 1


class ReadState(FlowOp):
    """Put down what stands under a key, null if nothing does."""

    op: Literal["read_state"]
    key: str

    async def do(self, call: Performance) -> None:
        call.note(state=self.key, value=call.read(self.key))


class GiveIfState(FlowOp, FlowSaying):
    """Return a value if a number of the state is at least ``least``: a budget."""

    op: Literal["return_if_state"]
    key: str
    least: int
    result: Values | None = None

    async def do(self, call: Performance) -> Any:  # noqa: ANN401  # what the hook gives
        enough = call.number(self.key) >= self.least
        return call.value(self, self.result) if enough else None


class SaveArtifact(FlowOp):
    """Keep one more version of a file."""

    op: Literal["save_artifact"]
    name: str
    text: str

    async def do(self, call: Performance) -> None:
        version = await call.ctx.save_artifact(self.name, Part(text=self.text))
        call.note(artifact=self.name, version=version)


class ReadArtifact(FlowOp):
    """Put down the newest text of a file, null if there is none."""

    op: Literal["read_artifact"]
    name: str

    async def do(self, call: Performance) -> None:
        part = await call.ctx.load_artifact(self.name)
        call.note(artifact=self.name, text=None if part is None else part.text)


class SetFlag(FlowOp):
    """Set an action: escalate, or leave out the model's summary of results."""

    op: Literal["escalate", "skip_summarization"]
    value: bool = True

    async def do(self, call: Performance) -> None:
        setattr(call.ctx.actions, self.op, self.value)


class TransferTo(FlowOp):
    """Hand over to another agent."""

    op: Literal["transfer"]
    agent: str

    async def do(self, call: Performance) -> None:
        call.ctx.actions.transfer_to_agent = self.agent


class AskConfirmation(FlowOp):
    """Ask the user before going on; a call that was answered does not ask again."""

    op: Literal["ask_confirmation"]
    hint: str = ""
    payload: JsonValue = None

    async def do(self, call: Performance) -> dict[str, bool] | None:
        answer: ToolConfirmation | None = call.ctx.confirmation
        if answer is None:
            call.ctx.request_confirmation(hint=self.hint, payload=self.payload)
            return dict(WAITS)
        told = {"confirmed": answer.confirmed, "payload": answer.payload}
        call.note(confirmation=told)
        return None if answer.confirmed else dict(REJECTED)


AnyFlowOp: TypeAlias = Annotated[
    Give
    | RaiseError
    | EditRequest
    | EditResponse
    | EditArgs
    | EditResult
    | WriteState
    | CountState
    | ReadState
    | GiveIfState
    | SaveArtifact
    | ReadArtifact
    | SetFlag
    | TransferTo
    | AskConfirmation,
    Discriminator("op"),
]
"""Any operation."""

_ANYWHERE: Final = frozenset(("return", "raise"))
_STATE: Final = _ANYWHERE | {
    "write_state",
    "count_state",
    "read_state",
    "return_if_state",
    "save_artifact",
    "read_artifact",
}
_CALL: Final = _STATE | {"escalate", "skip_summarization", "transfer"}
OF_TOOL: Final = (_CALL - {"return", "return_if_state"}) | {"ask_confirmation"}
"""What a tool may do before its result."""

OF_PROCESSOR: Final = _ANYWHERE | {"edit_request"}
"""What a request processor of a user's own may do; what it returns is an event."""

OF_HOOK: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "on_user_message": _ANYWHERE,
        "before_run": _ANYWHERE,
        "on_event": _ANYWHERE,
        "after_run": _ANYWHERE,
        "before_agent": _STATE,
        "after_agent": _STATE,
        "before_model": _STATE | {"edit_request"},
        "after_model": _STATE | {"edit_response"},
        "on_model_error": _STATE | {"edit_request"},
        "before_tool": _CALL | {"edit_args", "ask_confirmation"},
        "after_tool": _CALL | {"edit_args", "edit_result"},
        "on_tool_error": _CALL | {"edit_args"},
    }
)
"""The operations that each hook may do."""

RUN_HOOKS: Final = ("on_user_message", "before_run", "on_event", "after_run")
"""The hooks that plugins alone have."""
AGENT_HOOKS: Final = ("before_agent", "after_agent")
"""The hooks that an agent of any kind may have as callbacks."""
CALLBACKS: Final = tuple(each for each in OF_HOOK if each not in RUN_HOOKS)
"""The hooks that an agent that asks a model may have as callbacks."""
