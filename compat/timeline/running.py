"""A version judged by a command of the user's own, which writes a report."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from compat.timeline.reports import TimelineReportError, read_report
from compat.verdicts.timeline import VersionJudged

REPORT: Final = "{report}"
VERSION: Final = "{version}"


class JudgingCommandError(ValueError):
    """A command that does not say where its report goes, or that cannot be started."""


class CommitsError(ValueError):
    """Commits that git does not have, or a folder that is not a repository."""


class JudgingCommand:
    """Judges one version after the other; ``told`` gets a line where one cannot be.

    In the command ``{version}`` stands for the version and ``{report}`` for the file of
    the report; it is started without a shell. Its exit code does not count, as that of
    a judgement says what it found. Raises JudgingCommandError.
    """

    def __init__(
        self, line: str, subject: str, seconds: float, told: Callable[[str], None]
    ) -> None:
        try:
            self._words = shlex.split(line)
        except ValueError as error:
            raise JudgingCommandError(f"{line!r}: {error}") from None
        if not any(REPORT in each for each in self._words):
            raise JudgingCommandError(
                f"{line!r} has no {REPORT}: write it where the command takes the file"
                f" of its report, such as --json {REPORT}"
            )
        self.subject = subject
        self._seconds = seconds
        self._told = told

    def judge(self, version: str, folder: Path | None = None) -> VersionJudged | None:
        """Return what is said of a version, None if there is no report of it."""
        with TemporaryDirectory(prefix="refengine-timeline-") as place:
            report = Path(place) / "report.json"
            why = self._run(version, report, folder)
            if not why:
                try:
                    return _one(report, read_report(report, version, self.subject))
                except TimelineReportError as error:
                    why = str(error)
        self._told(f"{version} could not be judged: {why}")
        return None

    def _run(self, version: str, report: Path, folder: Path | None) -> str:
        """Run the command; return why it has no report that counts, "" if it may."""
        pairs = ((VERSION, version), (REPORT, str(report)))
        words = [_filled(each, pairs) for each in self._words]
        try:
            process = subprocess.Popen(  # noqa: S603  # the user's own command
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise JudgingCommandError(
                f"{words[0]!r} cannot be started: {error}"
            ) from None
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
    raise TimelineReportError(report, f"is of several: {names}; judge one of them")


def commits(span: str, repository: Path) -> list[str]:
    """Return the commits of GOOD..BAD, oldest first and GOOD among them.

    Raises CommitsError.
    """
    good, dots, bad = span.partition("..")
    if not (good and dots and bad) or bad.startswith("."):
        raise CommitsError(f"{span!r} is not a GOOD..BAD, such as v1.0..HEAD")
    [first] = _git(repository, "rev-parse", "--short=12", f"{good}^{{commit}}")
    way = ("rev-list", "--reverse", "--ancestry-path", "--abbrev-commit", "--abbrev=12")
    found = _git(repository, *way, f"{good}..{bad}")
    if not found:
        raise CommitsError(f"{span}: {bad} does not come after {good}")
    return [first, *found]


@contextmanager
def checked_out(commit: str, repository: Path) -> Generator[Path]:
    """Give a folder with the files of a commit, for as long as it is needed."""
    with TemporaryDirectory(prefix="refengine-commit-") as place:
        tree = Path(place) / "tree"
        _git(repository, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git(repository, "worktree", "remove", "--force", str(tree))


def _git(repository: Path, *words: str) -> list[str]:
    """Return the lines that git prints; raises CommitsError."""
    command = ["git", "-C", str(repository), *words]
    try:
        done = subprocess.run(  # noqa: S603  # git, with words of ours and a name
            command, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise CommitsError(f"git cannot be started: {error}") from None
    if done.returncode:
        said = done.stderr.strip().split("\n")[0]
        raise CommitsError(f"git {words[0]}: {said}")
    return done.stdout.split()
