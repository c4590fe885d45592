"""One check of NEW against recordings of OLD.

files → sessions → NEW played in each → both as the recording shows → judge
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from compat.migration.corpus import Corpus, MigrationWorld
from compat.migration.described import kind_of
from compat.migration.judge import MigrationJudge, Terms
from compat.migration.pairs import (
    PlayError,
    Progress,
    SidePair,
    SideRunner,
    by_turns,
    silent,
)
from compat.migration.recorded.sides import (
    NewRunner,
    RecordedSessions,
    RecordedSide,
    ShownSide,
    anew_shown,
)
from compat.migration.refs import PYTHON, RefError, SubjectRef
from compat.migration.subject_runner import CheckOptions, SubjectRunner
from compat.migration.surroundings import versions
from compat.models.recordings import SHOWN, RecordingFile, SeenSession
from compat.verdicts.migration import Migration, RecordedBasis
from compat.verdicts.relations import DEFAULT_RELATION, channels_of, strength

FAMILY: Final = "recorded"
NOT_SHOWN: Final = (
    "what NEW takes from world.instruction and world.tools, which are OLD's",
    "settings of requests, and tools but by name",
    "what tools gave, but as OLD sent it on",
    "arguments that OLD changed, and calls that it answered itself",
    "streams, effects and what is kept",
)
"""What no recording shows, whatever its kind."""


def recorded_corpus(sessions: Sequence[SeenSession]) -> Corpus:
    """Return the worlds of recorded sessions; no other world is of their kind."""
    worlds = [MigrationWorld(each.scenario, FAMILY, fixed=True) for each in sessions]
    known = {id(each.scenario) for each in sessions}
    return Corpus(tuple(worlds), 0, fits=lambda world: id(world) in known)


def refuse_unfit_for_recordings(new: SubjectRef, terms: Terms) -> None:
    """Raise RefError for what cannot be judged by a recording."""
    if new.language != PYTHON:
        raise RefError(
            f"{new} is in {new.language}: recorded sessions are played with sides in"
            " Python only"
        )
    if strength(terms.required) > strength(DEFAULT_RELATION):
        raise RefError(
            f"--require {terms.required} asks for more than any recording shows:"
            f" {DEFAULT_RELATION} is the strongest"
        )


def check_recorded(
    files: Sequence[RecordingFile], new: SubjectRef, terms: Terms, how: CheckOptions
) -> Migration:
    """Judge NEW against recordings; what cannot be played stands in the verdict.

    Raises RefError.
    """
    refuse_unfit_for_recordings(new, terms)
    found = judge_recorded(files, SubjectRunner(new, "new", how), terms, how.progress)
    return replace(found, versions=versions(new, new))


def judge_recorded(
    files: Sequence[RecordingFile],
    new: NewRunner,
    terms: Terms,
    progress: Progress = silent,
) -> Migration:
    """Return the verdict on NEW, which is closed after it."""
    # A world of an allowance is not one that OLD was recorded in.
    masks = (*terms.volatile, *(mask for each in terms.allowed for mask in each.masks))
    terms = replace(terms, volatile=masks, allowed=())
    sessions = [each for file in files for each in file.sessions]
    known, corpus = RecordedSessions(sessions), recorded_corpus(sessions)
    old = RecordedSide(", ".join(each.name for each in files), known)
    side = ShownSide(new, known)
    judge = MigrationJudge[SideRunner](old, corpus, anew_shown, progress)
    try:
        verdict = judge.judge(side, terms)
        verdict = _shortened(verdict, old, side, known, terms)
    except PlayError as error:
        worlds = len(corpus.worlds)
        verdict = Migration(terms.required, worlds, corpus.digest, fault=error.fault)
    finally:
        judge.close()
        side.close()
    reworded = side.reworded & {id(each.scenario) for each in sessions}
    basis = _basis(files, len(reworded))
    return replace(verdict, holds=_held(verdict.holds), recorded=basis)


def _held(holds: str | None) -> str | None:
    """Return what may be claimed: nothing is known of what no recording shows."""
    if holds is None or strength(holds) <= strength(DEFAULT_RELATION):
        return holds
    return DEFAULT_RELATION


def _basis(files: Sequence[RecordingFile], reworded: int) -> RecordedBasis:
    kinds = dict.fromkeys(each.kind for each in files)
    shown = dict.fromkeys(what for kind in kinds for what in SHOWN[kind])
    alone = tuple(
        f"{what} ({kind})"
        for what in dict.fromkeys(each for kind in SHOWN for each in SHOWN[kind])
        for kind in kinds
        if what not in SHOWN[kind]
    )
    if not all(each.tells_tools for file in files for each in file.sessions):
        alone += ("tools of requests that do not name any",)
    return RecordedBasis(
        sum(len(each.sessions) for each in files),
        tuple(shown),
        (*alone, *NOT_SHOWN),
        reworded,
    )


def _shortened(
    verdict: Migration,
    old: RecordedSide,
    new: ShownSide,
    known: RecordedSessions,
    terms: Terms,
) -> Migration:
    """Return the verdict with the shortest beginning of its session that shows it."""
    if verdict.divergence is None or verdict.world is None:
        return verdict
    whole = known.of(verdict.world)
    channels = channels_of(terms.required)
    pair = SidePair((old, new), (old, new), terms.masks, channels, by_turns)
    kind = kind_of(verdict.divergence)
    for calls in range(1, whole.calls):
        part = whole.prefix(calls)
        known.add(part)
        if pair.shows(part.scenario, [kind]):
            _, found = pair.explained(part.scenario, ())
            return replace(verdict, world=part.scenario, divergence=found)
    return verdict
