"""Weakness: what keeps a verdict that holds from standing alone.

    a verdict that holds → what its worlds did not notice, the most telling first

It stands alone only where every branch of both sides was taken, every point that
concerns the sides was played, and the worlds notice most small changes of each side
(verdicts, Headline). A branch that cannot be taken has no probe, so it counts nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Final

from compat.verdicts.migration import SIDES, Exercise, Migration, Side
from compat.verdicts.sharpness import Sharpness, Unnoticed

SHARP: Final = 90.0
"""So many percent of the small changes of each side have to be noticed."""
TOLD: Final = 2
"""So many things a headline tells."""
NOT_PLAYED: Final = "no small change of either side was played"
PLAYING: Final = "--strict or --sharpness-plays N"
OWN: Final = "sessions of your own, --worlds; small changes are made in Python alone"
OTHERS: Final = (".go", ".ts")
"""How files of sides end that are not in Python."""
A_PLAY: Final = "more plays of small changes"
TELLING: Final = (
    *("statement", "comparison", "not", "and/or", "await"),
    *("fold", "argument", "swap", "constant"),
)
"""Kinds of small changes: what is done at all before what is said."""


@dataclass(frozen=True, slots=True)
class Weakness:
    """One thing that no world noticed, and what would notice it."""

    what: str
    needs: str
    line: str = ""
    """The text of the line that it is about, which may stand on both sides."""

    @property
    def stands(self) -> tuple[str, str]:
        """What two sides have in common that have it both."""
        return self.line or self.what, self.needs


def is_weak(verdict: Migration) -> bool:
    """Tell whether a verdict holds, and does not stand alone.

    One that rests on a recording says itself what that is.
    """
    if verdict.recorded is not None:
        return False
    return verdict.sufficient and any(True for _ in weaknesses(verdict))


def most_telling(verdict: Migration) -> Sequence[Weakness]:
    """Return the two things that say most of what the worlds did not notice."""
    return [*islice(weaknesses(verdict), TOLD)]


def weaknesses(verdict: Migration) -> Iterator[Weakness]:
    """Yield what keeps it from standing alone: one thing of each kind, then others.

    Points where the engines differ come first, then branches and small changes, those
    of OLD before those of NEW. What stands on both sides is one thing, of OLD.
    """
    for each in verdict.unplayed:
        yield Weakness(f"the point {each.id} was not played", "one of its worlds")
    branches = [
        [
            _untaken(side, each)
            for each in sorted(_uncovered(verdict, side), key=_says_little)
        ]
        for side in SIDES
    ]
    changes = [[*_unsharp(side, each)] for side, each in verdict.sharp_sides]
    found = chain.from_iterable(zip_longest(*branches, *changes))
    told: set[tuple[str, str]] = set()
    for thing in found:
        if thing is not None and thing.stands not in told:
            told.add(thing.stands)
            yield thing
    if not verdict.sharp_sides:
        files = (each.subject.partition(":")[0] for each in verdict.exercise.values())
        others = any(each.endswith(OTHERS) for each in files)
        yield Weakness(NOT_PLAYED, OWN if others else PLAYING)


def _uncovered(verdict: Migration, side: Side) -> Sequence[str]:
    return verdict.exercise.get(side, Exercise("", {})).uncovered


def _says_little(arm: str) -> bool:
    """Tell whether a branch is seldom one that a world could take.

    It looks at a type, as what is for type checkers does, or passes by a loop over a
    range, which is mostly one of at least 1.
    """
    passes_by = " in range(" in arm and arm.endswith(": not entered")
    return "isinstance(" in arm or passes_by


def _untaken(side: Side, arm: str) -> Weakness:
    """Return the weakness of a branch, as ``old.py, line 3: if x: true`` names it."""
    where, _, text = arm.partition(", line ")
    line, _, branch = text.partition(": ")
    test, _, way = branch.rpartition(": ")
    return Weakness(
        f"{side.upper()} {where}:{line}: {branch} was taken by no world",
        f"a world in which {_asked(test)} is {way}"
        if way in {"true", "false"}
        else "a world that goes there",
        branch,
    )


def _asked(test: str) -> str:
    """Return what a branch asks; one that was cut short stands before it once."""
    asked = _condition(test)
    return "that" if asked.endswith("…") else asked


def _condition(test: str) -> str:
    """Return what a branch asks, without the word before it."""
    for word in ("if ", "elif ", "… if ", "for … if "):
        test = test.removeprefix(word)
    return test.removesuffix(" and …").removesuffix(" or …")


def _unsharp(side: Side, found: Sharpness) -> Iterator[Weakness]:
    """Yield what was not noticed of a side, if that is too much."""
    if found.refused is not None:
        yield Weakness(
            f"no small change of {side.upper()} was played",
            f"other code: {found.refused}",
        )
    if not found.tried and found.untried:
        yield Weakness(f"no small change of {side.upper()} was played", A_PLAY)
    if found.percent >= SHARP:
        return
    # Where a world comes by and sees nothing, that says more than where none does.
    ranked = sorted(
        (each for each in found.unnoticed if each.reason is None),
        key=lambda each: (not each.worlds, TELLING.index(each.operator)),
    )
    for each in ranked:
        what = f"{side.upper()} {_changed(each)} was not noticed"
        yield Weakness(what, each.needs, f"{each.source}: {each.change}")


def _changed(each: Unnoticed) -> str:
    return f"{each.file}:{each.line}: {each.change}"
