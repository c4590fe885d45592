"""What a mutant is."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from refengine.profile import Profile
from refengine.testing import Engine
from refengine.testing.doors import ReferenceEngine

Door: TypeAlias = Callable[[Profile], Engine]

OWN: Final = "own"
"""The source of a mutant that no seed suggests."""


class UnknownMutantError(LookupError):
    """There is no mutant of that id."""

    def __init__(self, id_: str, known: tuple[str, ...]) -> None:
        self.id = id_
        self.known = known
        self.close = tuple(difflib.get_close_matches(id_, known))
        near = f"did you mean {', '.join(self.close)}?" if self.close else ""
        hint = near or "'refengine mutant list' shows all"
        super().__init__(f"no mutant {id_!r}; {hint}")


class DuplicateMutantError(ValueError):
    """Two mutants have one id; says what is wrong with each, to tell them apart."""

    def __init__(self, first: Mutant, second: Mutant) -> None:
        self.id = first.id
        super().__init__(
            f"two mutants have the id {first.id!r}: {first.about!r} and"
            f" {second.about!r}; give one of them another id"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A small broken engine, chain or adapter, and the right one beside it.

    ``about`` says in one sentence what is wrong with it. ``source`` is where the fault
    stands ("seed 001 §4.1", with ``quote``), or "own". ``violates`` are the clauses of
    the contract, one of which at least has to kill it. ``worlds`` are the choices of
    ``scenarios`` under which its witness is searched for, None if it has none;
    ``under`` is the profile of both sides. ``says`` is the sentence that it breaks if
    no clause has that alone; ``violates`` are the nearest ones then.
    """

    id: str
    about: str
    source: str = OWN
    violates: tuple[str, ...]
    wrong: Door
    right: Door = ReferenceEngine
    worlds: Mapping[str, bool | int] | None = None
    quote: str = ""
    under: str = "seed-001"
    says: str = ""

    @property
    def is_own(self) -> bool:
        """Whether no seed suggests it."""
        return self.source == OWN
