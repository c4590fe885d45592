"""One migration check: references in, verdict out; the children live in between.

    references → words → corpus → two children → judge → verdict → exit code

The corpus is made before a child is started, from the words of both sides' sources,
which are read and never imported here (verdicts, Worlds and corpora).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from compat.migration.corpus import Corpus, OwnWorlds, make_corpus
from compat.migration.judge import MigrationJudge, Terms
from compat.migration.kept_runs import KeptRuns
from compat.migration.known_changes import documented
from compat.migration.options import EVERYWHERE
from compat.migration.pairs import PlayError
from compat.migration.places import with_places
from compat.migration.points_played import point_worlds
from compat.migration.refs import PYTHON, RefError, SubjectRef
from compat.migration.reproducer import SideFiles
from compat.migration.subject_process import prepare
from compat.migration.subject_runner import (
    SEEDS,
    CheckOptions,
    SubjectRunner,
    anew,
    beside,
)
from compat.migration.surroundings import versions
from compat.migration.unnoticed import (
    Searching,
    further,
    plays_before,
    sharpened,
    with_marks,
)
from compat.migration.wire import serving
from compat.migration.words import Vocabulary, all_sources, vocabulary
from compat.verdicts.exit_codes import (
    DIFFERS,
    FAULT,
    INTERRUPTED,
    NOT_COMPARABLE,
    NOTHING_RAN,
    STALE,
    USAGE,
    exit_code,
)
from compat.verdicts.migration import Migration
from compat.verdicts.migration import Side as SideName
from compat.verdicts.weakness import is_weak
from refengine.testing.subject_worlds.code_tokens import SUFFIXES
from refengine.testing.subject_worlds.kit import Data
from refengine.testing.subject_worlds.unusual import Spoken


def code_of(verdict: Migration) -> int:
    """Return the code that wins for this verdict."""
    if verdict.interrupted:
        return INTERRUPTED
    if verdict.fault is not None:
        if verdict.fault.kind == NEVER_ASKED:
            return NOTHING_RAN
        return USAGE if verdict.fault.usage else FAULT
    codes: list[int] = []
    if verdict.noise:
        codes.append(NOT_COMPARABLE)
    elif not verdict.sufficient:
        codes.append(DIFFERS)
    if verdict.idle or verdict.nothing_ran or verdict.crashed:
        codes.append(NOTHING_RAN)
    if not verdict.sharp or (verdict.strict and is_weak(verdict)):
        codes.append(NOTHING_RAN)
    if verdict.broken:
        codes.append(DIFFERS)
    if verdict.stale:
        codes.append(STALE)
    return exit_code(*codes)


NEVER_ASKED: Final = "never-asked"
"""The fault of a program that does not ask its model: there is nothing to see."""
TEXTS_OF_GRAPHS: Final = 20
GIVEN_TEXTS_OF_GRAPHS: Final = 8


def refuse_unfit(refs: Sequence[SubjectRef], how: CheckOptions) -> None:
    """Raise RefError for sides that cannot be judged as is asked."""
    old, *_ = refs
    other = next((each for each in refs if each.language != old.language), None)
    if other is not None:
        raise RefError(
            f"{old} is in {old.language}, {other} in {other.language}:"
            " a check compares sides of one language; programs of any two are compared"
            " by --old-cmd and --new-cmd"
        )
    if old.language == PYTHON:
        named = next((each.engine for each in refs if each.engine), None)
        if named is not None:
            raise RefError(
                f"{named!r} is an engine for sides in another language than {old}:"
                " leave it out; --engine-profile says what sides in Python are"
                " played on"
            )
        return
    for asked, what in (
        (how.wire, "--wire"),
        (how.min_sharpness, "--min-sharpness"),
        (how.strict, "--strict"),
        (how.reach.net, "--net"),
    ):
        if asked:
            raise RefError(f"{what} with {old}: {NOT_BUILT[what]}")


NOT_BUILT = {
    "--wire": "a side behind a driver asks the world for its answers, so leave it out",
    "--min-sharpness": "small changes are made in Python only, so leave it out and"
    " write a wrong port of your own that has to diverge",
    "--strict": "small changes are made in Python only, so that nothing holds but"
    " weakly: leave it out",
    "--net": "sockets of a driver are not refused, so leave it out",
}
"""Options that a side behind a driver has no part in, and what to do instead."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A verdict, and the files that a reproducer of it needs."""

    verdict: Migration
    files: Mapping[SideName, SideFiles] = field(
        default_factory=dict[SideName, SideFiles]
    )


def check(old: SubjectRef, new: SubjectRef, terms: Terms, how: CheckOptions) -> Checked:
    """Judge one migration; a side that cannot be played stands in the verdict.

    Raises RefError where a reference names nothing, and UnusedFileError for a file
    that was given for nothing.
    """
    for ref in (old, new):  # they import while the worlds are made
        if ref.language == PYTHON:
            prepare(ref, SEEDS.values(), how.reach)
    corpus = corpus_of([old, new], how, terms.outside)
    given = how.given.used(corpus)
    said = vocabulary([old, new], how) if how.search_plays else None
    sides = {"new": (new, terms)}
    found = check_all(old, sides, corpus, how, explain=True, said=said)["new"]
    verdict = found.verdict
    given = how.given.told(given, verdict.left_out)
    return replace(found, verdict=replace(verdict, given=given))


@contextmanager
def over_the_wire(how: CheckOptions) -> Generator[CheckOptions, None, None]:
    """Have a check played over the wire while the block runs; raises as ``serving``."""
    with serving() as wire:
        yield replace(how, wire=wire)


LONG: Final = " ".join(map(str, range(1200)))
LONG_TEXTS: Final[tuple[str, Data]] = (
    "happy",
    {
        "agent": {"tools": [{"name": "look_up", "result": LONG}]},
        "model_script": ["assistant:[c1:look_up({})]", f"assistant:{LONG}"],
        "runs": [{"input": [f"user:{LONG}"]}],
    },
)
"""A world of texts that an observer cuts which keeps 4096 letters or fewer."""


def corpus_of(
    refs: Sequence[SubjectRef], how: CheckOptions, outside: Sequence[str] = ()
) -> Corpus:
    """Return the corpus in the words of all these subjects.

    Worlds that they declare ``outside`` of what they are for are unusual ones.
    Raises NoWorldsError if none of its worlds can be played over the wire, and
    GivenFileError for a user's own that a graph cannot have.
    """
    sources = all_sources(refs)
    said = vocabulary(refs, how)
    words, graphs = said.words, said.graphs
    if graphs is not None:
        # A run of a graph takes milliseconds, so of texts only those that matter most.
        words = replace(words, texts=words.texts[:TEXTS_OF_GRAPHS])
    words = how.given.words(words, *([GIVEN_TEXTS_OF_GRAPHS] if graphs else []))
    if graphs is not None:
        graphs = how.given.options(graphs)
        same = all(each.same_code for each in refs)
        graphs = replace(graphs, limits=same)
    spoken = Spoken.of(sources.values(), outside)
    theirs = () if graphs is None else graphs.own_tools
    own_tools = spoken.own_tools.union(words.own_tools, theirs)
    pair = any(name.endswith(SUFFIXES) for name in sources)
    spoken = replace(spoken, tasks=graphs is not None, own_tools=own_tools, pair=pair)
    given = how.given.worlds(words, how.seed, graphs=graphs is not None)
    observed = (LONG_TEXTS,) if any(each.setup for each in refs) else ()
    own = OwnWorlds((*given, *observed), how.given.declared)
    points = None
    if graphs is not None and not graphs.adk:
        points = point_worlds(sources, words, graphs)
    corpus = make_corpus(
        words, how.examples, how.seed, graphs, spoken, own, fit=said.fit, points=points
    )
    return corpus if how.wire is None else how.wire.corpus(corpus)


def check_all(
    old: SubjectRef,
    news: Mapping[str, tuple[SubjectRef, Terms]],
    corpus: Corpus,
    how: CheckOptions,
    *,
    explain: bool,
    said: Vocabulary | None = None,
) -> dict[str, Checked]:
    """Judge several new sides against one old side, which plays its worlds once.

    With what they ``said``, a search goes on where one holds.
    """
    if old.language != PYTHON:
        # Drivers take a third of what is imported here, and few checks have any.
        from compat.migration.remote.runner import check_remote  # noqa: PLC0415  # for few

        remote = check_remote(old, news, corpus, how, explain=explain)
        return {name: Checked(*each) for name, each in remote.items()}
    with judging(old, corpus, how, said, explain=explain) as judged:
        return {name: judged(*each) for name, each in news.items()}


@contextmanager
def judging(
    old: SubjectRef,
    corpus: Corpus,
    how: CheckOptions,
    said: Vocabulary | None = None,
    *,
    explain: bool,
) -> Generator[Callable[[SubjectRef, Terms], Checked], None, None]:
    """Yield what judges a new side against the old one, which plays its worlds once."""
    kept = KeptRuns(lambda: SubjectRunner(old, "old", how))
    how = replace(how, kept=kept)
    runner = SubjectRunner(old, "old", how)
    judge = MigrationJudge(
        runner, corpus, anew, how.progress, beside, hand_over=how.hand_over
    )

    def judged(new: SubjectRef, terms: Terms) -> Checked:
        found = _judged(judge, new, terms, how, said, explain=explain)
        return replace(found, verdict=_versioned(found.verdict, old, new))

    try:
        yield judged
    finally:
        judge.close()
        runner.close()
        kept.close()


def _versioned(verdict: Migration, old: SubjectRef, new: SubjectRef) -> Migration:
    """Return it with the versions that differ, and what that may be known to change."""
    differ, found = versions(old, new), verdict.divergence
    verdict = replace(verdict, versions=differ)
    if not differ or found is None:
        return verdict
    sources = all_sources([old, new])
    changes = documented(found.difference, found.code, differ, sources)
    return replace(verdict, documented=changes)


def _judged(
    judge: MigrationJudge[SubjectRunner],
    ref: SubjectRef,
    terms: Terms,
    how: CheckOptions,
    said: Vocabulary | None,
    *,
    explain: bool,
) -> Checked:
    # It starts while the old side still does.
    runner = SubjectRunner(ref, "new", how)
    try:
        judge.old.ready()
        runner.ready()
        judge.old.share_with(runner)
        terms = replace(terms, everywhere=how.domain == EVERYWHERE)
        verdict = judge.judge(runner, terms, explain=explain)
        searching = None if said is None else Searching(said, judge.old, runner)
        try:
            if searching is not None:
                begin = replace(how, search_plays=plays_before(how))
                verdict = further(judge, runner, verdict, terms, begin, searching)
            verdict = sharpened(judge, runner, verdict, terms, how, searching)
            verdict = with_marks(verdict, (judge.old, runner), terms.marks)
            verdict = replace(verdict, strict=how.strict)
            if explain and not verdict.interrupted:
                verdict = with_places(verdict, judge.old, runner)
        except KeyboardInterrupt:
            if not explain:
                raise
            verdict = replace(verdict, interrupted=True)
        finally:
            if searching is not None:
                searching.close()
        return Checked(verdict, {"old": judge.old.files, "new": runner.files})
    except PlayError as error:
        return _faulty(error, terms, judge.corpus)
    finally:
        runner.close()


def _faulty(error: PlayError, terms: Terms, corpus: Corpus) -> Checked:
    worlds = len(corpus.worlds)
    return Checked(Migration(terms.required, worlds, corpus.digest, fault=error.fault))
