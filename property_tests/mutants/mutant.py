"""What a mutant is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from refengine.profile import Profile
from refengine.testing import Engine

Door: TypeAlias = Callable[[Profile], Engine]

OWN: Final = "own"
"""The source of a mutant that no seed suggests."""


class UnknownMutantError(LookupError):
    """There is no mutant of that id."""

    def __init__(self, id_: str, known: tuple[str, ...]) -> None:
        self.id = id_
        self.known = known
        super().__init__(f"no mutant {id_!r}: there are {', '.join(known)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A small broken engine or adapter, and the right one beside it.

    ``about`` says in one sentence what is wrong with it. ``source`` is where the fault
    stands ("seed 001 §4.1", with ``quote``), or "own". ``violates`` are families of the
    contract. ``worlds`` are the choices of ``scenarios`` under which it is searched
    for, ``under`` the profile of both sides.
    """

    id: str
    about: str
    source: str
    violates: tuple[str, ...]
    right: Door
    wrong: Door
    worlds: Mapping[str, bool | int]
    quote: str = ""
    under: str = "seed-001"

    @property
    def is_own(self) -> bool:
        """Whether no seed suggests it."""
        return self.source == OWN
