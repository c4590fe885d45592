"""From the shape of a record's body to the step it was written of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from pydantic import TypeAdapter, ValidationError

from refengine.checkpoint import (
    GONE,
    Changes,
    Entry,
    Failure,
    Point,
    Splice,
    Start,
    Step,
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
from refengine.state.envelope import first_of
from refengine.state.errors import BadCheckpointError
from refengine.state.shapes import (
    ActionShape,
    AddressShape,
    ChangesShape,
    ChunkShape,
    EntryShape,
    MessageShape,
    PendingShape,
    PointShape,
    SpliceShape,
    StepShape,
    Text,
)
from refengine.state.values import Types

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
            raise BadCheckpointError(at, f"is no chunk: {first_of(error)}") from None
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
        raise BadCheckpointError("the body", f"is no step: {first_of(error)}") from None


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
