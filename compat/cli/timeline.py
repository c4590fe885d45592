"""``refengine timeline``: verdicts of releases over time, in one file."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat.cli.command import argument, flag, group, option, refuse, refusing
from compat.cli.shared_options import AS_JSON
from compat.cli.values import FILE_THERE, FOLDER, OUTPUT, at_least
from compat.report.plain_text import write_text
from compat.verdicts.exit_codes import DIFFERS, NOTHING_RAN, OK

if TYPE_CHECKING:
    from compat.timeline.bisecting import Judge, JudgingCommand
    from compat.timeline.store import Timeline
    from compat.verdicts.timeline import VersionJudged

FILE: Final = "the file of verdicts, such as verdicts.db"
SUBJECT: Final = "the engine or migration; needed where there are several"
PATIENCE: Final = 3600.0
"""Seconds that the judgement of one version may take."""

app = group("Keep verdicts of releases over time, and find the first bad one.")


@app.command("add")
@argument("file", FILE, OUTPUT)
@argument(
    "reports", "what conform or migrate check wrote by --json", FILE_THERE, nargs=-1
)
@option("--version", about="of what was judged, where the report does not say it")
@option("--subject", about="its name, in place of what the report says")
def add(
    *, file: Path, reports: tuple[Path, ...], version: str | None, subject: str | None
) -> int:
    """Keep what reports say, in FILE, which is made if it is not there.

    A version that is there already is replaced.
    """
    from compat.report.terminal import console
    from compat.timeline.reports import read_report
    from compat.timeline.store import Timeline

    if not reports:
        refuse("timeline add", "give a report, as --json of conform writes it")
    with _mistakes("timeline add"):
        found = [
            e for r in reports for e in read_report(r, version or "", subject or "")
        ]
        for each in found:
            done = "added" if Timeline(file).add(each) else "was there already"
            bad = f"{len(each.bad)} of {len(each.items)} not as they should be"
            console().print(f"{each.subject} {each.version}: {bad}; {done}")
    return OK


@app.command("show")
@argument("file", FILE, FILE_THERE)
@option("--subject", about=SUBJECT)
@flag("--all", "every", about="show what is good and never changed, too")
@option("--html", about="write a page of all subjects instead", kind=OUTPUT)
@AS_JSON
def show(
    *, file: Path, subject: str | None, every: bool, html: Path | None, as_json: bool
) -> int:
    """Show what is said of each version: what changed, and what is bad."""
    from compat.report.terminal import console
    from compat.report.timeline import (
        history_json,
        history_line,
        history_table,
        shown_rows,
        timeline_page,
    )
    from compat.timeline.store import Timeline

    with _mistakes("timeline show"):
        timeline = Timeline(file)
        if html is not None:
            names = [subject] if subject else timeline.subjects()
            page = timeline_page([timeline.history(each) for each in names])
            write_text(html, page)
            return OK
        history = timeline.history(subject or "")
    if as_json:
        sys.stdout.write(json.dumps(history_json(history), indent=1) + "\n")
        return OK
    rows = shown_rows(history, every=every)
    out = console()
    out.print(history_line(history, len(rows)))
    if rows:
        out.print(history_table(history, rows))
    return OK


@app.command("compare")
@argument("file", FILE, FILE_THERE)
@argument("old", "a version")
@argument("new", "a later version")
@option("--subject", about=SUBJECT)
def compare(*, file: Path, old: str, new: str, subject: str | None) -> int:
    """Tell what became worse or better from one version to another.

    Exit codes: 0 nothing is worse, 1 something is, or is no longer decided, 2 a mistake
    in what was given.
    """
    from compat.report.terminal import console
    from compat.report.timeline import change_lines
    from compat.timeline.store import Timeline
    from compat.verdicts.timeline import WORSE, changes

    with _mistakes("timeline compare"):
        timeline = Timeline(file)
        before = timeline.version(old, subject or "")
        after = timeline.version(new, subject or "")
    found = changes(before, after)
    for line in change_lines(before, after, found):
        console().print(line)
    return DIFFERS if any(each.kind in WORSE for each in found) else OK


@app.command("bisect")
@argument("file", FILE, OUTPUT)
@option(
    "--run",
    "line",
    about="judges one version; {version} and {report} are filled in",
    required=True,
    metavar="CMD",
)
@option("--versions", about="oldest first: 1.0,1.1,2.0", metavar="A,B,…")
@option("--commits", about="of git, in place of versions", metavar="GOOD..BAD")
@option("--repository", about="where the commits are", kind=FOLDER, default=".")
@option("--subject", about="the name of what is judged, if the report has none")
@option("--item", about="only this clause or case counts", metavar="NAME")
@option(
    "--timeout", about="seconds for one version", kind=at_least(1.0), default=PATIENCE
)
def bisect(  # noqa: PLR0913  # the options of the command
    *,
    file: Path,
    line: str,
    versions: str | None,
    commits: str | None,
    repository: Path,
    subject: str | None,
    item: str | None,
    timeout: float,
) -> int:
    """Find the first version that is worse than the first one given.

    Your command judges the middle of what is left, which then is half as much. What it
    finds is kept in FILE, and a version that is there already is not judged again. With
    --commits the command runs in a folder that has the files of the commit. A version
    of which there is no report is skipped.

    Exit codes: 0 found, 2 a mistake in what was given, 4 nothing became worse, or the
    first or last version cannot be judged.
    """
    from compat.report.terminal import console
    from compat.report.timeline import first_bad_lines
    from compat.timeline.bisecting import (
        Bisection,
        JudgingCommand,
        NothingToFindError,
    )
    from compat.timeline.bisecting import commits as commits_of
    from compat.timeline.store import Timeline

    name, out = "timeline bisect", console()
    if (versions is None) == (commits is None):
        refuse(name, "give either --versions or --commits")
    with _mistakes(name):
        command = JudgingCommand(line, subject or "", timeout, out.print)
        order = commits_of(commits, repository) if commits else _listed(name, versions)
        judge = _kept(Timeline(file), command, repository if commits else None)
        bisection = Bisection(order, judge, item or "")
        with refusing(name, NothingToFindError, code=NOTHING_RAN):
            found = bisection.first_bad()
    for each in first_bad_lines(found):
        out.print(each)
    return OK


def _listed(name: str, versions: str | None) -> Sequence[str]:
    found = [each.strip() for each in (versions or "").split(",")]
    if len(found) < 2 or not all(found) or len(set(found)) < len(found):
        refuse(name, "--versions: give two or more, each once: 1.0,1.1,2.0")
    return found


def _kept(
    timeline: Timeline, command: JudgingCommand, repository: Path | None
) -> Judge:
    """Return a judge that looks into the file first, and keeps what it finds."""
    from compat.report.terminal import console
    from compat.timeline.bisecting import checked_out

    def played(version: str) -> VersionJudged | None:
        if repository is None:
            return command.judge(version)
        with checked_out(version, repository) as folder:
            return command.judge(version, folder)

    def judge(version: str) -> VersionJudged | None:
        there = timeline.found(version, command.subject) if command.subject else None
        found = there or played(version)
        if found is not None:
            command.subject = found.subject
            timeline.add(found)
            how = "was there already" if there else "judged"
            console().print(f"{version}: {len(found.bad)} bad, {how}")
        return found

    return judge


@contextmanager
def _mistakes(name: str) -> Generator[None, None, None]:
    from compat.verdicts.timeline import TimelineError

    with refusing(name, TimelineError, OSError):
        yield
