"""What an extension of a scenario does, as data: operations, one after the other.

Any operation may carry ``on_call``: it is done only the nth time its hook runs.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PositiveInt,
)

from refengine.testing.notation import parse_message


class Spec(BaseModel):
    """A part of a scenario: strict, frozen, and nothing in it is unknown."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, strict=True
    )


def _readable(text: str) -> str:
    parse_message(text)
    return text


MessageText: TypeAlias = Annotated[str, AfterValidator(_readable)]
"""A message in the notation of ``refengine.testing.notation``."""


class InterruptSpec(Spec):
    """Interrupts the run the first ``times`` times, counted by the object itself.

    It is a plain ``Interrupt(info)``. ``state`` is what engines keep with it that do
    not enter the whole hook again; ours keeps the entry itself and needs none.
    """

    info: JsonValue = None
    times: PositiveInt | Literal["always"] = 1
    state: str | None = None


class AskSpec(Spec):
    """Asks by ``interrupt(payload)``; the answer stands for ``<answer>`` in results.

    A wrapper asks before ``next``, or with ``after`` when that has come back, or has
    failed with an error that it catches.
    """

    payload: JsonValue = None
    after: bool = False


class ToolSpec(Spec):
    """A scripted tool. ``<args>`` in ``result`` stands for the call's arguments.

    ``by_call`` has recorded results by the id of the call, which go before ``result``
    as they are; one for each execution, and the last for all further ones.

    It fails at once with ``error``, or with ``stream_error`` after its last chunk.
    A stream without ``chunks`` gives its result in one, and with none of them nothing.
    Between two chunks of a stream ``chunk_ms`` pass.
    ``description`` and ``parameters``, a JSON schema, are what the model is told of it.
    With ``spoils_options`` it writes into the options that it is given, if it can.
    ``interrupt`` comes after ``body``; ``<resume_data>`` or ``<answer>`` in ``result``
    and ``chunks`` stand for what the last interrupt of the call was answered, or what
    the agent of that number answered, which the tool runs with its own context.
    With ``as_json`` it gives the value that its result is the JSON of, and no text.
    ``action`` are fields of the AgentAction that it attaches, and ``wraps_errors`` is
    what the error wrapper of its stream makes of an error, ``<error>`` in it.
    """

    name: str
    description: str = ""
    parameters: dict[str, JsonValue] | None = None
    kind: Literal["invokable", "streamable", "both"] = "invokable"
    result: str = ""
    by_call: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    chunks: tuple[str, ...] | None = None
    error: str | None = None
    stream_error: str | None = None
    body: tuple[BodyOp, ...] = ()
    interrupt: InterruptSpec | None = None
    delay_ms: int = Field(default=0, ge=0)
    chunk_ms: int = Field(default=0, ge=0)
    at_most_once: bool = False
    spoils_options: bool = False
    agent: int | None = Field(default=None, ge=0)
    as_json: bool = False
    action: dict[str, JsonValue] | None = None
    wraps_errors: str | None = None

    @property
    def implementation(self) -> str:
        """What tells it from others of its name: its result, or all that it streams."""
        return self.result or "".join(self.chunks or ())


class Op(Spec):
    """One operation of a hook."""

    on_call: PositiveInt | None = None


class RecordOp(Op):
    """Put down what the hook sees now."""

    op: Literal["record", "record_counts"]


class AppendInstruction(Op):
    """Instruction + ``sep`` + ``text``; ``<run>`` is the number of the run.

    With ``instead`` the text, which may be empty, stands in the instruction's place.
    """

    op: Literal["append_instruction"]
    sep: str = ""
    text: str = ""
    if_base_empty: Literal["replace"] | None = None
    instead: bool = False


class AppendTools(Op):
    """Add tools at the end of the list, each with that flag."""

    op: Literal["append_tools"]
    tools: tuple[ToolSpec, ...]
    return_directly: bool | None = None


class RemoveTool(Op):
    """Drop the tools of that name."""

    op: Literal["remove_tool"]
    name: str


class SetTools(Op):
    """Replace the list: null, or no tools."""

    op: Literal["set_tools"]
    value: Annotated[tuple[ToolSpec, ...], Field(max_length=0)] | None


class SetReturnDirectly(Op):
    """Set the flag of one name."""

    op: Literal["set_return_directly"]
    name: str
    value: bool


class ReplaceReturnDirectly(Op):
    """Replace all flags."""

    op: Literal["replace_return_directly"]
    value: dict[str, bool] | None


class EditWithMessage(Op):
    """Put a message somewhere; ``<len>`` is the number of messages before."""

    op: Literal[
        "append",
        "prepend",
        "replace_last",
        "replace_last_if_tool_calls",
        "append_to_kept",
    ]
    msg: MessageText


class SetLastContent(Op):
    """Change the content of the last message."""

    op: Literal["set_last_content"]
    content: str


class Edit(Op):
    """An edit without a field of its own."""

    op: Literal["clear", "keep_first_and_last", "keep_messages"]


class KeepLast(Op):
    """Drop all but the last ``n`` messages."""

    op: Literal["keep_last"]
    n: int = Field(ge=0)


class Fail(Op):
    """Raise an error with that text."""

    op: Literal["error"]
    text: str


class CtxSet(Op):
    """The hook's context from here on holds the value."""

    op: Literal["ctx_set"]
    key: str
    value: JsonValue


class CtxAppend(Op):
    """The value becomes (the old one, or ``-``) + text."""

    op: Literal["ctx_append"]
    key: str
    text: str


class CtxGet(Op):
    """Put down the value."""

    op: Literal["ctx_get"]
    key: str


class RunLocalSet(Op):
    """Set a value that lives for this run."""

    op: Literal["runlocal_set"]
    key: str
    value: JsonValue
    record: bool = False


class RunLocalRead(Op):
    """Read a run-local value and put it down, or drop it."""

    op: Literal["runlocal_get", "runlocal_delete"]
    key: str


class Interrupts(Op):
    """Interrupt the run, the first ``times`` times that this hook comes here."""

    op: Literal["interrupt"]
    info: JsonValue = None
    times: PositiveInt | Literal["always"] = 1


class Ask(Op):
    """Ask by ``interrupt(payload)`` and put down the answer."""

    op: Literal["ask"]
    payload: JsonValue = None


class Block(Op):
    """Wait until the run is cancelled; what follows in this hook is not done."""

    op: Literal["block_until_cancel"]


class GiveBack(Op):
    """The hook gives this back in the place of what it should.

    ``own_context`` is what it should, with a context of the hook's own making.
    """

    op: Literal["give_back"]
    shape: Literal["nothing", "context", "no_messages", "own_context"]


AnyOp: TypeAlias = (
    RecordOp
    | GiveBack
    | Fail
    | CtxSet
    | CtxAppend
    | CtxGet
    | RunLocalSet
    | RunLocalRead
    | Interrupts
    | Ask
    | Block
)
ConfigOp: TypeAlias = Annotated[
    AnyOp
    | AppendInstruction
    | AppendTools
    | RemoveTool
    | SetTools
    | SetReturnDirectly
    | ReplaceReturnDirectly,
    Field(discriminator="op"),
]
MessageOp: TypeAlias = Annotated[
    AnyOp | EditWithMessage | SetLastContent | Edit | KeepLast,
    Field(discriminator="op"),
]
BodyOp: TypeAlias = Annotated[AnyOp, Field(discriminator="op")]


class CallerOp(Op):
    """What the caller puts down between runs."""

    op: Literal["record_built", "record_factory_calls", "record_interrupts"]


ToolSpec.model_rebuild()
AppendTools.model_rebuild()
SetTools.model_rebuild()
