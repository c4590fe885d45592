"""Onions, read from what was entered and left around a call.

Nobody says that a layer raised: it has no exit, and those around it go on or have none
either. What is entered anew (``next`` called twice) takes the place of what raised.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from property_tests.checks.positions import place_in
from refengine.testing.trace import Observation


@dataclass(frozen=True, slots=True)
class Reached:
    """The layers that were open, outermost first, when the innermost was reached.

    ``whole`` is False if it never was: then these are the layers that were entered.
    """

    at: Observation
    open: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Left:
    """A layer that was left, and the innermost one that was open then."""

    at: Observation
    layer: str
    innermost: str | None


@dataclass(slots=True)
class _Frame:
    layer: str
    returns: bool


@dataclass(frozen=True, slots=True)
class Onion:
    """What an onion was seen to do in one call."""

    reached: tuple[Reached, ...]
    left: tuple[Left, ...]


def onion(entries: Sequence[Observation], layers: Collection[str], leaf: str) -> Onion:
    """Read an onion of these layers around observations of the kind ``leaf``."""
    reader = _Reader(_returning(entries))
    for each in entries:
        if each.kind == leaf:
            reader.reach(each)
        elif each.kind in {"hook_enter", "hook_exit"} and place_in(each) in layers:
            reader.take(each)
    return reader.onion()


def _returning(entries: Sequence[Observation]) -> set[int]:
    """Return the sequence numbers of the entries into layers that are left again."""
    open_: dict[str, list[int]] = {}
    found: set[int] = set()
    for each in entries:
        if each.kind == "hook_enter":
            open_.setdefault(place_in(each), []).append(each.seq)
        elif each.kind == "hook_exit" and open_.get(place_in(each)):
            found.add(open_[place_in(each)].pop())
    return found


class _Reader:
    def __init__(self, returning: Collection[int]) -> None:
        self._returning = returning
        self._stack: list[_Frame] = []
        self._deepest: Reached | None = None
        self._reached: list[Reached] = []
        self._left: list[Left] = []

    def take(self, seen: Observation) -> None:
        if seen.kind == "hook_enter":
            self._enter(seen, place_in(seen))
        else:
            self._exit(seen, place_in(seen))

    def reach(self, seen: Observation) -> None:
        self._reached.append(Reached(seen, self._open(), whole=True))

    def onion(self) -> Onion:
        deepest = () if self._deepest is None else (self._deepest,)
        return Onion(tuple(self._reached) or deepest, tuple(self._left))

    def _open(self) -> tuple[str, ...]:
        return tuple(frame.layer for frame in self._stack)

    def _enter(self, seen: Observation, layer: str) -> None:
        again = [at for at, each in enumerate(self._stack) if each.layer == layer]
        if again and not any(each.returns for each in self._stack[again[-1] :]):
            del self._stack[again[-1] :]
        self._stack.append(_Frame(layer, seen.seq in self._returning))
        if self._deepest is None or len(self._stack) > len(self._deepest.open):
            self._deepest = Reached(seen, self._open(), whole=False)

    def _exit(self, seen: Observation, layer: str) -> None:
        while self._stack and not self._stack[-1].returns:
            self._stack.pop()
        innermost = self._stack[-1].layer if self._stack else None
        self._left.append(Left(seen, layer, innermost))
        at = [n for n, each in enumerate(self._stack) if each.layer == layer]
        if at:
            del self._stack[at[-1]]
