"""A check of subjects in the language of their engine: sides in, verdicts out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace

from compat.drivers.go_subjects import GoSubjectError
from compat.migration.comparing import PlayError
from compat.migration.corpus import Corpus
from compat.migration.judging import MigrationJudge, Terms
from compat.migration.options import EVERYWHERE
from compat.migration.refs import SubjectRef
from compat.migration.remote.runner import RemoteRunner, anew
from compat.migration.remote.worlds import fitted
from compat.migration.reproducer import SideFiles
from compat.migration.subject_process import Label
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.migration import FailedSide, Migration
from compat.verdicts.migration import Side as SideName

JudgedSides = tuple[Migration, Mapping[SideName, SideFiles]]


def check_remote(
    old: SubjectRef,
    news: Mapping[str, tuple[SubjectRef, Terms]],
    corpus: Corpus,
    how: CheckOptions,
    *,
    explain: bool,
) -> dict[str, JudgedSides]:
    """Judge several new sides against one old side, each behind a driver of its own.

    Worlds are those that the engines of all sides can be asked for.
    """
    with ExitStack() as stack:
        try:
            runner = stack.enter_context(closing(_runner(old, "old", how)))
        except PlayError as error:
            return {name: _faulty(error, terms) for name, (_, terms) in news.items()}
        return {
            name: _judged(runner, ref, terms, corpus, how, explain=explain)
            for name, (ref, terms) in news.items()
        }


def _judged(
    old: RemoteRunner,
    ref: SubjectRef,
    terms: Terms,
    corpus: Corpus,
    how: CheckOptions,
    *,
    explain: bool,
) -> JudgedSides:
    terms = replace(terms, everywhere=how.domain == EVERYWHERE)
    try:
        with closing(_runner(ref, "new", how)) as new:
            declared = old.engine.capabilities & new.engine.capabilities
            judge = MigrationJudge(old, fitted(corpus, declared), anew, how.progress)
            try:
                verdict = judge.judge(new, terms, explain=explain)
            finally:
                judge.close()
            return verdict, {"old": old.files, "new": new.files}
    except PlayError as error:
        return _faulty(error, terms)


def _runner(ref: SubjectRef, label: Label, how: CheckOptions) -> RemoteRunner:
    try:
        return RemoteRunner(ref, label, how)
    except GoSubjectError as error:
        text = f"{label} {error}"
        raise PlayError(FailedSide(label, error.kind, text, usage=True)) from error


def _faulty(error: PlayError, terms: Terms) -> JudgedSides:
    return Migration(terms.required, 0, "", fault=error.fault), {}
