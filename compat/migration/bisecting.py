"""One piece of code, played with a release of a package beside the first one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from compat.environments.making import EnvironmentMakingError
from compat.migration.check import check
from compat.migration.judge import Terms
from compat.migration.refs import SubjectRef
from compat.migration.subject_runner import CheckOptions
from compat.migration.surroundings import SideSurroundings, surrounded
from compat.verdicts.migration import Migration
from compat.verdicts.timeline import TimelineItem, VersionJudged


@dataclass(frozen=True, slots=True)
class ReleaseJudge:
    """Judges releases against the ``first``; ``told`` gets a line for each.

    ``others`` are what the code runs with beside the package, in any form.
    """

    ref: SubjectRef
    package: str
    first: str
    others: tuple[str, ...]
    terms: Terms
    how: CheckOptions
    told: Callable[[str], None]
    verdicts: dict[str, Migration] = field(default_factory=dict[str, Migration])
    """What was found of each release that was played."""

    def judge(self, version: str) -> VersionJudged | None:
        """Return what a release is beside the first; None if it cannot be played.

        Raises RefError, EnvironmentChoiceError or PythonError.
        """
        if version == self.first:
            return self._judged(version, "the release to compare with", good=True)
        try:
            self.verdicts[version] = verdict = self._played(version)
        except EnvironmentMakingError as error:
            self.told(f"{version}: cannot be played: {str(error).splitlines()[0]}")
            return None
        if verdict.interrupted:
            raise KeyboardInterrupt
        fault = verdict.fault
        if verdict.noise or (fault is not None and fault.side == "old"):
            why = "a side differs from itself" if fault is None else fault.text
            self.told(f"{version}: cannot be judged: {why}")
            return None
        word = _word(verdict)
        self.told(f"{version}: {word}")
        return self._judged(version, word, good=fault is None and verdict.sufficient)

    def _played(self, version: str) -> Migration:
        old, new = (self._with(each) for each in (self.first, version))
        with surrounded(self.ref, [self.ref], (old, new)) as (before, [after]):
            return check(before, after, self.terms, self.how).verdict

    def _with(self, version: str) -> SideSurroundings:
        packages = (*self.others, f"{self.package}=={version}")
        return SideSurroundings(packages, None, Path.cwd())

    def _judged(self, version: str, word: str, *, good: bool) -> VersionJudged:
        item = TimelineItem(self.ref.text, word, good)
        return VersionJudged(self.package, version, {item.name: item}, "", "")


def _word(verdict: Migration) -> str:
    """Return in a word or two how a release came out."""
    if verdict.fault is not None:
        return verdict.fault.kind
    if not verdict.sufficient and verdict.divergence is not None:
        return verdict.divergence.code
    return verdict.holds or "nothing holds"
