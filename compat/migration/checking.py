"""One migration check: references in, verdict out; the children live in between.

    references → words → corpus → two children → judge → verdict → exit code

The corpus is made before a child is started, from the words of both sides' sources,
which are read and never imported here (verdicts, Worlds and corpora).
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from compat.migration.comparing import PlayError
from compat.migration.corpus import Corpus, OwnWorlds, make_corpus
from compat.migration.joining import Vocabulary, further
from compat.migration.judging import MigrationJudge, Terms
from compat.migration.options import EVERYWHERE
from compat.migration.refs import PYTHON, SubjectRef, located
from compat.migration.remote.languages import remote_sources
from compat.migration.remote.runner import check_remote
from compat.migration.reproducer import SideFiles
from compat.migration.sharpening import plays_before, sharpened
from compat.migration.subject_process import prepare
from compat.migration.subject_runner import (
    SEEDS,
    CheckOptions,
    SubjectRunner,
    anew,
    beside,
)
from compat.migration.wire import serving
from compat.migration.words import harvest, own_sources
from compat.verdicts.exit_codes import (
    DIFFERS,
    FAULT,
    NOT_COMPARABLE,
    NOTHING_RAN,
    STALE,
    USAGE,
    exit_code,
)
from compat.verdicts.migration import Migration
from compat.verdicts.migration import Side as SideName
from refengine.testing.subject_worlds.adk_source import adk_words, is_adk_source
from refengine.testing.subject_worlds.fits import fit_of
from refengine.testing.subject_worlds.go_source import adk_go_words, is_adk_go
from refengine.testing.subject_worlds.graph_source import (
    MOST,
    graph_words,
    is_graph_source,
)
from refengine.testing.subject_worlds.script_source import SUFFIXES, script_errors
from refengine.testing.subject_worlds.unusual import Spoken


def code_of(verdict: Migration) -> int:
    """Return the code that wins for this verdict."""
    if verdict.fault is not None:
        if verdict.fault.kind == NEVER_ASKED:
            return NOTHING_RAN
        return USAGE if verdict.fault.usage else FAULT
    codes: list[int] = []
    if verdict.noise:
        codes.append(NOT_COMPARABLE)
    elif not verdict.sufficient:
        codes.append(DIFFERS)
    if verdict.idle or verdict.nothing_ran:
        codes.append(NOTHING_RAN)
    if verdict.sharpness is not None and not verdict.sharpness.enough:
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
    return replace(found, verdict=replace(found.verdict, given=given))


@contextmanager
def over_the_wire(how: CheckOptions) -> Generator[CheckOptions, None, None]:
    """Have a check played over the wire while the block runs; raises as ``serving``."""
    with serving() as wire:
        yield replace(how, wire=wire)


def corpus_of(
    refs: Sequence[SubjectRef], how: CheckOptions, outside: Sequence[str] = ()
) -> Corpus:
    """Return the corpus in the words of all these subjects.

    Worlds that they declare ``outside`` of what they are for are unusual ones.
    Raises NoWorldsError if none of its worlds can be played over the wire, and
    GivenFileError for a user's own that a graph cannot have.
    """
    sources = _all_sources(refs)
    said = vocabulary(refs, how)
    words, graphs = said.words, said.graphs
    if graphs is not None:
        # A run of a graph takes milliseconds, so of texts only those that matter most.
        words = replace(words, texts=words.texts[:TEXTS_OF_GRAPHS])
    words = how.given.words(words, *([GIVEN_TEXTS_OF_GRAPHS] if graphs else []))
    if graphs is not None:
        graphs = how.given.options(graphs)
    spoken = Spoken.of(sources.values(), outside)
    given = how.given.worlds(words, how.seed, graphs=graphs is not None)
    own = OwnWorlds(tuple(given), how.given.declared)
    corpus = make_corpus(
        words, how.examples, how.seed, graphs, spoken, own, fit=said.fit
    )
    return corpus if how.wire is None else how.wire.corpus(corpus)


def vocabulary(refs: Sequence[SubjectRef], how: CheckOptions) -> Vocabulary:
    """Return the words of these subjects, those that only one of them has first."""
    sources = _all_sources(refs)
    words = harvest(sources)
    if how.wire is not None:
        words = how.wire.words(words)
    if any(map(is_adk_go, sources.values())):
        return Vocabulary(words, adk_go_words(sources.values()))
    if any(map(is_adk_source, sources.values())):
        return Vocabulary(words, adk_words(sources.values()))
    if any(map(is_graph_source, sources.values())):
        old = [text for name, text in sources.items() if name.startswith("0/")]
        return Vocabulary(words, graph_words(sources.values(), old))
    scripts = (each for name, text in sources.items() for each in _errors(name, text))
    errors = dict.fromkeys([*graph_words(sources.values()).errors, *scripts])
    old = [text for name, text in sources.items() if name.startswith("0/")]
    fit = fit_of(old, sources.values())
    return Vocabulary(replace(words, errors=tuple(errors)[:MOST]), fit=fit)


def _errors(name: str, text: str) -> Iterator[str]:
    if name.endswith(SUFFIXES):
        yield from script_errors(text)


def _all_sources(refs: Sequence[SubjectRef]) -> Mapping[str, str]:
    return {
        f"{number}/{name}": text
        for number, ref in enumerate(refs)
        for name, text in sources_of(ref).items()
    }


def sources_of(ref: SubjectRef) -> Mapping[str, str]:
    """Return a subject's own sources by name; none if there is no file to read."""
    with located(ref) as location:
        if ref.language != PYTHON:
            return remote_sources(location)
        file = location.file or module_file(ref.module or "", ref.cwd)
        try:
            return {} if file is None else own_sources(file)
        except OSError:
            return {}


def module_file(module: str, cwd: Path) -> Path | None:
    """Return the file of a module without importing it or the packages around it."""
    first, *rest = module.split(".")
    spec = PathFinder.find_spec(first, [str(cwd), *sys.path])
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())  # several, without __init__
    if not rest:
        return None if spec.origin is None else Path(spec.origin)
    inner = [Path(folder).joinpath(*rest) for folder in folders]
    files = [each.with_name(f"{each.name}.py") for each in inner]
    files += [each / "__init__.py" for each in inner]
    return next((each for each in files if each.is_file()), None)


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
        found = check_remote(old, news, corpus, how, explain=explain)
        return {name: Checked(*each) for name, each in found.items()}
    runner = SubjectRunner(old, "old", how)
    judge = MigrationJudge(runner, corpus, anew, how.progress, beside)
    try:
        return {
            name: _judged(judge, ref, terms, how, said, explain=explain)
            for name, (ref, terms) in news.items()
        }
    finally:
        judge.close()
        runner.close()


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
        terms = replace(terms, everywhere=how.domain == EVERYWHERE)
        verdict = judge.judge(runner, terms, explain=explain)
        if said is not None:
            begin = replace(how, search_plays=plays_before(how))
            verdict = further(judge, runner, verdict, terms, begin, said)
        verdict = sharpened(judge, runner, verdict, terms, how, said)
        return Checked(verdict, {"old": judge.old.files, "new": runner.files})
    except PlayError as error:
        return _faulty(error, terms, judge.corpus)
    finally:
        runner.close()


def _faulty(error: PlayError, terms: Terms, corpus: Corpus) -> Checked:
    worlds = len(corpus.worlds)
    return Checked(Migration(terms.required, worlds, corpus.digest, fault=error.fault))
