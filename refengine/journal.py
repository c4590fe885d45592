"""The journal of a run: what its entries share, and what they are answered.

Only agents that keep their runs have one; for all others nothing here is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from refengine.checkpoint import Address, Entry, Pending, pending_in
from refengine.place import Place

if TYPE_CHECKING:
    from refengine.messages import Json
    from refengine.values import Types

_ALL: Final = None
"""Answers of who resumes without any: everything that waits is entered again."""


class Journal:
    """What all entries of one run share.

    ``answers`` are those of who resumed the run, by the text of an address.
    """

    __slots__ = (
        "_asked",
        "answers",
        "iteration",
        "raises_again",
        "resumed",
        "run_path",
        "types",
    )

    def __init__(
        self, run_path: tuple[str, ...], types: Types, *, raises_again: bool
    ) -> None:
        self.run_path = run_path
        self.types = types
        self.raises_again = raises_again
        self.iteration = 0
        self.resumed = False
        self.answers: Mapping[str, Json] | None = _ALL
        self._asked: set[Address] = set()

    def asks(self, address: Address) -> Address:
        """Return the address, made another one if something waits under it already."""
        while address in self._asked:
            address = replace(address, ordinal=address.ordinal + 1)
        self._asked.add(address)
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

    def answered(self, waiting: Pending | None) -> tuple[Json, ...]:
        """Return the answer to what an entry waits for, if it was given one."""
        if waiting is None or not self.resumed:
            return ()
        if self.answers is None:
            return (None,)
        given = str(waiting.address)
        return (self.answers[given],) if given in self.answers else ()

    def goes_on(self, entry: Entry) -> bool:
        """Tell whether an interrupted call is entered again, or waits further."""
        if self.answers is None:
            return True
        waiting = [each.address for each in pending_in(entry)]
        if not waiting or any(str(each) in self.answers for each in waiting):
            return True
        self._asked.update(waiting)
        return False
