"""A history that grows without being copied.

A run over a history of 10,000 messages must not cost more than one over 10 (seed 000
§5, performance; contract "handing back the sequence one got costs O(1)"). So a history
is a fixed part that the caller gave and a tail that all later states share: appending
to the newest state is one list append, and an older state still sees its own length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile
from operator import eq, is_, truth
from typing import cast, overload

from refengine.messages import Message


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

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return f"History({list(self)!r})"


def _alike(ours: Iterable[Message], theirs: Iterable[Message]) -> int:
    """Return how many first ones are the very same objects."""
    return sum(1 for _ in takewhile(truth, map(is_, ours, theirs)))


def as_history(messages: Sequence[Message]) -> History:
    """Return what a hook handed back as a history; its own object costs nothing."""
    return messages if isinstance(messages, History) else History(messages)
