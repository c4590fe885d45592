"""A subject's own words, and dice that fall the same way on every Python."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

T = TypeVar("T")

NEUTRAL_NAMES: Final = ("search", "fetch", "delete")
NEUTRAL_TEXTS: Final = ("ok", "one two", "Zwei Wörter", "end\n", "[x")
NEUTRAL_NUMBERS: Final = (1, 3)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression of the subject and its flags, as ``re`` counts them."""

    regex: str
    flags: int = 0

    def compiled(self) -> re.Pattern[str]:
        """Return it as ``re`` has it; it was seen to compile when it was harvested."""
        return re.compile(self.regex, self.flags)


@dataclass(frozen=True, slots=True)
class Words:
    """What a subject's source holds: texts, names as tools have, patterns, numbers.

    Names stand in the order in which they matter: those that are compared or collected
    first. Source: verdicts, Worlds and corpora.
    """

    texts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def some_names(self) -> tuple[str, ...]:
        """The names, or neutral ones if there are none."""
        return self.names or NEUTRAL_NAMES

    @property
    def some_texts(self) -> tuple[str, ...]:
        """The texts and the neutral ones."""
        return tuple(dict.fromkeys((*self.texts, *NEUTRAL_TEXTS)))

    @property
    def some_numbers(self) -> tuple[int, ...]:
        """The numbers and the neutral ones, in order."""
        return tuple(sorted({*self.numbers, *NEUTRAL_NUMBERS}))


class Dice:
    """Choices by a seed, the same ones everywhere.

    Only ``Random.random`` is used, since it alone is promised to give the same numbers
    on every Python.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311  # it has to be repeatable

    def below(self, end: int) -> int:
        """Return a number from 0 up to ``end``, which is left out."""
        return int(self._random.random() * end)

    def pick(self, some: Sequence[T]) -> T:
        """Return one of them."""
        return some[self.below(len(some))]

    def chance(self, of: int) -> bool:
        """Tell whether one of so many equal chances came true."""
        return self.below(of) == 0

    def shuffled(self, some: Sequence[T]) -> list[T]:
        """Return them in another order."""
        left = list(some)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]
