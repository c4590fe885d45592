"""The first bad version: judged by a command of the user's own, which writes reports.

As many versions are judged as it takes to halve a list until one is left.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from compat.timeline.reports import read_report
from compat.verdicts.timeline import (
    WORSE,
    FirstBad,
    TimelineError,
    VersionChange,
    VersionJudged,
    changes,
)
from refengine.testing.owned import folder_prefix, run, unmarked

Judge: TypeAlias = Callable[[str], "VersionJudged | None"]
"""Judges a version, or returns None if that is not possible."""
REPORT: Final = "{report}"
VERSION: Final = "{version}"


class NothingToFindError(ValueError):
    """Versions between which nothing became worse, or whose ends cannot be judged."""


class Bisection:
    """A search over versions in order, the first of which is taken for good.

    What is bad is bad compared with the first version: what failed there already is not
    a change. With an ``item``, only that one counts.
    """

    def __init__(self, versions: Sequence[str], judge: Judge, item: str = "") -> None:
        self._versions = tuple(versions)
        self._judge = judge
        self._item = item
        self._known: dict[str, VersionJudged | None] = {}

    @property
    def judged(self) -> tuple[str, ...]:
        """The versions that were judged, in their order."""
        return tuple(each for each in self._versions if self._known.get(each))

    def first_bad(self) -> FirstBad:
        """Search, and return what was found; raises NothingToFindError.

        A version that cannot be judged is passed by for one beside it.
        """
        good, bad = 0, len(self._versions) - 1
        for end in (good, bad):
            if self._judged(end) is None:
                raise NothingToFindError(f"{self._versions[end]} could not be judged")
        if not self._worse(bad):
            what = f"{self._item} is not" if self._item else "nothing is"
            raise NothingToFindError(
                f"{what} worse in {self._versions[bad]} than in {self._versions[good]}"
            )
        while (at := self._between(good, bad)) is not None:
            if self._worse(at):
                bad = at
            else:
                good = at
        return FirstBad(
            self._versions[good],
            self._versions[bad],
            tuple(self._worse(bad)),
            self._versions[good + 1 : bad],
            tuple(self._against(good, bad)),
        )

    def _judged(self, at: int) -> VersionJudged | None:
        version = self._versions[at]
        if version not in self._known:
            self._known[version] = self._judge(version)
        return self._known[version]

    def _worse(self, at: int) -> list[VersionChange]:
        first, here = self._judged(0), self._judged(at)
        if first is None or here is None:
            return []
        found = [each for each in changes(first, here) if each.kind in WORSE]
        return [each for each in found if self._item in {"", each.item}]

    def _between(self, good: int, bad: int) -> int | None:
        """Return the judged version nearest to the middle, None if there is none."""
        middle = (good + bad) // 2
        up, down = range(middle + 1, bad), range(middle, good, -1)
        for pair in zip_longest(down, up):
            for at in pair:
                if at is not None and self._judged(at) is not None:
                    return at
        return None

    def _against(self, good: int, bad: int) -> Iterator[str]:
        """Yield versions that say otherwise, of those that were judged anyway."""
        for at, version in enumerate(self._versions):
            if self._known.get(version) is None or good < at < bad:
                continue
            if bool(self._worse(at)) != (at >= bad):
                yield version


class JudgingCommand:
    """Judges one version after the other; ``told`` gets a line where one cannot be.

    In the command ``{version}`` stands for the version and ``{report}`` for the file of
    the report; it is started without a shell. Its exit code does not count, as that of
    a judgement says what it found. Raises TimelineError.
    """

    def __init__(
        self, line: str, subject: str, seconds: float, told: Callable[[str], None]
    ) -> None:
        try:
            self._words = shlex.split(line)
        except ValueError as error:
            raise TimelineError(f"{line!r}: {error}") from None
        if not any(REPORT in each for each in self._words):
            raise TimelineError(
                f"{line!r} has no {REPORT}: write it where the command takes the file"
                f" of its report, such as --json {REPORT}"
            )
        self.subject = subject
        self._seconds = seconds
        self._told = told

    def judge(self, version: str, folder: Path | None = None) -> VersionJudged | None:
        """Return what is said of a version, None if there is no report of it."""
        with TemporaryDirectory(prefix=folder_prefix()) as place:
            report = Path(place) / "report.json"
            why = self._run(version, report, folder)
            if not why:
                try:
                    return _one(report, read_report(report, version, self.subject))
                except TimelineError as error:
                    why = str(error)
        self._told(f"{version} could not be judged: {why}")
        return None

    def _run(self, version: str, report: Path, folder: Path | None) -> str:
        """Run the command; return why it has no report that counts, "" if it may."""
        pairs = ((VERSION, version), (REPORT, str(report)))
        words = [_filled(each, pairs) for each in self._words]
        try:
            with unmarked():
                process = subprocess.Popen(  # noqa: S603  # the user's own command
                    words,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise TimelineError(f"{words[0]!r} cannot be started: {error}") from None
        with process:
            try:
                out, _ = process.communicate(timeout=self._seconds)
            except subprocess.TimeoutExpired:
                return f"it took more than {self._seconds:g} s"
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        lines = out.decode("utf-8", "replace").split("\n")
        last = next((each.strip() for each in reversed(lines) if each.strip()), "")
        missing = f"exit code {process.returncode}, {last or 'nothing was printed'}"
        return "" if report.exists() else missing


def _filled(word: str, pairs: Sequence[tuple[str, str]]) -> str:
    for name, value in pairs:
        word = word.replace(name, value)
    return word


def _one(report: Path, found: Sequence[VersionJudged]) -> VersionJudged:
    if len(found) == 1:
        return found[0]
    names = ", ".join(each.subject for each in found)
    raise TimelineError(f"{report}: is of several: {names}; judge one of them")


def commits(span: str, repository: Path) -> list[str]:
    """Return the commits of GOOD..BAD, oldest first and GOOD among them.

    Raises TimelineError.
    """
    good, dots, bad = span.partition("..")
    if not (good and dots and bad) or bad.startswith("."):
        raise TimelineError(f"{span!r} is not a GOOD..BAD, such as v1.0..HEAD")
    [first] = _git(repository, "rev-parse", "--short=12", f"{good}^{{commit}}")
    way = ("rev-list", "--reverse", "--ancestry-path", "--abbrev-commit", "--abbrev=12")
    found = _git(repository, *way, f"{good}..{bad}")
    if not found:
        raise TimelineError(f"{span}: {bad} does not come after {good}")
    return [first, *found]


@dataclass(frozen=True, slots=True)
class MainLine:
    """The commits of a branch from one to another, a merge being one of them.

    What a merge brought is looked into only where the merge is found to be bad.
    """

    repository: Path

    def commits(self, span: str) -> list[str]:
        """Return those of GOOD..BAD, oldest first and GOOD among them.

        Raises TimelineError.
        """
        first, *_ = commits(span, self.repository)
        good, _, bad = span.partition("..")
        return [first, *self._listed(f"{good}..{bad}")]

    def merged(self, commit: str) -> Sequence[Sequence[str]]:
        """Return what each branch has that a commit merged; none if it is no merge."""
        ours, *theirs = _git(self.repository, "rev-parse", f"{commit}^@")
        return [self._listed(f"{ours}..{each}") for each in theirs]

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return " ".join(_git(self.repository, "log", "-1", "--format=%s", commit))

    def _listed(self, span: str) -> list[str]:
        way = ("rev-list", "--reverse", "--first-parent", "--abbrev-commit")
        return _git(self.repository, *way, "--abbrev=12", span)

    def first_bad(
        self, order: Sequence[str], judge: Judge, told: Callable[[str], None]
    ) -> FirstBad:
        """Return the first bad commit, of a merged branch if that is what brought it.

        ``told`` hears of merges. Raises NothingToFindError and TimelineError.
        """
        found = Bisection(order, judge).first_bad()
        for branch in self.merged(found.version):
            many = "a commit" if len(branch) == 1 else f"{len(branch)} commits"
            told(f"{found.version} merges {many}")
            try:
                return self.first_bad([order[0], *branch], judge, told)
            except NothingToFindError as error:
                told(f"{found.version} itself, then: {error}")
        return found


@contextmanager
def checked_out(commit: str, repository: Path) -> Generator[Path]:
    """Give a folder with the files of a commit, for as long as it is needed."""
    with TemporaryDirectory(prefix=folder_prefix()) as place:
        tree = Path(place) / "tree"
        _git(repository, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git(repository, "worktree", "remove", "--force", str(tree))


def _git(repository: Path, *words: str) -> list[str]:
    """Return the lines that git prints; raises TimelineError."""
    command = ["git", "-C", str(repository), *words]
    try:
        done = run(command)
    except OSError as error:
        raise TimelineError(f"git cannot be started: {error}") from None
    if done.returncode:
        said = done.stderr.strip().split("\n")[0]
        raise TimelineError(f"git {words[0]}: {said}")
    return done.stdout.split()
