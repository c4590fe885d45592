"""One migration check: references in, verdict out; the children live in between.

    references → words → corpus → two children → judge → verdict

The corpus is made before a child is started, from the words of both sides' sources,
which are read and never imported here (verdicts, Worlds and corpora).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from compat.migration.corpus import Corpus, make_corpus
from compat.migration.judging import Judge, Terms
from compat.migration.playing import Played, PlayError, Told, silent
from compat.migration.refs import SubjectRef, placed
from compat.migration.reproducer import SideFiles
from compat.migration.side import TIMEOUT, Label, Side, SideFault, SidePlayed
from compat.migration.words import harvest, own_sources
from compat.verdicts import Exercise, Fault, Migration
from compat.verdicts import Side as SideName
from refengine.testing.scenario import Scenario

EXAMPLES: Final = 100
"""So many generated worlds a corpus has, beside the fixed ones."""

USER_FAULTS: Final = frozenset(
    (
        "missing-file",
        "missing-name",
        "not-callable",
        "syntax",
        "import",
        "raised",
        "wrong-result",
        "effect",
        "intent",
    )
)
"""Faults that are a mistake in the reference or in the subject, told as usage."""


@dataclass(frozen=True, slots=True)
class Check:
    """How a check is run; ``told`` hears how far it has come."""

    examples: int = EXAMPLES
    seed: int = 0
    timeout: float = TIMEOUT
    profile: str = "seed-001"
    told: Told = silent


@dataclass(frozen=True, slots=True)
class Checked:
    """A verdict, and the files that a reproducer of it needs."""

    verdict: Migration
    files: Mapping[SideName, SideFiles] = field(
        default_factory=dict[SideName, SideFiles]
    )


class SidePlayer:
    """A side as the judge plays it: starts over after a fault, sums up what ran."""

    def __init__(
        self, ref: SubjectRef, label: Label, check: Check, *, hash_seed: int = 0
    ) -> None:
        self._hash_seed = hash_seed
        self._ref = ref
        self._label: Label = label
        self._check = check
        self._hooks: Counter[str] = Counter()
        self._taken: set[int] = set()
        self._printed: dict[str, None] = {}
        self._side: Side | None = None
        self._side = self._started()

    def close(self) -> None:
        """End the child."""
        self._running.close()

    @property
    def intends(self) -> Sequence[str]:
        """What the subject says it intends."""
        return self._running.loaded.intents

    @property
    def exercise(self) -> Exercise:
        """What all worlds so far made the subject do."""
        arms = self._running.loaded.arms
        missed = [arm for arm in arms if arm.id not in self._taken]
        return Exercise(
            str(self._ref),
            dict(self._hooks),
            len(arms),
            tuple(f"{arm.file}, line {arm.line}: {arm.text}" for arm in missed),
            tuple(self._printed),
        )

    @property
    def files(self) -> SideFiles:
        """The subject's own files, for a reproducer."""
        loaded = self._running.loaded
        texts = {name: (loaded.folder / name).read_bytes() for name in loaded.files}
        return SideFiles(texts, loaded.files[0], self._ref.name)

    def play(self, world: Scenario) -> Played:
        """Play one world; raises PlayError."""
        with self._told():
            return self._summed(self._running.play(world))

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[Played]:
        """Play many worlds; raises PlayError."""
        with self._told():
            for played in self._running.play_all(worlds, first=1):
                yield self._summed(played)

    def broken(self, played: Played) -> Sequence[str]:
        """Return which intended effects a trace does not show; raises PlayError."""
        with self._told():
            return self._running.broken_intents(played.jsonl)

    @property
    def _running(self) -> Side:
        if self._side is None:
            raise AssertionError(self._ref)  # __init__ started it, or raised
        return self._side

    def _started(self) -> Side:
        with self._told():
            return Side.start(
                self._ref,
                self._label,
                timeout=self._check.timeout,
                profile=self._check.profile,
                hash_seed=self._hash_seed,
            )

    def _summed(self, played: SidePlayed) -> SidePlayed:
        for hook, times in played.hooks.items():
            self._hooks[hook] += times
        self._taken |= played.arms
        for line in played.printed.lines[:1]:
            self._printed.setdefault(line)
        return played

    @contextmanager
    def _told(self) -> Generator[None, None, None]:
        """Tell a fault as PlayError, and start over if it ended the child."""
        try:
            yield
        except SideFault as fault:
            if self._side is not None and not self._side.alive:
                self._side = self._started()
            usage = fault.kind in USER_FAULTS
            told = Fault(self._label, fault.kind, str(fault), usage)
            raise PlayError(told) from fault


def check(old: SubjectRef, new: SubjectRef, terms: Terms, how: Check) -> Checked:
    """Judge one migration; a side that cannot be played is told in the verdict.

    Raises RefError where a reference names nothing.
    """
    corpus = corpus_of([old, new], how)
    return check_all(old, {"new": (new, terms)}, corpus, how, explain=True)["new"]


def corpus_of(refs: Sequence[SubjectRef], how: Check) -> Corpus:
    """Return the corpus in the words of all these subjects."""
    sources = {
        f"{number}/{name}": text
        for number, ref in enumerate(refs)
        for name, text in sources_of(ref).items()
    }
    return make_corpus(harvest(sources), how.examples, how.seed)


def sources_of(ref: SubjectRef) -> Mapping[str, str]:
    """Return a subject's own sources by name; none if there is no file to read."""
    with placed(ref) as place:
        file = place.file or module_file(ref.module or "", ref.cwd)
        try:
            return {} if file is None else own_sources(file)
        except OSError:
            return {}


def module_file(module: str, cwd: Path) -> Path | None:
    """Return the file of a module without importing it or the packages around it."""
    first, *rest = module.split(".")
    spec = PathFinder.find_spec(first, [str(cwd), *sys.path])
    if spec is None or spec.origin is None:
        return None
    if not rest:
        return Path(spec.origin)
    inner = Path(spec.origin).parent.joinpath(*rest)
    files = (inner.with_name(f"{inner.name}.py"), inner / "__init__.py")
    return next((each for each in files if each.is_file()), None)


def check_all(
    old: SubjectRef,
    news: Mapping[str, tuple[SubjectRef, Terms]],
    corpus: Corpus,
    how: Check,
    *,
    explain: bool,
) -> dict[str, Checked]:
    """Judge several new sides against one old side, which plays its worlds once."""
    try:
        player = SidePlayer(old, "old", how)
    except PlayError as error:
        return {
            name: _faulty(error, terms, corpus) for name, (_, terms) in news.items()
        }

    def anew() -> closing[SidePlayer]:
        return closing(SidePlayer(old, "old", how, hash_seed=1))

    judge = Judge(player, corpus, anew, how.told)
    try:
        return {
            name: _judged(judge, ref, terms, how, explain=explain)
            for name, (ref, terms) in news.items()
        }
    finally:
        judge.old.close()


def _judged(
    judge: Judge[SidePlayer],
    ref: SubjectRef,
    terms: Terms,
    how: Check,
    *,
    explain: bool,
) -> Checked:
    try:
        player = SidePlayer(ref, "new", how)
    except PlayError as error:
        return _faulty(error, terms, judge.corpus)
    try:
        verdict = judge.judge(player, terms, explain=explain)
        return Checked(verdict, {"old": judge.old.files, "new": player.files})
    except PlayError as error:
        return _faulty(error, terms, judge.corpus)
    finally:
        player.close()


def _faulty(error: PlayError, terms: Terms, corpus: Corpus) -> Checked:
    worlds = len(corpus.worlds)
    return Checked(Migration(terms.required, worlds, corpus.digest, fault=error.fault))
