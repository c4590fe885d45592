"""Judging engines: from a corpus to the stream of events that every report reads.

    corpus (as a file) → workers with the engine → verdicts → events

An engine is only ever imported in a worker, so that nothing it does changes the corpus
(verdicts, Worlds and corpora). Workers begin with the worlds that need not be drawn.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from compat.environments.workers import OURS, WorkerPython
from compat.models.importing import ImportedFile
from compat.report.conform_text import counted, does
from compat.report.migration_basis import given_lines
from compat.spreading import Spread
from compat.verdicts.conformance import AnyEvent, ClauseInfo
from property_tests.corpus import CorpusWorld, SuiteCorpus, fixed_worlds
from property_tests.defaults import EXAMPLES, SEED, TIMEOUT
from property_tests.drawn_worlds import drawn_worlds, ship
from property_tests.recorded.worlds import given_counts, recorded_worlds
from property_tests.registry import Clause, Contract, contract
from refengine.testing.machine import install_line
from refengine.testing.owned import folder_prefix

Emit: TypeAlias = Callable[[AnyEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseRequest:
    """What a judgement by clause is asked for, whatever it is of.

    ``examples`` worlds are generated. ``timeout`` are seconds that one world may take,
    and ``jobs`` so many are played at a time, by workers that run with ``python``.
    ``excluded`` are the words that took clauses out, and how many each.
    """

    clauses: tuple[Clause, ...]
    examples: int = EXAMPLES
    seed: int = SEED
    timeout: float = TIMEOUT
    jobs: int = 0
    strict: bool = False
    excluded: Mapping[str, int] = field(default_factory=dict[str, int])
    python: WorkerPython = OURS

    @property
    def workers(self) -> int:
        """So many at a time, one a core unless it was said."""
        return self.jobs or min(os.cpu_count() or 1, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformRequest(ClauseRequest):
    """What a judgement of engines is asked for.

    Without Hypothesis only the default worlds are there, which ship. ``known`` is a
    file of known failures, in place of the one that comes with a door. ``worlds`` are
    files of the user's own sessions. In the ``smallest`` set are a fixed case of each
    clause, and no other world. With a ``spread``, units of it are played on a cluster.
    """

    engines: tuple[str, ...]
    clauses: tuple[Clause, ...] = ()
    profile: str | None = None
    known: Path | None = None
    worlds: tuple[Path, ...] = ()
    smallest: bool = False
    spread: Spread | None = None

    @property
    def whole(self) -> bool:
        """Whether as many worlds are asked for as each clause needs."""
        return self.examples >= EXAMPLES


@dataclass(frozen=True, slots=True)
class MadeCorpus:
    """A corpus, and what has to be said about how it came to be."""

    corpus: SuiteCorpus
    told: tuple[str, ...] = ()


def first_worlds(
    seed: int, given: Sequence[ImportedFile] = ()
) -> tuple[CorpusWorld, ...]:
    """Return the fixed cases and the recorded worlds, which no corpus is without.

    Raises UnusedFileError and MissingSessionsError.
    """
    return (*fixed_worlds(), *recorded_worlds(seed, given))


def smallest_corpus(seed: int) -> MadeCorpus:
    """Return the first fixed case of each clause, which is the shortest example of it.

    To play all there are takes most doors a minute or two, and what breaks an engine
    breaks it in one of these, nearly always.
    """
    first: dict[str, CorpusWorld] = {}
    for each in fixed_worlds():
        first.setdefault(each.clause, each)
    told = "the smallest set: one fixed case of each clause; without it all are played"
    return MadeCorpus(SuiteCorpus(tuple(first.values()), seed), (told,))


def nothing() -> None:
    """Do nothing."""


def make_corpus(
    examples: int,
    seed: int,
    given: Sequence[ImportedFile] = (),
    *,
    first: Sequence[CorpusWorld] = (),
    meanwhile: Callable[[], object] = nothing,
) -> MadeCorpus:
    """Return the fixed cases, the recorded worlds and so many generated ones.

    ``given`` are files of the user's own sessions, which join those that ship. It is
    the same one whatever clauses are selected: the worlds of one clause are worlds like
    any other, and its failure is found again when it is judged alone. Those of the
    default judgement ship; without Hypothesis no others are generated, and the report
    says so. ``first`` are those
    of ``first_worlds``, if there are any yet, and ``meanwhile`` is called now and then
    while others are drawn. Raises UnusedFileError and MissingSessionsError.
    """
    there = tuple(first) or first_worlds(seed, given)
    told = tuple(given_lines(given_counts(given, there)))
    if not examples:
        none = "no world was generated: none was asked for; all rests on fixed cases"
        return MadeCorpus(
            SuiteCorpus(there, seed), (*told, f"{none} and recorded sessions")
        )
    worlds = list(there)
    try:
        for each in _generated(examples, seed, there):
            worlds.append(each)
            meanwhile()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "hypothesis":
            raise
        return MadeCorpus(SuiteCorpus(there, seed), (*told, _without(examples)))
    return MadeCorpus(SuiteCorpus(tuple(worlds), seed), told)


def _generated(
    examples: int, seed: int, first: Sequence[CorpusWorld]
) -> Iterator[CorpusWorld]:
    """Yield generated worlds: those that ship, or as they are drawn now."""
    if ship(examples, seed):
        yield from drawn_worlds()
        return
    from property_tests.generating import generated  # noqa: PLC0415  # an extra

    fixed = [each for each in first if each.fixed]
    yield from generated(examples, seed=seed, fixed=fixed)


def _without(examples: int) -> str:
    return (
        f"{counted(examples, 'generated world')} {does(examples, 'were')} not run:"
        " others than the default ones need"
        f" Hypothesis ({install_line('testing')}); the fixed and recorded ones were run"
    )


@contextmanager
def stored(corpus: SuiteCorpus) -> Generator[Path, None, None]:
    """Write a corpus to a file for as long as workers read it."""
    with corpus_files() as files:
        write_corpus(corpus, files.whole)
        yield files.whole


@dataclass(frozen=True, slots=True)
class CorpusFiles:
    """Where workers find a corpus: its first worlds, and all once all are drawn."""

    first: Path
    whole: Path


@contextmanager
def corpus_files() -> Generator[CorpusFiles, None, None]:
    """Yield places for a corpus, for as long as workers read it."""
    with tempfile.TemporaryDirectory(prefix=folder_prefix()) as folder:
        yield CorpusFiles(Path(folder) / "first.json", Path(folder) / "corpus.json")


def write_corpus(corpus: SuiteCorpus, path: Path) -> None:
    """Write a corpus to a file."""
    path.write_text(corpus.json, "utf-8")


def clause_infos(of: Contract | None = None) -> Iterator[ClauseInfo]:
    """Yield every clause of the contract as an event."""
    for each in (of or contract()).clauses:
        yield ClauseInfo(
            id=each.id,
            family=each.family,
            level=each.level,
            status=each.status,
            sentence=each.sentence,
            why=each.why,
        )
