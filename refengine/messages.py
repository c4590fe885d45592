"""Messages, tool calls and the chunks that a stream brings them in.

All frozen (contract §0): a hook that wants another message makes one. ``arguments`` is
the model's text everywhere; only a matcher parses it.

A history grows without being copied: a run over 10,000 messages must not cost more than
one over 10 (seed 000 §5, performance; contract "handing back the sequence one got costs
O(1)"). So it is a fixed part that the caller gave and a tail that all later states
share: appending to the newest state is one list append, and an older state still sees
its own length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, takewhile
from operator import eq, is_, truth
from typing import ClassVar, Final, Literal, TypeAlias, cast, overload

Json: TypeAlias = (
    "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
)
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class FrozenDict(Mapping[str, Json]):
    """A mapping that nobody can change; a copy of it is itself.

    Not a MappingProxyType: that can be neither copied nor pickled, and handlers copy
    messages.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Json]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: str) -> Json:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __repr__(self) -> str:
        return repr(self._items)

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, _: object) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Json]]]:
        return FrozenDict, (self._items,)


NOTHING: Final[Mapping[str, Json]] = FrozenDict({})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model asks to run; ``arguments`` is its text, parsed by nobody here."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a history.

    ``extra`` is copied and frozen, lists in it become tuples: a message that two
    histories share cannot be changed through one of them.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    id: str | None = None
    extra: Mapping[str, Json] = field(default=NOTHING, hash=False)

    def __post_init__(self) -> None:
        if self.extra is not NOTHING:
            object.__setattr__(self, "extra", frozen_json(self.extra))
        if self.tool_calls.__class__ is not tuple:
            object.__setattr__(self, "tool_calls", tuple(self.tool_calls))


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
    """A piece of a tool call; pieces with one ``index`` belong to one call.

    A piece without an index is a whole call of its own.
    """

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class MessageChunk:
    """A piece of an assistant message, as a stream brings it.

    ``extra`` is frozen as a message's is: a run and its events' consumer share chunks.
    """

    content: str = ""
    tool_calls: tuple[ToolCallChunk, ...] = ()
    id: str | None = None
    name: str | None = None
    extra: Mapping[str, Json] = field(default=NOTHING, hash=False)

    def __post_init__(self) -> None:
        if self.extra is not NOTHING:
            object.__setattr__(self, "extra", frozen_json(self.extra))


def frozen_json(value: Json) -> Json:
    """Return a copy that nobody can change: dicts read-only, lists as tuples."""
    if isinstance(value, Mapping):
        return FrozenDict({k: frozen_json(v) for k, v in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(frozen_json(v) for v in value)
    return value


def chunk_of(message: Message) -> MessageChunk:
    """Return the whole message as one chunk."""
    calls = tuple(
        ToolCallChunk(None, call.id, call.name, call.arguments)
        for call in message.tool_calls
    )
    return MessageChunk(message.content, calls, message.id, message.name, message.extra)


def join_chunks(chunks: Iterable[MessageChunk]) -> Message:
    """Join a stream's chunks into the message that invoke would have given.

    The first id and name count, text and arguments are concatenated, later extra keys
    win. Calls stand in the order of their first piece (contract STR).
    """
    texts: list[str] = []
    calls: list[_OpenCall] = []
    by_index: dict[int, _OpenCall] = {}
    message_id: str | None = None
    name: str | None = None
    extra: dict[str, Json] = {}
    for chunk in chunks:
        if chunk.__class__ is not MessageChunk:
            raise TypeError(
                f"{chunk!r} stands among the chunks: MessageChunk is wanted"
            )
        texts.append(chunk.content)
        message_id = message_id or chunk.id
        name = name or chunk.name
        extra.update(chunk.extra)
        for piece in chunk.tool_calls:
            _open_call(piece, calls, by_index).add(piece)
    return Message(
        "assistant",
        "".join(texts),
        tuple(call.close() for call in calls),
        id=message_id,
        name=name,
        extra=extra or NOTHING,
    )


class _OpenCall:
    """A tool call whose pieces are still coming."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def add(self, piece: ToolCallChunk) -> None:
        self.id = self.id or piece.id
        self.name = self.name or piece.name
        self.arguments.append(piece.arguments)

    def close(self) -> ToolCall:
        return ToolCall(self.id, self.name, "".join(self.arguments))


def _open_call(
    piece: ToolCallChunk, calls: list[_OpenCall], by_index: dict[int, _OpenCall]
) -> _OpenCall:
    found = None if piece.index is None else by_index.get(piece.index)
    if found is None:
        found = _OpenCall()
        calls.append(found)
        if piece.index is not None:
            by_index[piece.index] = found
    return found


class History(Sequence[Message]):
    """An immutable sequence of messages; equal to any sequence of equal messages."""

    __slots__ = ("_fixed", "_head", "_length", "_tail")

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        """Hold ``messages``; a tuple is kept as it is, anything else copied once."""
        self._head: tuple[Message, ...] = ()
        self._fixed: tuple[Message, ...] = (
            messages if isinstance(messages, tuple) else tuple(messages)
        )
        self._tail: list[Message] = []
        self._length = 0

    def after(self, first: Message) -> History:
        """Return this history with ``first`` put before it."""
        made = History.__new__(History)
        made._head = (first, *self._head)
        made._fixed = self._fixed
        made._tail = self._tail
        made._length = self._length
        return made

    def appended(self, message: Message) -> History:
        """Return a history with one message more; this one stays as it is."""
        tail = self._tail
        if len(tail) != self._length:
            # A sibling state was appended to: share no further.
            tail = tail[: self._length]
        tail.append(message)
        made = History.__new__(History)  # a run makes one for each message it adds
        made._head = self._head
        made._fixed = self._fixed
        made._tail = tail
        made._length = self._length + 1
        return made

    def last(self) -> Message | None:
        """Return the last message, or None if there is none."""
        if self._length:
            return self._tail[self._length - 1]
        for part in (self._fixed, self._head):
            if part:
                return part[-1]
        return None

    def shared(self, older: History) -> int:
        """Return how many first messages the two have in common, by identity.

        Of a part that both hold no message is looked at, so that it costs the same for
        histories of any length that grew out of one.
        """
        if self._head is not older._head or self._fixed is not older._fixed:
            return _alike(self, older)
        common = len(self._head) + len(self._fixed)
        if self._tail is older._tail:
            return common + min(self._length, older._length)
        return common + _alike(
            islice(self._tail, self._length), islice(older._tail, older._length)
        )

    def since(self, start: int) -> tuple[Message, ...]:
        """Return the messages from that place on; costs no more than they are."""
        own = start - len(self._head) - len(self._fixed)
        if own >= 0:
            return tuple(self._tail[own : self._length])
        return tuple(islice(iter(self), start, None))

    def without(self, message: Message | None) -> tuple[Message, ...]:
        """Return all messages but this very object, wherever it stands."""
        return tuple(each for each in self if each is not message)

    def __len__(self) -> int:
        return len(self._head) + len(self._fixed) + self._length

    def __iter__(self) -> Iterator[Message]:
        return chain(self._head, self._fixed, islice(self._tail, self._length))

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> Message | History:
        if isinstance(index, slice):
            return History(tuple(self)[index])
        at = index + len(self) if index < 0 else index
        if at < 0:
            raise IndexError(index)
        for part in (self._head, self._fixed):
            if at < len(part):
                return part[at]
            at -= len(part)
        if at >= self._length:
            raise IndexError(index)
        return self._tail[at]

    def __add__(self, other: Sequence[Message]) -> tuple[Message, ...]:
        return (*self, *other)

    def __radd__(self, other: Sequence[Message]) -> tuple[Message, ...]:
        return (*other, *self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        theirs = cast("Sequence[object]", other)
        return len(self) == len(theirs) and all(map(eq, self, theirs))

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return f"History({list(self)!r})"


def _alike(ours: Iterable[Message], theirs: Iterable[Message]) -> int:
    """Return how many first ones are the very same objects."""
    return sum(1 for _ in takewhile(truth, map(is_, ours, theirs)))


def as_history(messages: Sequence[Message]) -> History:
    """Return what a hook handed back as a history; its own object costs nothing."""
    return messages if isinstance(messages, History) else History(messages)
