"""The shape of a record's body, as pydantic checks it: strict, and nothing unknown.

What is a default is left out, so that a short step is a short line. Values of hooks are
trees, which ``refengine.values`` reads; here they are only kept apart from the rest. A
tree of entries is a list: each names the one around it by its place, so that ten
thousand entries within each other are no deeper JSON than one.

Defaults are made anew by factories, because pydantic would copy an empty list or dict
deeply, which is most of the time that reading takes.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    PlainValidator,
    model_validator,
)

from refengine.state.kinds import pieces

MOST: Final = 2**63 - 1


def _text(value: object) -> str:
    """Return a text; one that JSON would change stands there in pieces."""
    if type(value) is str:
        return value
    parts = _list(value)
    found = "".join(each for each in parts if isinstance(each, str))
    if pieces(found) == parts:
        return found
    raise ValueError("is no text")


def _texts(value: object) -> list[str]:
    return [_text(each) for each in _list(value)]


def _trees(value: object) -> dict[str, object]:
    if type(value) is not dict:
        raise ValueError("is no object")
    return cast("dict[str, object]", value)


def _list(value: object) -> list[object]:
    if type(value) is not list:
        raise ValueError("is no list")
    return cast("list[object]", value)


Text: TypeAlias = Annotated[str, PlainValidator(_text)]
Texts: TypeAlias = Annotated[list[str], PlainValidator(_texts)]
Trees: TypeAlias = Annotated[dict[str, object], PlainValidator(_trees)]
TreeList: TypeAlias = Annotated[list[object], PlainValidator(_list)]
Whole: TypeAlias = Annotated[int, Field(ge=0, le=MOST)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=MOST)]


class Shape(BaseModel):
    """What all shapes are: strict, closed, frozen."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def few_keys(cls, given: object) -> object:
        """Refuse an object of many keys at once; each would be an error of its own."""
        if isinstance(given, dict):
            keys = cast("dict[object, object]", given)
            if len(keys) > len(cls.model_fields):
                raise ValueError("has more keys than there are")
            return keys
        return given


class CallShape(Shape):
    """A tool call, or a piece of one, which has an index."""

    index: Annotated[int, Field(ge=-MOST - 1, le=MOST)] | None = None
    id: Text = ""
    name: Text = ""
    arguments: Text = ""


class ChunkShape(Shape):
    """A message chunk."""

    content: Text = ""
    calls: Annotated[list[CallShape], FailFast()] = Field(
        default_factory=list[CallShape]
    )
    id: Text | None = None
    name: Text | None = None
    extra: Trees = Field(default_factory=dict[str, object])


class MessageShape(ChunkShape):
    """A message."""

    role: Literal["system", "user", "assistant", "tool"]
    call_id: Text | None = None


class SpliceShape(Shape):
    """A splice; both may be left out."""

    keep: Whole = 0
    messages: Annotated[list[MessageShape], FailFast()] = Field(
        default_factory=list[MessageShape]
    )


class AddressShape(Shape):
    """An address."""

    path: Texts
    iteration: Whole
    hook: Text
    owner: Text
    tool: Text | None = None
    call_id: Text | None = None
    ordinal: Count = 1


class PendingShape(Shape):
    """An interrupt that waits; ``payload`` is a tree."""

    address: AddressShape
    payload: object = None


class FailureShape(Shape):
    """An error that a wrapper has seen."""

    kind: Text
    text: Text
    layer: Annotated[int, Field(ge=-1, le=MOST)]
    base: Text | None = None


class ActionShape(Shape):
    """What a tool call asks of the run besides its result."""

    exit: bool = False
    transfer_to: Text | None = None
    break_loop: bool = False
    state_delta: Trees = Field(default_factory=dict[str, object])


class ChangesShape(Shape):
    """What an entry changed besides what it gave; ``ignored`` is a name and an id."""

    name: Text | None = None
    arguments: Text | None = None
    call_id: Text | None = None
    taken: Text | None = None
    ignored: Annotated[Texts, Field(min_length=2, max_length=2)] | None = None
    action: ActionShape | None = None


class EntryShape(Shape):
    """An entry; ``up`` is the place in the list of the one it is within."""

    up: Whole | None = None
    hook: Text
    owner: Text
    done: bool = False
    text: Text | None = None
    message: MessageShape | None = None
    chunks: TreeList | None = None
    failure: FailureShape | None = None
    answers: TreeList = Field(default_factory=list[object])
    asked: TreeList = Field(default_factory=list[object])
    waiting: PendingShape | None = None
    action: ActionShape | None = None
    changes: ChangesShape | None = None


class PointShape(Shape):
    """A point."""

    phase: Literal[
        "iteration", "before", "model", "after", "tools", "after_agent", "end"
    ]
    at: Whole = 0
    ctx: Trees = Field(default_factory=dict[str, object])
    sent: SpliceShape | None = None
    entries: Annotated[list[EntryShape | None], FailFast()] = Field(
        default_factory=list[EntryShape | None]
    )
    attempt: Count = 1
    shown: Texts | None = None
    told: Annotated[list[Whole], FailFast()] = Field(default_factory=list[Whole])
    answer: MessageShape | None = None
    status: Text | None = None
    used: Annotated[list[AddressShape], FailFast()] = Field(
        default_factory=list[AddressShape]
    )


class StartShape(Shape):
    """What does not change in a run."""

    agent: Text
    profile: Text
    streaming: bool
    given: Whole
    has_first: bool


class StepShape(Shape):
    """The body of a record."""

    seq: Whole
    iteration: Whole
    splice: SpliceShape = SpliceShape()
    point: PointShape
    locals: Trees = Field(default_factory=dict[str, object])
    gone: Texts = Field(default_factory=list[str])
    pending: Annotated[list[PendingShape], FailFast()] = Field(
        default_factory=list[PendingShape]
    )
    start: StartShape | None = None
