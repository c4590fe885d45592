"""A check of subjects in the language of their engine: sides in, verdicts out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeAlias

from compat.drivers.flow.subjects import FlowSubjectEngine
from compat.drivers.saying import SubjectMistakeError
from compat.migration.corpus import Corpus
from compat.migration.judge import MigrationJudge, Terms
from compat.migration.options import EVERYWHERE
from compat.migration.pairs import PlayError
from compat.migration.refs import SubjectRef
from compat.migration.remote.languages import (
    Programs,
    ReadSubject,
    programs,
    read_subject,
)
from compat.migration.remote.runner import RemoteRunner, anew
from compat.migration.remote.worlds import fitted, flow_fitted
from compat.migration.reproducer import SideFiles
from compat.migration.subject_process import Label
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.migration import FailedSide, Migration
from compat.verdicts.migration import Side as SideName

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

    Another engine may have other worlds, and the old side plays those for it.
    """

    def __init__(self, old: RemoteRunner, corpus: Corpus, how: CheckOptions) -> None:
        self.old = old
        self._corpus = corpus
        self._progress = how.progress
        self._judges: dict[str, MigrationJudge[RemoteRunner]] = {}

    def of(self, new: RemoteRunner) -> MigrationJudge[RemoteRunner]:
        """Return the judge that has the worlds of both sides' engines."""
        engine = new.subject.engine
        if engine not in self._judges:
            fit = _fitted(self._corpus, self.old, new)
            judge = MigrationJudge(self.old, fit, anew, self._progress)
            self._judges[engine] = judge
        return self._judges[engine]

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


def _fitted(corpus: Corpus, old: RemoteRunner, new: RemoteRunner) -> Corpus:
    if isinstance(old.engine, FlowSubjectEngine):
        return flow_fitted(corpus)
    return fitted(corpus, old.engine.capabilities & new.engine.capabilities)


def _faulty(error: PlayError, terms: Terms) -> JudgedSides:
    return Migration(terms.required, 0, "", fault=error.fault), {}
