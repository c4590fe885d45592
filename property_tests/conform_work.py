"""What ``refengine conform`` does: judge engines, and write what comes of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO, TypeAlias

import typer
from rich.console import Console

from compat.commands import refuse, told
from compat.report.conform_gathered import Judgement as Gathered
from compat.report.conform_gathered import gather
from compat.report.conform_terminal import Terminal
from compat.verdicts.conformance import AnyEvent, ClauseResult, Progress
from property_tests.conform_command import Reports, Wanted
from property_tests.conforming import EnginesJudgement, judging
from property_tests.engine_judging import UnusableEngineError
from property_tests.known.entries import KnownFailuresError
from property_tests.registry import Clause, UnknownSelectorError, contract
from property_tests.running import Asked

Writer: TypeAlias = Callable[[Gathered], str]

MISTAKES: Final = (
    UnknownSelectorError,
    UnusableEngineError,
    KnownFailuresError,
    OSError,
)
NOT_CHECKED: Final = "is chosen, but no check decides it: "


def conform(wanted: Wanted) -> None:
    """Judge the engines, tell it, write the reports; always raises typer.Exit."""
    command = shlex.join(["refengine", "conform", *sys.argv[2:]])
    with told("conform", *MISTAKES):
        asked = _asked(wanted)
        with (
            judging(asked, command) as judgement,
            _opened(wanted.reports.events) as out,
        ):
            code = _run(judgement, wanted, out)
    raise typer.Exit(code)


def _asked(wanted: Wanted) -> Asked:
    return Asked(
        engines=wanted.engines,
        profile=wanted.profile,
        clauses=_chosen(wanted.words, wanted.ids, wanted.show_trace),
        examples=wanted.examples,
        seed=wanted.seed,
        timeout=wanted.timeout,
        jobs=wanted.jobs,
        known=wanted.known,
        strict=wanted.strict,
    )


def _run(judgement: EnginesJudgement, wanted: Wanted, out: TextIO | None) -> int:
    found: list[AnyEvent] = []
    console = Console(highlight=False, soft_wrap=True)
    with Terminal(console, Console(stderr=True)) as terminal:

        def take(event: AnyEvent) -> None:
            terminal.take(event)
            if not isinstance(event, Progress):
                found.append(event)

        footer = judgement.tell(take, out)
    _write(wanted.reports, found)
    if wanted.show_trace is not None:
        for line in _traces(judgement, found, wanted.show_trace):
            console.print(line, markup=False)
    return footer.exit_code


def _chosen(
    words: Sequence[str], ids: Sequence[str], shown: str | None
) -> tuple[Clause, ...]:
    """Return the selected clauses; raises UnknownSelectorError."""
    of = contract()
    if shown is not None:
        of.clause(shown)
    found = of.select(words, ids)
    if not any(each.status == "checked" for each in found):
        first = found[0]
        refuse("conform", f"{first.id} {NOT_CHECKED}it is {first.status}: {first.why}")
    return found


@contextmanager
def _opened(path: Path | None) -> Generator[TextIO | None, None, None]:
    if path is None:
        yield None
        return
    with path.open("w", encoding="utf-8") as out:
        yield out


def _write(reports: Reports, events: Sequence[AnyEvent]) -> None:
    """Write all the files that were asked for."""
    files = {
        "json": reports.json,
        "junit": reports.junit,
        "markdown": reports.markdown,
        "html": reports.html,
    }
    asked = {kind: path for kind, path in files.items() if path is not None}
    if asked:
        gathered = gather(events)
        for kind, path in asked.items():
            path.write_text(_writer(kind)(gathered), "utf-8")
    if reports.failures is not None:
        from property_tests.failures import write_failures  # noqa: PLC0415  # rarely

        write_failures(reports.failures, events)


def _writer(kind: str) -> Writer:
    """Return what writes one kind of report; each is loaded when it is asked for."""
    if kind == "json":
        from compat.report.conform_json import json_text  # noqa: PLC0415  # when it is asked for

        return json_text
    if kind == "junit":
        from compat.report.conform_junit import junit_text  # noqa: PLC0415  # when it is asked for

        return junit_text
    if kind == "markdown":
        from compat.report.conform_markdown import markdown_text  # noqa: PLC0415  # when it is asked for

        return markdown_text
    from compat.report.conform_page import page_text  # noqa: PLC0415  # when it is asked for

    return page_text


def _traces(
    judgement: EnginesJudgement, events: Sequence[AnyEvent], clause: str
) -> Iterator[str]:
    """Yield the whole trace of a clause's failure, for each engine that has one."""
    failed = {
        each.engine: each.failure
        for each in events
        if isinstance(each, ClauseResult) and each.clause == clause and each.failure
    }
    for judge in judgement.judges:
        found = failed.get(judge.name)
        if found is None:
            yield f"{judge.name}: {clause} did not fail, so there is no trace to show"
            continue
        yield f"{judge.name}: the whole trace behind {clause}, variant {found.variant}"
        yield from (f"  {line}" for line in judge.trace(found))
