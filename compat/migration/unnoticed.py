"""A verdict that holds: what its worlds did not notice is looked for, and joins them.

    a verdict that holds → search → found worlds, judged → one verdict of both
    → small changes of NEW → a search near the unnoticed ones → found worlds, judged
    → the unnoticed ones once more, in those

A search is not a judge: it only says which worlds are worth it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Final

from compat.migration.differences import broken
from compat.migration.judge import MigrationJudge, Terms
from compat.migration.pairs import by_channel
from compat.migration.remembered import ChangeMemory
from compat.migration.replies import SidePlayed
from compat.migration.search import FoundWorlds, SearchedSides, SearchPlan, search
from compat.migration.sessions import UNSTEADY
from compat.migration.sharpness import Line, SharpnessMeter, SharpnessTerms
from compat.migration.subject_runner import CheckOptions, SubjectRunner
from compat.migration.words import Vocabulary
from compat.verdicts.migration import Migration, Searched
from compat.verdicts.relations import channels_of
from refengine.testing.scenario import Scenario

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
    first: Collection[Line] = (),
) -> Migration:
    """Return the verdict with what a search found; the same one if it may not search.

    What diverges already, or cannot be compared, needs no search. Files and lines that
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
    first: Collection[Line],
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
    worlds = [each.scenario for each in judge.corpus.worlds]
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
    shaped = replace(terms, by_door=judge.by_shape)
    held_to = _terms(shaped, how, verdict)
    pair = f"{judge.old.exercise.subject} {new.exercise.subject}"
    decides = (new.tools, held_to.channels, held_to.masks)
    memory = ChangeMemory.of(pair, repr(decides))
    meter = SharpnessMeter(new, first, held_to, how.progress, memory)
    found = meter.measure(judge.old.files.files.values(), how.sharpness_plays)
    near = [(each.file, each.line) for each in found.unnoticed if not each.reason]
    verdict = replace(verdict, sharpness=found)
    if searching is None or not near:
        return verdict
    rest = replace(how, search_plays=how.search_plays - plays_before(how))
    again = further(judge, new, verdict, terms, rest, searching, near)
    if not holds(again):
        return again
    more = _ordinary(judge, terms)[len(first) :]
    if more:
        found = meter.further(more, how.sharpness_plays - found.plays)
    return replace(again, sharpness=found)


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
    return SharpnessTerms(channels, masks, terms.marks, how.min_sharpness)
