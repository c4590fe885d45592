"""A verdict that holds: what its worlds did not notice is looked for, and joins them.

    a verdict that holds → search → found worlds, judged → one verdict of both
    → small changes of both sides → a search near the unnoticed ones → found worlds,
    judged → the unnoticed ones once more, in those

A search is not a judge: it only says which worlds are worth it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Final, TypeAlias

from compat.migration.differences import broken
from compat.migration.judge import MigrationJudge, Terms
from compat.migration.own_code import OwnCode
from compat.migration.pairs import by_channel
from compat.migration.remembered import ChangeMemory
from compat.migration.replies import SidePlayed
from compat.migration.search import (
    FoundWorlds,
    SearchedSides,
    SearchPlan,
    SideLine,
    search,
)
from compat.migration.sessions import UNSTEADY, WAITS
from compat.migration.sharpness import SharpnessMeter, SharpnessTerms
from compat.migration.subject_runner import CheckOptions, SubjectRunner
from compat.migration.words import Vocabulary
from compat.verdicts.migration import SIDES, Migration, Searched
from compat.verdicts.relations import channels_of
from compat.verdicts.sharpness import EquivalentMark, Sharpness
from refengine.testing.scenario import Scenario

BothMeters: TypeAlias = tuple[SharpnessMeter, SharpnessMeter]
BothSharp: TypeAlias = tuple[Sharpness, Sharpness]
"""Of OLD, and of NEW."""

SHARE: Final = 4
"""One of so many plays of a search is kept for what small changes leave unnoticed."""


class Searching:
    """What the searches of one check share: words, and sides opened for the first."""

    def __init__(
        self, said: Vocabulary, old: SubjectRunner, new: SubjectRunner
    ) -> None:
        self.said = said
        self._sides = old, new
        self._open = ExitStack()
        self._watched: SearchedSides | None = None

    @property
    def watched(self) -> SearchedSides:
        """Both sides in processes that tell what they compare; raises RefError."""
        if self._watched is None:
            old, new = (
                self._open.enter_context(closing(each.watched()))
                for each in self._sides
            )
            self._watched = SearchedSides(old, new)
        return self._watched

    def close(self) -> None:
        """End these processes."""
        self._open.close()


def further(  # noqa: PLR0913, PLR0917  # what is judged, by what, and where
    judge: MigrationJudge[SubjectRunner],
    new: SubjectRunner,
    verdict: Migration,
    terms: Terms,
    how: CheckOptions,
    searching: Searching,
    first: Collection[SideLine] = (),
) -> Migration:
    """Return the verdict with what a search found; the same one if it may not search.

    What diverges already, or cannot be compared, needs no search. Lines of sides that
    are ``first`` are looked at before others. Raises PlayError.
    """
    if not how.search_plays or verdict.noise or not verdict.sufficient:
        return verdict
    done = verdict.searched or Searched(0, 0)
    found = _searched(judge, terms, how, searching, first)
    corpus = judge.corpus
    if found.worlds:
        # Each is played once more, as a user plays it: without probes.
        worlds = (*corpus.worlds, *found.worlds)
        judge.corpus = replace(corpus, worlds=worlds)
        verdict = judge.judge(new, terms)
    plays, joined = done.plays + found.plays, done.joined + len(found.worlds)
    return replace(verdict, searched=Searched(plays, joined))


def _searched(
    judge: MigrationJudge[SubjectRunner],
    terms: Terms,
    how: CheckOptions,
    searching: Searching,
    first: Collection[SideLine],
) -> FoundWorlds:
    said = searching.said
    masks = (*terms.masks, *judge.by_shape)
    channels = channels_of(terms.required)

    def differ(one: SidePlayed, other: SidePlayed) -> bool:
        return bool(broken(by_channel(one), by_channel(other), channels, masks))

    def fits(world: Scenario) -> bool:
        return judge.corpus.unusual(world) is None and (
            judge.corpus.fits is None or judge.corpus.fits(world)
        )

    plan = SearchPlan(
        said.words,
        said.graphs,
        differ,
        how.search_plays,
        judge.corpus.seed,
        first,
        fits=fits,
        progress=how.progress,
        fit=said.fit,
    )
    worlds = [
        each.scenario
        for each in judge.corpus.worlds
        if each.scenario.hand_over is None  # OLD would keep each one that is made of it
    ]
    return search(searching.watched, worlds, plan)


def plays_before(how: CheckOptions) -> int:
    """Return how many plays a search has before it is known what is unnoticed."""
    kept = how.search_plays // SHARE if how.sharpness_plays else 0
    return how.search_plays - kept


def sharpened(
    judge: MigrationJudge[SubjectRunner],
    new: SubjectRunner,
    verdict: Migration,
    terms: Terms,
    how: CheckOptions,
    searching: Searching | None,
) -> Migration:
    """Return the verdict with its sharpness, or a divergence that was found by it.

    A verdict that does not hold is returned as it is. Raises PlayError.
    """
    if not how.sharpness_plays or not holds(verdict):
        return verdict
    first = _ordinary(judge, terms)
    shaped = _terms(replace(terms, by_door=judge.by_shape), how, verdict)
    meters = _meters((judge.old, new), first, shaped, how)
    found = _measured(meters, OwnCode.of(judge.old.files, new.files), how)
    near = [
        (side, each.file, each.line)
        for side, some in zip(SIDES, found, strict=True)
        for each in some.unnoticed
        if not each.reason
    ]
    if searching is None or not near:
        return _with(verdict, found)
    rest = replace(how, search_plays=how.search_plays - plays_before(how))
    again = further(judge, new, _with(verdict, found), terms, rest, searching, near)
    if not holds(again):
        return _with(again, found)
    more = _ordinary(judge, terms)[len(first) :]
    return _with(again, _further(meters, found, more, how) if more else found)


def _meters(
    sides: tuple[SubjectRunner, SubjectRunner],
    first: Sequence[Scenario],
    terms: SharpnessTerms,
    how: CheckOptions,
) -> BothMeters:
    """Return what measures each side, with what is remembered of its changes."""
    pair = " ".join(each.exercise.subject for each in sides)
    memories = (
        ChangeMemory.of(
            f"{side} of {pair}", repr((each.tools, terms.channels, terms.masks))
        )
        for side, each in zip(SIDES, sides, strict=True)
    )
    old, new = (
        SharpnessMeter(each, first, terms, how.progress, memory)
        for each, memory in zip(sides, memories, strict=True)
    )
    return old, new


def _measured(meters: BothMeters, own: OwnCode, how: CheckOptions) -> BothSharp:
    """Return how sharp the worlds are for both sides.

    OLD has a share of the plays, and NEW all that are left of them.
    """
    plays = how.sharpness_plays
    ours = meters[0].measure((), plays // 2, own.is_old)
    known = own.old.files.files.values()
    return ours, meters[1].measure(known, plays - ours.plays, own.is_new)


def _further(
    meters: BothMeters, found: BothSharp, more: Sequence[Scenario], how: CheckOptions
) -> BothSharp:
    """Return the same in more worlds, as far as plays are left; NEW has them first."""
    left = how.sharpness_plays - sum(each.plays for each in found)
    theirs = meters[1].further(more, left)
    left -= theirs.plays - found[1].plays
    return meters[0].further(more, left), theirs


def _with(verdict: Migration, found: BothSharp) -> Migration:
    """Return the verdict with how sharp it is.

    A mark is stale if neither side needs it: files of both may have one name.
    """
    used = {each.pin for some in found for each in some.marked}
    old, new = (
        replace(some, stale=tuple(each for each in some.stale if each not in used))
        for some in found
    )
    return replace(verdict, sharpness_old=old, sharpness=new)


def with_marks(
    verdict: Migration,
    sides: tuple[SubjectRunner, SubjectRunner],
    marks: Sequence[EquivalentMark],
) -> Migration:
    """Return the verdict without those branches not taken that are marked.

    What marks such a branch is no mark that nothing needs.
    """
    reasons = {each.pin: each.reason for each in marks}
    exercise, used = dict(verdict.exercise), set[str]()
    for side, runner in zip(SIDES, sides, strict=True) if marks else ():
        ran, pins = exercise[side], runner.branch_pins
        found = {arm: pins[arm] for arm in ran.uncovered if pins.get(arm) in reasons}
        used |= {*found.values()}
        left = tuple(arm for arm in ran.uncovered if arm not in found)
        marked = {arm: reasons[pin] for arm, pin in found.items()}
        exercise[side] = replace(ran, uncovered=left, marked=marked)
    old, new = (
        each and replace(each, stale=tuple(p for p in each.stale if p not in used))
        for each in (verdict.sharpness_old, verdict.sharpness)
    )
    return replace(verdict, exercise=exercise, sharpness_old=old, sharpness=new)


def holds(verdict: Migration) -> bool:
    """Tell whether there is a verdict whose sharpness can be asked for."""
    spoiled = (
        *(verdict.fault, verdict.noise, verdict.idle),
        *(verdict.broken, verdict.crashed),
    )
    return verdict.sufficient and not any(spoiled)


def _ordinary(judge: MigrationJudge[SubjectRunner], terms: Terms) -> Sequence[Scenario]:
    """Return the worlds that count; those that joined the corpus are the last."""
    both = zip(judge.corpus.worlds, judge.sessions.played, strict=True)
    return [
        each.scenario
        for each, old in both
        if (terms.everywhere or each.unusual is None) and old.refused is None
    ]


def _terms(terms: Terms, how: CheckOptions, verdict: Migration) -> SharpnessTerms:
    channels, masks = channels_of(terms.required), terms.masks
    if verdict.of_graphs:
        channels = tuple(each for each in channels if each not in UNSTEADY)
    # Where sides agree about how long runs take, no pause of theirs is random.
    agreed = () if verdict.holds is None else channels_of(verdict.holds)
    if WAITS in agreed and WAITS not in channels:
        channels = (*channels, WAITS)
    return SharpnessTerms(channels, masks, terms.marks, how.min_sharpness)
