"""What a search found joins the corpus, and is judged there as all worlds are.

    a verdict that holds → search → found worlds, judged → one verdict of both

A search is not a judge: it only says which worlds are worth it.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass, replace

from compat.migration.changing import Line
from compat.migration.comparing import by_channel
from compat.migration.differing import broken
from compat.migration.judging import MigrationJudge, Terms
from compat.migration.replies import SidePlayed
from compat.migration.searching import FoundWorlds, SearchPlan, search
from compat.migration.subject_runner import CheckOptions, SubjectRunner
from compat.verdicts.migration import Migration, Searched
from compat.verdicts.relations import channels_of
from refengine.testing.scenario import Scenario
from refengine.testing.subject_worlds.fits import WorldFit
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.words import Words


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of both sides: what a search puts into worlds."""

    words: Words
    graphs: GraphWords | None = None
    fit: WorldFit | None = None


def further(  # noqa: PLR0913, PLR0917  # what is judged, by what, and where
    judge: MigrationJudge[SubjectRunner],
    new: SubjectRunner,
    verdict: Migration,
    terms: Terms,
    how: CheckOptions,
    said: Vocabulary,
    first: Collection[Line] = (),
) -> Migration:
    """Return the verdict with what a search found; the same one if it may not search.

    What diverges already, or cannot be compared, needs no search. Files and lines that
    are ``first`` are looked at before others. Raises PlayError.
    """
    if not how.search_plays or verdict.noise or not verdict.sufficient:
        return verdict
    done = verdict.searched or Searched(0, 0)
    found = _searched(judge, new, terms, how, said, first)
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
    new: SubjectRunner,
    terms: Terms,
    how: CheckOptions,
    said: Vocabulary,
    first: Collection[Line],
) -> FoundWorlds:
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
    with closing(judge.old.watched()) as old, closing(new.watched()) as other:
        return search(old, other, worlds, plan)
