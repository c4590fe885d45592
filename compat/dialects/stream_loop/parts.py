"""Parts: what a streamed message is made of, as a fold over events.

A part is a text, a call of a tool or the result of one. Its id and its place never
change; its text only grows, and its state only goes forward. Every change is one
``PartEvent``, and what a tracker has is what its events fold to.

A snapshot is a view: it holds how far the shared data had come, and joins text when it
is read. So one costs the same after 100,000 chunks as after ten, and stays what it was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import eq
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast, final, overload

from refengine.messages import ToolCall, ToolCallChunk

PartKind: TypeAlias = Literal["text", "tool_call", "tool_result"]
PartState: TypeAlias = Literal["streaming", "ready", "executing", "done", "error"]

NewId: TypeAlias = Callable[[], str]
"""Makes the id of a call to which its model gave none."""

OPEN: Final = frozenset(("streaming", "ready", "executing"))
"""The states of a part that something is still to come of."""
PROGRESS: Final[Mapping[str, int]] = MappingProxyType(
    {"streaming": 0, "ready": 1, "executing": 2, "done": 3, "error": 3}
)
"""How far a state is; a part never goes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part as it was when it was read.

    ``text`` is what a text says, the arguments of a call, or what a result was to the
    model. ``error`` is why it ended in error.
    """

    id: str
    place: int
    kind: PartKind
    state: PartState
    text: str = ""
    call_id: str = ""
    name: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartEvent:
    """One change: ``text`` is what was added, the rest is what holds from now on.

    A part that no earlier event has is new, at the end. Fields that are empty leave
    what an earlier event said.
    """

    id: str
    place: int
    kind: PartKind
    state: PartState
    text: str = ""
    call_id: str = ""
    name: str = ""
    error: str = ""


def folded(events: Iterable[PartEvent]) -> tuple[Part, ...]:
    """Return the parts that events make, in their places."""
    parts: dict[str, Part] = {}
    texts: dict[str, list[str]] = {}
    for each in events:
        old = parts.get(each.id)
        texts.setdefault(each.id, []).append(each.text)
        parts[each.id] = Part(
            id=each.id,
            place=each.place,
            kind=each.kind,
            state=each.state,
            call_id=each.call_id or (old.call_id if old else ""),
            name=each.name or (old.name if old else ""),
            error=each.error or (old.error if old else ""),
        )
    return tuple(replace(each, text="".join(texts[key])) for key, each in parts.items())


@dataclass(slots=True)
class _Slot:
    """One part's data, which is only ever appended to; ``*_at`` are event numbers."""

    id: str
    pieces: list[str] = field(default_factory=list[str])
    pieces_at: list[int] = field(default_factory=list[int])
    heads: list[Part] = field(default_factory=list[Part])
    heads_at: list[int] = field(default_factory=list[int])

    @property
    def now(self) -> Part:
        """Everything but its text."""
        return self.heads[-1]

    def take(self, event: PartEvent, number: int) -> None:
        if event.text:
            self.pieces.append(event.text)
            self.pieces_at.append(number)
        old = self.heads[-1] if self.heads else None
        if old is not None and _adds_text_alone(event, old):
            return
        made = Part(
            id=event.id,
            place=event.place,
            kind=event.kind,
            state=event.state,
            call_id=event.call_id or (old.call_id if old else ""),
            name=event.name or (old.name if old else ""),
            error=event.error or (old.error if old else ""),
        )
        self.heads.append(made)
        self.heads_at.append(number)

    def as_of(self, number: int) -> Part:
        head = self.heads[bisect_right(self.heads_at, number) - 1]
        text = "".join(self.pieces[: bisect_right(self.pieces_at, number)])
        return replace(head, text=text)


def _adds_text_alone(event: PartEvent, old: Part) -> bool:
    return event.state == old.state and not (event.call_id or event.name or event.error)


@final
class PartsSnapshot(Sequence[Part]):
    """The parts as they were after one event; they are made when they are read."""

    __slots__ = ("_length", "_number", "_slots")

    def __init__(self, slots: list[_Slot], number: int) -> None:
        self._slots, self._length, self._number = slots, len(slots), number

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Part: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Part, ...]: ...
    def __getitem__(self, index: int | slice) -> Part | tuple[Part, ...]:
        places = range(self._length)[index]
        if isinstance(places, int):
            return self._slots[places].as_of(self._number)
        return tuple(self._slots[each].as_of(self._number) for each in places)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        theirs = cast("Sequence[object]", other)
        return len(self) == len(theirs) and all(map(eq, self, theirs))

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return f"PartsSnapshot({list(self)!r})"


@final
class PartsTracker:
    """Makes the events of a message and keeps what they fold to.

    Its methods are generators: an event has been taken when it is yielded, and the next
    one is made when it is asked for, so that a snapshot between two is exact.
    """

    __slots__ = ("_by_index", "_calls", "_number", "_open_text", "_round_at", "_slots")

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._number = 0
        self._open_text: _Slot | None = None
        self._by_index: dict[int, _Slot] = {}
        self._calls: list[_Slot] = []
        self._round_at = 0

    @property
    def snapshot(self) -> PartsSnapshot:
        """The parts as they are now; costs the same however many there are."""
        return PartsSnapshot(self._slots, self._number)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of this round, in the order of their first piece."""
        return tuple(map(_call_of, self._calls))

    @property
    def round_text(self) -> str:
        """What the model has said in this round."""
        texts = (x for x in self._slots[self._round_at :] if x.now.kind == "text")
        return "".join(piece for each in texts for piece in each.pieces)

    def call_at(self, place: int) -> ToolCall:
        """Return the call that stands at that place."""
        return _call_of(self._slots[place])

    def begin_round(self) -> None:
        """Forget the calls of the last round: its indices are free for other calls."""
        self._by_index, self._calls = {}, []
        self._round_at = len(self._slots)

    def add_text(self, text: str) -> Iterator[PartEvent]:
        """Add to the text that is open, or open one."""
        if not text:
            return
        if self._open_text is None:
            self._open_text = self._new()
        yield self._take(self._open_text, "text", "streaming", text)

    def add_piece(self, piece: ToolCallChunk, new_id: NewId) -> Iterator[PartEvent]:
        """Add a piece of a call; one without an index is a whole call, and ready."""
        slot = None if piece.index is None else self._by_index.get(piece.index)
        if slot is not None:
            yield from self._more_of(slot, piece)
            return
        yield from self._end_text()
        slot = self._new()
        self._calls.append(slot)
        if piece.index is not None:
            self._by_index[piece.index] = slot
        whole = piece.index is None
        yield self._take(
            slot,
            "tool_call",
            "ready" if whole else "streaming",
            piece.arguments,
            piece.id or (new_id() if whole else ""),
            piece.name,
        )

    def _more_of(self, slot: _Slot, piece: ToolCallChunk) -> Iterator[PartEvent]:
        known, given = slot.now, piece.arguments
        call_id = "" if known.call_id else piece.id
        name = "" if known.name else piece.name
        if given or call_id or name:
            yield self._take(slot, "tool_call", "streaming", given, call_id, name)

    def end_stream(self, new_id: NewId) -> Iterator[PartEvent]:
        """End the text that is open; calls that came in pieces are complete now."""
        yield from self._end_text()
        for each in self._calls:
            if each.now.state == "streaming":
                made = "" if each.now.call_id else new_id()
                yield self._take(each, "tool_call", "ready", "", made)

    def execute(self, at: int) -> Iterator[PartEvent]:
        """Say that a call of this round, by its number from 0, is executed."""
        yield self._take(self._calls[at], "tool_call", "executing")

    def finish(self, at: int, text: str, error: str = "") -> Iterator[PartEvent]:
        """End a call of this round and add its result; ``error`` is why it failed."""
        slot = self._calls[at]
        state: PartState = "error" if error else "done"
        yield self._take(slot, "tool_call", state, error=error)
        known, result = slot.now, self._new()
        yield self._take(
            result, "tool_result", state, text, known.call_id, known.name, error
        )

    def fail(self, why: str) -> Iterator[PartEvent]:
        """End in error whatever is open."""
        self._open_text = None
        for each in self._slots[self._round_at :]:
            if each.now.state in OPEN:
                yield self._take(each, each.now.kind, "error", error=why)

    def _end_text(self) -> Iterator[PartEvent]:
        slot, self._open_text = self._open_text, None
        if slot is not None:
            yield self._take(slot, "text", "done")

    def _new(self) -> _Slot:
        return _Slot(f"part-{len(self._slots) + 1}")

    def _take(  # noqa: PLR0913, PLR0917  # one for each field
        self,
        slot: _Slot,
        kind: PartKind,
        state: PartState,
        text: str = "",
        call_id: str = "",
        name: str = "",
        error: str = "",
    ) -> PartEvent:
        if not slot.heads:
            self._slots.append(slot)
        place = slot.heads[0].place if slot.heads else len(self._slots) - 1
        event = PartEvent(
            id=slot.id,
            place=place,
            kind=kind,
            state=state,
            text=text,
            call_id=call_id,
            name=name,
            error=error,
        )
        self._number += 1
        slot.take(event, self._number)
        return event


def _call_of(slot: _Slot) -> ToolCall:
    return ToolCall(slot.now.call_id, slot.now.name, "".join(slot.pieces))
