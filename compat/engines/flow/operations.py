"""What a hook of a Flow world does, as data: operations, one after the other.

A hook without operations abstains. Any operation may carry ``on_call``: it is done only
the nth time that this hook is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, PositiveInt

from compat.dialects.flow.content import (
    Blob,
    Content,
    FileData,
    FunctionCall,
    FunctionResponse,
    Part,
)
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


class FlowOp(Spec):
    """One operation of a hook, or of a tool before it gives its result."""

    on_call: PositiveInt | None = None


class Give(FlowOp, FlowSaying):
    """Return a value: what is said, or of a tool hook the ``result``; ends the hook.

    ``error_code`` and ``partial`` are for a response of a model.
    """

    op: Literal["return"]
    result: Values | None = None
    error_code: str = ""
    partial: bool = False


class RaiseError(FlowOp):
    """Raise a ScriptedFlowError of that text."""

    op: Literal["raise"]
    text: str


class EditRequest(FlowOp):
    """Change the request in place; ``keep_last`` cuts the contents to so many."""

    op: Literal["edit_request"]
    append_instruction: str = ""
    append_text: str = ""
    keep_last: int | None = Field(default=None, ge=0)
    drop_tool: str = ""


class EditResponse(FlowOp):
    """Change the text of a response in place; not all dialects let a hook do that."""

    op: Literal["edit_response"]
    text: str


class EditArgs(FlowOp):
    """Change the arguments of a call in place."""

    op: Literal["edit_args"]
    values: Values


class EditResult(FlowOp):
    """Change the result of a tool in place, if it is an object."""

    op: Literal["edit_result"]
    values: Values


class WriteState(FlowOp):
    """Write a value; ``app:``, ``user:`` and ``temp:`` keys are of those scopes."""

    op: Literal["write_state"]
    key: str
    value: JsonValue = None


class CountState(FlowOp):
    """Add one to a number of the state, which begins at 0."""

    op: Literal["count_state"]
    key: str


class ReadState(FlowOp):
    """Put down what stands under a key, null if nothing does."""

    op: Literal["read_state"]
    key: str


class GiveIfState(FlowOp, FlowSaying):
    """Return a value if a number of the state is at least ``least``: a budget."""

    op: Literal["return_if_state"]
    key: str
    least: int
    result: Values | None = None


class SaveArtifact(FlowOp):
    """Keep one more version of a file."""

    op: Literal["save_artifact"]
    name: str
    text: str


class ReadArtifact(FlowOp):
    """Put down the newest text of a file, null if there is none."""

    op: Literal["read_artifact"]
    name: str


class SetFlag(FlowOp):
    """Set an action: escalate, or leave out the model's summary of results."""

    op: Literal["escalate", "skip_summarization"]
    value: bool = True


class TransferTo(FlowOp):
    """Hand over to another agent."""

    op: Literal["transfer"]
    agent: str


class AskConfirmation(FlowOp):
    """Ask the user before going on; a call that was answered does not ask again."""

    op: Literal["ask_confirmation"]
    hint: str = ""
    payload: JsonValue = None


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
