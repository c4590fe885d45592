"""A verdict that holds is given its sharpness, and what is unnoticed is searched for.

a verdict that holds → small changes of NEW → a search near the unnoticed ones
→ found worlds, judged → the unnoticed ones once more, in those
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from compat.migration.joining import Vocabulary, further
from compat.migration.judging import MigrationJudge, Terms
from compat.migration.sessions import UNSTEADY
from compat.migration.sharpness import SharpnessMeter, SharpnessTerms
from compat.migration.subject_runner import CheckOptions, SubjectRunner
from compat.verdicts.migration import Migration
from compat.verdicts.relations import channels_of
from refengine.testing.scenario import Scenario

SHARE: Final = 4
"""One of so many plays of a search is kept for what small changes leave unnoticed."""


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
    said: Vocabulary | None,
) -> Migration:
    """Return the verdict with its sharpness, or a divergence that was found by it.

    A verdict that does not hold is returned as it is. Raises PlayError.
    """
    if not how.sharpness_plays or not holds(verdict):
        return verdict
    first = _ordinary(judge, terms)
    shaped = replace(terms, by_door=judge.by_shape)
    meter = SharpnessMeter(new, first, _terms(shaped, how, verdict), how.progress)
    found = meter.measure(judge.old.files.files.values(), how.sharpness_plays)
    near = [(each.file, each.line) for each in found.unnoticed if not each.reason]
    verdict = replace(verdict, sharpness=found)
    if said is None or not near:
        return verdict
    rest = replace(how, search_plays=how.search_plays - plays_before(how))
    again = further(judge, new, verdict, terms, rest, said, near)
    if not holds(again):
        return again
    more = _ordinary(judge, terms)[len(first) :]
    if more:
        found = meter.further(more, how.sharpness_plays - found.plays)
    return replace(again, sharpness=found)


def holds(verdict: Migration) -> bool:
    """Tell whether there is a verdict whose sharpness can be asked for."""
    spoiled = verdict.fault or verdict.noise or verdict.idle or verdict.broken
    return verdict.sufficient and not spoiled


def _ordinary(judge: MigrationJudge[SubjectRunner], terms: Terms) -> Sequence[Scenario]:
    """Return the worlds that count; those that joined the corpus are the last."""
    every = judge.corpus.worlds
    counted = (each for each in every if terms.everywhere or each.unusual is None)
    return [each.scenario for each in counted]


def _terms(terms: Terms, how: CheckOptions, verdict: Migration) -> SharpnessTerms:
    channels, masks = channels_of(terms.required), terms.masks
    if verdict.of_graphs:
        channels = tuple(each for each in channels if each not in UNSTEADY)
    return SharpnessTerms(channels, masks, terms.marks, how.min_sharpness)
