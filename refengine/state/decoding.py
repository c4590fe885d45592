"""From a record's body to the step it was written of.

Its shape is checked by pydantic: strict, and nothing unknown. What is a default is left
out, so that a short step is a short line. Values of hooks are trees, which
``refengine.state.values`` reads; here they are only kept apart from the rest. A tree of
entries is a list: each names the one around it by its place, so that ten thousand
entries within each other are no deeper JSON than one.

Defaults are made anew by factories, because pydantic would copy an empty list or dict
deeply, which is most of the time that reading takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from refengine.events import AgentAction
from refengine.interrupts import Address, Pending
from refengine.messages import (
    NOTHING,
    Json,
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
)
from refengine.resume.checkpoint import (
    GONE,
    Changes,
    Entry,
    Failure,
    Point,
    Splice,
    Start,
    Step,
)
from refengine.state.envelope import first_of
from refengine.state.errors import BadCheckpointError
from refengine.state.kinds import pieces
from refengine.state.values import Types

MOST: Final = 2**63 - 1


def _text(value: object) -> str:
    """Return a text; one that JSON would change stands there in pieces."""
    if type(value) is str:
        return value
    parts = _list(value)
    found = "".join(each for each in parts if isinstance(each, str))
    if pieces(found) == parts:
        return found
    raise ValueError("is not text")


def _texts(value: object) -> list[str]:
    return [_text(each) for each in _list(value)]


def _trees(value: object) -> dict[str, object]:
    if type(value) is not dict:
        raise ValueError("is not an object")
    return cast("dict[str, object]", value)


def _list(value: object) -> list[object]:
    if type(value) is not list:
        raise ValueError("is not a list")
    return cast("list[object]", value)


Text: TypeAlias = Annotated[str, PlainValidator(_text)]
Texts: TypeAlias = Annotated[list[str], PlainValidator(_texts)]
Trees: TypeAlias = Annotated[dict[str, object], PlainValidator(_trees)]
TreeList: TypeAlias = Annotated[list[object], PlainValidator(_list)]
Whole: TypeAlias = Annotated[int, Field(ge=0, le=MOST)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=MOST)]


class Shape(BaseModel):
    """What all shapes are: strict, closed, frozen."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        strict=True, extra="forbid", frozen=True
    )

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


_TEXT: Final[TypeAdapter[str]] = TypeAdapter(Text)


class Decoding:
    """Reads one body; raises BadCheckpointError and what ``Types.unpack`` raises."""

    __slots__ = ("_types",)

    def __init__(self, types: Types) -> None:
        self._types = types

    def step(self, body: object) -> Step:
        """Return the step of a parsed body."""
        shape = _shaped(body)
        values = {k: self._value(v, f"locals[{k!r}]") for k, v in shape.locals.items()}
        both = values.keys() & set(shape.gone)
        if both:
            raise BadCheckpointError("locals", f"has {min(both)!a}, which is gone")
        return Step(
            seq=shape.seq,
            iteration=shape.iteration,
            splice=self._splice(shape.splice, ""),
            point=self._point(shape.point),
            locals=values | dict.fromkeys(shape.gone, GONE),
            pending=self._pendings(shape.pending),
            start=None if shape.start is None else Start(**shape.start.__dict__),
        )

    def _splice(self, shape: SpliceShape, at: str) -> Splice:
        messages = tuple(
            self._message(each, f"{at}messages[{place}]")
            for place, each in enumerate(shape.messages)
        )
        return Splice(shape.keep, messages)

    def _point(self, shape: PointShape) -> Point:
        answer, sent = shape.answer, shape.sent
        ctx = {
            key: self._value(each, f"ctx[{key!r}]") for key, each in shape.ctx.items()
        }
        return Point(
            phase=shape.phase,
            at=shape.at,
            ctx=ctx,
            sent=None if sent is None else self._splice(sent, "sent."),
            entries=self._entries(shape.entries),
            attempt=shape.attempt,
            shown=None if shape.shown is None else tuple(shape.shown),
            told=tuple(shape.told),
            answer=None if answer is None else self._message(answer, "answer"),
            status=shape.status,
            used=tuple(map(_address, shape.used)),
        )

    def _entries(self, shapes: Sequence[EntryShape | None]) -> tuple[Entry | None, ...]:
        """Return the trees of a list of entries, built from its end, without recursion.

        An entry stands after the one it is within, so its inner ones are there first.
        """
        inner: list[list[Entry]] = [[] for _ in shapes]
        roots: list[Entry | None] = []
        for place in range(len(shapes) - 1, -1, -1):
            shape = shapes[place]
            if shape is None:
                roots.append(None)
                continue
            at = f"entries[{place}]"
            made = self._entry(shape, tuple(reversed(inner[place])), at)
            if shape.up is None:
                roots.append(made)
            elif shape.up < place and shapes[shape.up] is not None:
                inner[shape.up].append(made)
            else:
                raise BadCheckpointError(at, "is within one that does not stand before")
        return tuple(reversed(roots))

    def _entry(self, shape: EntryShape, inner: tuple[Entry, ...], at: str) -> Entry:
        message, chunks = shape.message, shape.chunks
        failure, asks = shape.failure, shape.waiting
        said = None if message is None else self._message(message, f"{at}.message")
        return Entry(
            hook=shape.hook,
            owner=shape.owner,
            done=shape.done,
            text=shape.text,
            message=said,
            chunks=None if chunks is None else tuple(self._chunks(chunks, at)),
            failure=None if failure is None else Failure(**failure.__dict__),
            inner=inner,
            answers=self._jsons(shape.answers, f"{at}.answers"),
            asked=self._jsons(shape.asked, f"{at}.asked"),
            waiting=None if asks is None else self._pending(asks, f"{at}.waiting"),
            action=None if shape.action is None else self._action(shape.action, at),
            changes=None if shape.changes is None else self._changes(shape.changes, at),
        )

    def _changes(self, shape: ChangesShape, at: str) -> Changes:
        ignored, action = shape.ignored, shape.action
        return Changes(
            *(shape.name, shape.arguments, shape.call_id, shape.taken),
            None if ignored is None else (ignored[0], ignored[1]),
            None if action is None else self._action(action, f"{at}.changes"),
        )

    def _action(self, shape: ActionShape, at: str) -> AgentAction:
        delta = {
            key: self._json(each, f"{at}.action.state_delta[{key!r}]")
            for key, each in shape.state_delta.items()
        }
        return AgentAction(shape.exit, shape.transfer_to, shape.break_loop, delta)

    def _chunks(self, given: list[object], at: str) -> Iterable[str | MessageChunk]:
        for place, each in enumerate(given):
            if type(each) is str:
                yield each
            else:
                yield self._chunk(each, f"{at}.chunks[{place}]")

    def _chunk(self, given: object, at: str) -> str | MessageChunk:
        try:
            if type(given) is list:
                return _TEXT.validate_python(given)
            shape = ChunkShape.model_validate(given)
        except ValidationError as error:
            raise BadCheckpointError(at, f"is not a chunk: {first_of(error)}") from None
        calls = tuple(ToolCallChunk(**each.__dict__) for each in shape.calls)
        extra = self._extra(shape, at)
        return MessageChunk(shape.content, calls, shape.id, shape.name, extra)

    def _message(self, shape: MessageShape, at: str) -> Message:
        if any(each.index is not None for each in shape.calls):
            raise BadCheckpointError(
                at, "is a message with an index, which chunks have"
            )
        return Message(
            shape.role,
            shape.content,
            tuple(ToolCall(each.id, each.name, each.arguments) for each in shape.calls),
            shape.call_id,
            shape.name,
            shape.id,
            self._extra(shape, at),
        )

    def _extra(self, shape: ChunkShape, at: str) -> Mapping[str, Json]:
        if not shape.extra:
            return NOTHING
        return self._types.unpack_extra(shape.extra, at=f"{at}.extra")

    def _pendings(self, shapes: Iterable[PendingShape]) -> tuple[Pending, ...]:
        return tuple(
            self._pending(each, f"pending[{place}]")
            for place, each in enumerate(shapes)
        )

    def _pending(self, shape: PendingShape, at: str) -> Pending:
        payload = self._json(shape.payload, f"{at}.payload")
        return Pending(_address(shape.address), payload)

    def _jsons(self, trees: Sequence[object], at: str) -> tuple[Json, ...]:
        return tuple(self._json(each, f"{at}[{n}]") for n, each in enumerate(trees))

    def _json(self, tree: object, at: str) -> Json:
        return cast("Json", self._value(tree, at))

    def _value(self, tree: object, at: str) -> object:
        return self._types.unpack(tree, at=at)


def _shaped(body: object) -> StepShape:
    try:
        return StepShape.model_validate(body)
    except ValidationError as error:
        why = f"is not a step: {first_of(error)}"
        raise BadCheckpointError("the body", why) from None


def _address(shape: AddressShape) -> Address:
    return Address(
        tuple(shape.path),
        shape.iteration,
        shape.hook,
        shape.owner,
        shape.tool,
        shape.call_id,
        shape.ordinal,
    )
