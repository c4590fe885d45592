"""One piece of code, played as it is at a step beside the first one.

Steps are releases of a package that it runs with, or commits of its own repository.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeAlias

from compat.environments.making import EnvironmentMakingError
from compat.migration.check import check
from compat.migration.judge import Terms
from compat.migration.refs import RefError, SubjectRef, parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.migration.surroundings import SideSurroundings, surrounded
from compat.verdicts.migration import Migration
from compat.verdicts.timeline import TimelineItem, VersionJudged

Sides: TypeAlias = "Generator[tuple[SubjectRef, SubjectRef], None, None]"


@dataclass(frozen=True, slots=True)
class StepJudge(ABC):
    """Judges steps against the ``first``; ``told`` gets a line for each.

    ``others`` are what the code runs with beside what a step says, in any form.
    """

    subject: str
    first: str
    others: tuple[str, ...]
    terms: Terms
    how: CheckOptions
    told: Callable[[object], None]
    verdicts: dict[str, Migration] = field(default_factory=dict[str, Migration])
    """What was found of each step that was played."""
    first_is: ClassVar[str]
    """What the first step is called."""

    @contextmanager
    @abstractmethod
    def sides(self, step: str) -> Sides:
        """Yield the first side and that of a step; raises as ``surrounded``."""

    @abstractmethod
    def refuses(self, verdict: Migration) -> str:
        """Return why a verdict says nothing of a step, "" if it does."""

    def judge(self, step: str) -> VersionJudged | None:
        """Return what a step is beside the first; None if it cannot be played.

        Raises RefError, EnvironmentChoiceError or PythonError.
        """
        if step == self.first:
            return self._judged(step, f"the {self.first_is} to compare with", good=True)
        try:
            with self.sides(step) as (before, after):
                verdict = check(before, after, self.terms, self.how).verdict
        except (EnvironmentMakingError, RefError) as error:
            if isinstance(error, RefError) and not self.verdicts:
                raise  # the last step is the first one that is played
            self.told(f"{step}: cannot be played: {str(error).splitlines()[0]}")
            return None
        self.verdicts[step] = verdict
        if verdict.interrupted:
            raise KeyboardInterrupt
        if why := self.refuses(verdict):
            self.told(f"{step}: cannot be judged: {why}")
            return None
        word = _word(verdict)
        self.told(f"{step}: {word}")
        good = verdict.fault is None and verdict.sufficient
        return self._judged(step, word, good=good)

    def _judged(self, step: str, word: str, *, good: bool) -> VersionJudged:
        item = TimelineItem(self.subject, word, good)
        return VersionJudged(self.subject, step, {item.name: item}, "", "")


@dataclass(frozen=True, slots=True)
class ReleaseJudge(StepJudge):
    """Judges releases of a package, with which the code is played as it is now."""

    package: str = ""
    first_is: ClassVar[str] = "release"

    @contextmanager
    def sides(self, step: str) -> Sides:
        """Yield the code with the first release, and with another."""
        ref = parse_ref(self.subject)
        old, new = (self._with(each) for each in (self.first, step))
        with surrounded(ref, [ref], (old, new)) as (before, [after]):
            yield before, after

    def _with(self, version: str) -> SideSurroundings:
        packages = (*self.others, f"{self.package}=={version}")
        return SideSurroundings(packages, None, Path.cwd())

    def refuses(self, verdict: Migration) -> str:
        """Return why a release is passed by: code that breaks with it is a change."""
        fault = verdict.fault
        if fault is not None and fault.side == "old":
            return fault.text
        return "a side differs from itself" if verdict.noise else ""


@dataclass(frozen=True, slots=True)
class CommitJudge(StepJudge):
    """Judges commits, of which the file is played in a copy of each one's tree."""

    first_is: ClassVar[str] = "commit"

    @contextmanager
    def sides(self, step: str) -> Sides:
        """Yield the file of the first commit, and of another."""
        old, new = (
            parse_ref(f"{each}:{self.subject}", revisions=True)
            for each in (self.first, step)
        )
        around = SideSurroundings(self.others, None, Path.cwd())
        with surrounded(old, [new], (around, around)) as (before, [after]):
            yield before, after

    def refuses(self, verdict: Migration) -> str:
        """Return why a commit is passed by: one that does not import is half-made."""
        if verdict.fault is not None:
            return verdict.fault.text
        return "a side differs from itself" if verdict.noise else ""


def _word(verdict: Migration) -> str:
    """Return in a word or two how a step came out."""
    if verdict.fault is not None:
        return verdict.fault.kind
    if not verdict.sufficient and verdict.divergence is not None:
        return verdict.divergence.code
    return verdict.holds or "nothing holds"
