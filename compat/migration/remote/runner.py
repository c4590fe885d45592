"""Sides in another language as the judge plays them: their drivers, their sessions.

The world is played here, and the driver owns the agent loop with the subject in it
(``compat.drivers.subjects``). One that ends, hangs or talks nonsense is started anew.
``check_remote`` judges several new sides against one old side.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from compat.drivers.connection import Command, KeptDriver
from compat.drivers.flow.subjects import FlowSubjectEngine
from compat.drivers.node_setups import packages_of_setup, variables
from compat.drivers.saying import SubjectMistakeError
from compat.drivers.subjects import SubjectEngine, SubjectWatch
from compat.migration.corpus import Corpus
from compat.migration.judge import MigrationJudge, Terms
from compat.migration.options import EVERYWHERE
from compat.migration.pairs import PlainSide, PlayError, SideRunner
from compat.migration.refs import SubjectRef, located
from compat.migration.remote.error_words import in_older_words
from compat.migration.remote.languages import (
    Programs,
    ReadSubject,
    programs,
    read_subject,
)
from compat.migration.remote.worlds import fitted, flow_fitted, ways_of
from compat.migration.replies import broken_setup
from compat.migration.reproducer import SideFiles
from compat.migration.session_copy import HOME, TEMPORARY, session_copy
from compat.migration.subject_process import Label, environment
from compat.migration.subject_runner import SEEDS, CheckOptions
from compat.process import ChildDiedError, ChildError, ChildHungError
from compat.verdicts.migration import Exercise, ExercisedSetup, FailedSide, Migration
from compat.verdicts.migration import Side as SideName
from refengine.agent import ChatModelAgentConfig
from refengine.testing.clock import Loops
from refengine.testing.scenario import Scenario
from refengine.testing.session import Session
from refengine.testing.trace import Trace
from refengine.testing.world import EffectError, World

FLOW: Final = "flow"
"""The dialect of engines whose agents keep sessions."""


@dataclass(frozen=True, slots=True)
class RemotePlayed:
    """One session of a subject behind a driver."""

    jsonl: str
    refused: str | None = None
    way: str | None = None


class RemoteRunner(PlainSide):
    """One side: a subject and the driver that has it."""

    def __init__(
        self,
        ref: SubjectRef,
        label: Label,
        check: CheckOptions,
        subject: ReadSubject,
        commands: Sequence[Command],
    ) -> None:
        """Build its driver and start it; raises PlayError, or as ``commands`` do."""
        self.subject = subject
        self._commands = commands
        self._ref = ref
        self._label: Label = label
        self._check = check
        self._hooks: Counter[str] = Counter()
        self._seen: Mapping[str, int] = {}
        self._loops = Loops()
        self._built = False
        self._failed: str | None = None
        with ExitStack() as stack:
            place = stack.enter_context(located(ref))
            copy = stack.enter_context(session_copy(ref, place))
            self._cwd, self._top = copy.cwd, Path(copy.isolation or copy.cwd)
            self._env = self._environment()
            self._driver, self.engine = self._started()
            self._ending = weakref.finalize(self, stack.pop_all().close)

    def _environment(self) -> Mapping[str, str]:
        ref = self._ref
        return {
            **environment(SEEDS[self._label], self._check.reach.env),
            **(variables(ref.setup) if ref.setup or ref.same_code else {}),
            "HOME": str(self._top / HOME),
            "TMPDIR": str(self._top / TEMPORARY),
        }

    def _started(self) -> tuple[KeptDriver, SubjectEngine | FlowSubjectEngine]:
        subject, driver = self.subject, self._kept()
        self._refuse_setup(driver)
        of_dialect = driver.about.get("dialect") == FLOW
        made = FlowSubjectEngine if of_dialect else SubjectEngine
        return driver, made(subject.engine, driver, subject.loaded)

    def _kept(self) -> KeptDriver:
        command, *others = self._commands
        patience = self._check.timeout
        try:
            return KeptDriver(command, patience, cwd=self._cwd, env=self._env)
        except ChildError as error:
            if self._ref.setup is not None:
                told = broken_setup(self._ref.setup.name, error)
                raise self._fault("setup", told, usage=True) from error
            if not isinstance(error, ChildDiedError) or not others:
                raise self._fault("ended", error.why) from error
        self._commands = others
        return self._kept()

    def _refuse_setup(self, driver: KeptDriver) -> None:
        """Raise PlayError with what is wrong with the setup that the driver ran."""
        why = driver.about.get("setup", {}).get("fault")
        if why and self._ref.setup is not None:
            driver.close()
            told = f"its setup {self._ref.setup.name} {why}"
            raise self._fault("setup", told, usage=True)

    def anew(self) -> RemoteRunner:
        """Return the same side in a process of its own."""
        given = self.subject, self._commands
        return RemoteRunner(self._ref, self._label, self._check, *given)

    def close(self) -> None:
        """End the driver, and remove what was made for it."""
        self._driver.close()
        self._ending()

    @property
    def exercise(self) -> Exercise:
        """How often each hook was entered."""
        name, _, version = self.subject.engine.partition("@")
        return Exercise(
            str(self._ref),
            dict(self._hooks),
            frameworks={name: version},
            setup=self._observed,
        )

    @property
    def _observed(self) -> ExercisedSetup | None:
        """What its setup did, if it has one."""
        if self._ref.setup is None:
            return None
        brought = packages_of_setup(self._ref.setup, self._driver.about["setup"])
        changed, spans = (self._seen.get(each, 0) for each in ("changed", "spans"))
        return ExercisedSetup(self._ref.setup.name, changed, spans, brought)

    @property
    def files(self) -> SideFiles:
        """The subject's own files, for a reproducer."""
        files = self.subject.files
        return SideFiles(files, next(iter(files)), self.subject.loaded.name)

    def play(self, world: Scenario) -> RemotePlayed:
        """Play one world; raises PlayError."""
        watch = self.engine.watch = SubjectWatch()
        try:
            trace = self._traced(world, watch)
        except EffectError as error:
            raise self._fault("effect", str(error), usage=True) from error
        except ChildError as error:
            raise self._over(error) from error
        self._see(watch)
        told = in_older_words(trace.to_jsonl(), self.subject.engine)
        return RemotePlayed(told, self._refused(watch, trace))

    def _traced(self, world: Scenario, watch: SubjectWatch) -> Trace:
        if isinstance(self.engine, FlowSubjectEngine):
            return self.engine.play(world)

        def dress(own: World, config: ChatModelAgentConfig) -> ChatModelAgentConfig:
            watch.world = own
            return config

        session = Session(world, self.engine, dress, watch.names, rebuild=True)
        return self._loops.run(session.play())

    def _see(self, watch: SubjectWatch) -> None:
        """Count what was entered, and raise what makes the whole side a mistake."""
        over = self._driver.over
        if over is not None:
            raise self._over(over)
        mistake = watch.mistake
        if mistake is not None:
            raise self._fault(mistake.kind, str(mistake), usage=True)
        self._built = self._built or watch.built
        self._failed = self._failed or watch.failed
        self._seen = watch.seen or self._seen
        self._hooks.update(watch.hooks)
        for hook in watch.hooks:
            self._hooks.setdefault(hook, 0)

    def _refused(self, watch: SubjectWatch, trace: Trace) -> str | None:
        if watch.built:
            return None
        why = watch.failed or str(trace.of("build_error")[0].data["error"])
        return f"{self.subject.loaded.name} failed: {why}"

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[RemotePlayed]:
        """Play many worlds; raises PlayError."""
        yield from map(self.play, worlds)
        if not self._built and self._failed is not None:
            raise self._fault("raised", self._failed, usage=True)

    def _over(self, error: ChildError) -> PlayError:
        match error:
            case ChildHungError():
                kind = "timeout"
            case ChildDiedError():
                kind = "ended"
            case _:
                kind = "harness"
        return self._fault(kind, error.why)

    def _fault(self, kind: str, text: str, *, usage: bool = False) -> PlayError:
        said = f"{self._label} {self._ref}: {text}"
        return PlayError(FailedSide(self._label, kind, said, usage))


def anew(player: SideRunner) -> AbstractContextManager[SideRunner]:
    """Open a side once more, in a process that ends with the block."""
    return closing(_runner(player).anew())


def _runner(player: SideRunner) -> RemoteRunner:
    if not isinstance(player, RemoteRunner):
        raise TypeError(player)
    return player


JudgedSides: TypeAlias = "tuple[Migration, Mapping[SideName, SideFiles]]"


def check_remote(
    old: SubjectRef,
    news: Mapping[str, tuple[SubjectRef, Terms]],
    corpus: Corpus,
    how: CheckOptions,
    *,
    explain: bool,
) -> dict[str, JudgedSides]:
    """Judge several new sides against one old side, each behind a driver of its own.

    Worlds are those that the engines of both sides can be asked for.
    """
    sides = _Sides.read([old, *(ref for ref, _ in news.values())], how)
    try:
        with (
            closing(sides.runner(old, "old")) as runner,
            closing(_Judges(runner, corpus, how)) as judges,
        ):
            return {
                name: _judged(sides, judges, ref, terms, explain=explain)
                for name, (ref, terms) in news.items()
            }
    except PlayError as error:
        return {name: _faulty(error, terms) for name, (_, terms) in news.items()}


@dataclass(frozen=True, slots=True)
class _Sides:
    """All sides of a check, read, and the drivers that they have together."""

    read_sides: Mapping[SubjectRef, ReadSubject | SubjectMistakeError]
    programs: Programs
    how: CheckOptions

    @classmethod
    def read(cls, refs: list[SubjectRef], how: CheckOptions) -> _Sides:
        found: dict[SubjectRef, ReadSubject | SubjectMistakeError] = {}
        for ref in refs:
            try:
                found[ref] = read_subject(ref)
            except SubjectMistakeError as error:
                found[ref] = error
        good = [each for each in found.values() if isinstance(each, ReadSubject)]
        return cls(found, programs(refs[0].language, good), how)

    def runner(self, ref: SubjectRef, label: Label) -> RemoteRunner:
        """Return a side that can be played; raises PlayError."""
        try:
            subject = self.read_sides[ref]
            if isinstance(subject, SubjectMistakeError):
                raise subject
            commands = self.programs(subject)
            return RemoteRunner(ref, label, self.how, subject, commands)
        except SubjectMistakeError as error:
            text = f"{label} {error}"
            failed = FailedSide(label, error.kind, text, usage=True)
            raise PlayError(failed) from error


class _Judges:
    """Judges of one old side, which plays once for all new sides of like engines.

    Another engine may have other worlds, as may a side with hooks for another way of a
    run, and the old side plays those for it.
    """

    def __init__(self, old: RemoteRunner, corpus: Corpus, how: CheckOptions) -> None:
        self.old = old
        self._corpus = corpus
        self._progress = how.progress
        self._judges: dict[
            tuple[str, AbstractSet[str]], MigrationJudge[RemoteRunner]
        ] = {}

    def of(self, new: RemoteRunner) -> MigrationJudge[RemoteRunner]:
        """Return the judge that has the worlds of both sides' engines."""
        ways = ways_of((*_sources(self.old), *_sources(new)))
        key = new.subject.engine, ways
        if key not in self._judges:
            fit = _fitted(self._corpus, self.old, new, ways)
            judge = MigrationJudge(self.old, fit, anew, self._progress)
            self._judges[key] = judge
        return self._judges[key]

    def close(self) -> None:
        """End what judges started."""
        for each in self._judges.values():
            each.close()


def _judged(
    sides: _Sides,
    judges: _Judges,
    ref: SubjectRef,
    terms: Terms,
    *,
    explain: bool,
) -> JudgedSides:
    terms = replace(terms, everywhere=sides.how.domain == EVERYWHERE)
    try:
        with closing(sides.runner(ref, "new")) as new:
            verdict = judges.of(new).judge(new, terms, explain=explain)
            return verdict, {"old": judges.old.files, "new": new.files}
    except PlayError as error:
        return _faulty(error, terms)


def _fitted(
    corpus: Corpus, old: RemoteRunner, new: RemoteRunner, ways: AbstractSet[str]
) -> Corpus:
    if isinstance(old.engine, FlowSubjectEngine):
        return flow_fitted(corpus)
    return fitted(corpus, old.engine.capabilities & new.engine.capabilities, ways)


def _sources(side: RemoteRunner) -> Iterator[str]:
    return (each.decode("utf-8", "replace") for each in side.subject.files.values())


def _faulty(error: PlayError, terms: Terms) -> JudgedSides:
    return Migration(terms.required, 0, "", fault=error.fault), {}
