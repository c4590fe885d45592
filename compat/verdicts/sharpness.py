"""Sharpness: which small changes of a side's own code its worlds would have noticed.

Source: verdicts, Sharpness. Counted in changes and plays, never in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EquivalentMark:
    """A change that the settings declare equivalent, pinned to its line's text.

    Or a branch that they declare out of reach, which ``change`` then names.
    """

    file: str
    line: str
    change: str
    reason: str

    @property
    def pin(self) -> str:
        """What it marks, in one line."""
        return pinned(self.file, self.line, self.change)


@dataclass(frozen=True, slots=True)
class Unnoticed:
    """A change that no world noticed: where it is, and what would notice it.

    ``source`` is the line's text and ``change`` what becomes of what; both together pin
    a mark in the settings. ``worlds`` is how many reach the line, ``played`` in how
    many of them it was played. ``reason`` is why it is marked as equivalent, None if it
    is not.
    """

    file: str
    line: int
    source: str
    operator: str
    change: str
    needs: str
    worlds: int
    played: int
    reason: str | None = None

    @property
    def pin(self) -> str:
        """What a mark names it by, in one line."""
        return pinned(self.file, self.source, self.change)


@dataclass(frozen=True, slots=True)
class Sharpness:
    """What came of all small changes; ``refused`` says why none was played, if so.

    ``tried`` are those that came to an end within the plays, ``untried`` the others.
    ``stale`` are marks that no unnoticed change needs. Of ``remembered`` ones it was
    known from an earlier check what comes of them.
    """

    tried: int = 0
    noticed: int = 0
    unnoticed: Sequence[Unnoticed] = ()
    untried: int = 0
    plays: int = 0
    stale: Sequence[str] = ()
    refused: str | None = None
    least: float = 0.0
    remembered: int = 0

    @property
    def enough(self) -> bool:
        """Whether as many percent were noticed as had to be (``least``)."""
        sharp = self.tried > 0 and self.percent >= self.least
        return not self.least or self.empty or sharp

    @property
    def empty(self) -> bool:
        """Whether there is nothing to change in what is the side's own."""
        return not self.tried and not self.untried and self.refused is None

    @property
    def marked(self) -> Sequence[Unnoticed]:
        """The unnoticed changes that are marked as equivalent."""
        return [each for each in self.unnoticed if each.reason is not None]

    @property
    def raw(self) -> float:
        """How many percent of the changes were noticed; 0 if none was tried."""
        return _percent(self.noticed, self.tried)

    @property
    def percent(self) -> float:
        """The same without those that are marked as equivalent."""
        return _percent(self.noticed, self.tried - len(self.marked))


def pinned(file: str, line: str, what: str) -> str:
    """Return how a change or a branch is named, by the text of its line."""
    return f"{file}, {line!r}: {what}"


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
