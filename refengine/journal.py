"""The journal of a run: what its entries share, and what they are answered.

Only agents that keep their runs have one; for all others nothing here is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from refengine.checkpoint import Entry, answered, goes_on
from refengine.interrupts import Address, Pending
from refengine.place import Place

if TYPE_CHECKING:
    from refengine.checkpoint import Saved, TypeRegistry
    from refengine.messages import Json


class Journal:
    """What all entries of one run share."""

    __slots__ = (
        "addresses",
        "answers",
        "iteration",
        "raises_again",
        "run_path",
        "types",
    )

    def __init__(
        self, run_path: tuple[str, ...], types: TypeRegistry, *, raises_again: bool
    ) -> None:
        self.run_path = run_path
        self.types = types
        self.raises_again = raises_again
        self.iteration = 0
        self.answers: Mapping[str, Json] | None = None
        self.addresses: set[Address] = set()

    def asks(self, address: Address) -> Address:
        """Return the address, made another one if something waits under it already."""
        while address in self.addresses:
            address = replace(address, ordinal=address.ordinal + 1)
        self.addresses.add(address)
        return address

    def root(
        self,
        hook: str,
        owner: str,
        old: Entry | None = None,
        *,
        call: tuple[str, str] | None = None,
    ) -> Place:
        """Return the outermost entry of a hook, or of a call ``(tool, call id)``."""
        return Place(self, hook, owner, old, call)

    def go_on(self, saved: Saved, answers: Mapping[str, Json] | None) -> Saved:
        """Return the run with these answers given; None answers all with None.

        What is asked from now on gets no address that was taken already.
        """
        self.answers = answers
        self.addresses.update(saved.point.used)
        if not saved.pending:
            return saved
        self.addresses.update(each.address for each in saved.pending)
        given = self.answered
        entries = tuple(e and answered(e, given) for e in saved.point.entries)
        left = tuple(each for each in saved.pending if not given(each))
        point = replace(saved.point, entries=entries)
        return replace(saved, point=point, pending=left)

    def answered(self, waiting: Pending) -> tuple[Json, ...]:
        """Return the answer to what an entry waits for, if it was given one."""
        if self.answers is None:
            return (None,)
        given = str(waiting.address)
        return (self.answers[given],) if given in self.answers else ()

    def goes_on(self, entry: Entry) -> bool:
        """Tell whether an interrupted call is entered again, or waits further."""
        return goes_on(entry)

    def used(self) -> tuple[Address, ...]:
        """Return the addresses that questions of this iteration have had."""
        now = (each for each in self.addresses if each.iteration == self.iteration)
        return tuple(sorted(now, key=str))

    def copied(self, value: Json) -> Json:
        """Return a value as it would come back: what is kept is nobody's to change."""
        return cast("Json", self.types.unpack(self.types.pack(value)))
