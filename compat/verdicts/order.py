"""Verdict types: which extensions of a stack may change places, and which may not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compat.verdicts.migration import FailedSide, Migration


@dataclass(frozen=True, slots=True)
class JudgedOrder:
    """Two extensions of a list, and what changes if ``first`` no longer is.

    OLD of the verdict is the stack as it is, NEW the same with that ``moved``.
    ``meant`` is the reason why the order is declared, "" where it is not.
    """

    place: str
    first: str
    then: str
    moved: str
    verdict: Migration
    meant: str = ""

    @property
    def unclear(self) -> bool:
        """Whether both orders could not be compared."""
        found = self.verdict
        return bool(found.noise) or found.fault is not None or found.nothing_ran

    @property
    def commutes(self) -> bool:
        """Whether all that is required holds with both orders."""
        found = self.verdict
        return found.sufficient and not (self.unclear or found.broken)


@dataclass(frozen=True, slots=True)
class UntriedOrder:
    """Two extensions of a list that were not put in another order, and why."""

    place: str
    first: str
    then: str
    why: str


@dataclass(frozen=True, slots=True)
class UnusedOrder:
    """A declared order that nothing needs, and why."""

    first: str
    then: str
    why: str


@dataclass(frozen=True, slots=True)
class OrderAudit:
    """What an audit of a stack's order says; ``judged`` has the worst first.

    ``lists`` are what was found to put in order, by what each is. ``volatile`` are
    declared fields that differ nowhere. Who was ``interrupted`` would have gone on.
    """

    required: str
    worlds: int
    digest: str
    lists: Sequence[tuple[str, Sequence[str]]] = ()
    judged: Sequence[JudgedOrder] = ()
    untried: Sequence[UntriedOrder] = ()
    unused: Sequence[UnusedOrder] = ()
    volatile: Sequence[str] = ()
    fault: FailedSide | None = None
    interrupted: bool = False

    @property
    def nothing_ran(self) -> bool:
        """Whether no list has two entries, so that there is nothing to exchange."""
        return not self.judged and not self.untried

    @property
    def apart(self) -> Sequence[JudgedOrder]:
        """The pairs that are to be looked at: nobody declared them, or could judge."""
        judged = (each for each in self.judged if not each.commutes)
        return [each for each in judged if each.unclear or not each.meant]
