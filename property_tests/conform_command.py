"""``refengine conform``: whether engines keep the contract."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, TextIO, TypeAlias

import typer
from rich.console import Console

from compat.commands import new_app, refuse, runner, told
from compat.report.conform_gathered import Judgement as Gathered
from compat.report.conform_gathered import gather
from compat.report.conform_terminal import Terminal
from compat.verdicts.conformance import AnyEvent, ClauseResult, Progress
from property_tests.conforming import Judgement, judging
from property_tests.engine_judging import UnusableEngineError
from property_tests.known import KnownFailuresError
from property_tests.registry import Clause, UnknownSelectorError, contract
from property_tests.running import EXAMPLES, SEED, TIMEOUT, Asked

Writer: TypeAlias = Callable[[Gathered], str]
ToFile: TypeAlias = Path | None


def _to(about: str) -> Any:  # noqa: ANN401  # as typer has it
    """Return an option that names a file to write."""
    return typer.Option(help=about, dir_okay=False, metavar="FILE")


app = new_app("Judge whether engines keep the contract.")

NOT_CHECKED: Final = "is chosen, but no check decides it: "


@app.command()
def conform(  # noqa: PLR0913, PLR0917  # options of a command line
    engines: Annotated[
        list[str],
        typer.Argument(help="names of engines, module:factory or file.py:factory"),
    ],
    words: Annotated[
        list[str] | None, typer.Option("-k", help="a family (ORD) or part of an id")
    ] = None,
    clause: Annotated[list[str] | None, typer.Option(help="exactly this one")] = None,
    profile: Annotated[str | None, typer.Option(help="judge under this one")] = None,
    examples: Annotated[
        int, typer.Option(min=0, help="generated worlds beside the fixed cases")
    ] = EXAMPLES,
    seed: Annotated[int, typer.Option(help="other numbers, other worlds")] = SEED,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="seconds for one world")
    ] = TIMEOUT,
    jobs: Annotated[int, typer.Option(min=0, help="workers; 0: one a core")] = 0,
    known: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="known failures, as TOML"),
    ] = None,
    strict: Annotated[  # noqa: FBT002  # an option of the command line
        bool, typer.Option("--strict", help="a failed SHOULD counts as well")
    ] = False,
    show_trace: Annotated[
        str | None,
        typer.Option(metavar="ID", help="all that a clause's failure rests on"),
    ] = None,
    events: Annotated[ToFile, _to("every event, a line of JSON each")] = None,
    json: Annotated[ToFile, _to("one document")] = None,
    junit: Annotated[ToFile, _to("for a CI that reads JUnit")] = None,
    markdown: Annotated[ToFile, _to("for a CI's summary")] = None,
    html: Annotated[ToFile, _to("one page: engines and clauses, to look into")] = None,
    failures: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="write each failure there, for replay"),
    ] = None,
) -> None:
    """Judge engines in the same worlds, clause by clause.

    Exit codes: 0 conformant, 1 not, 2 usage, 3 an engine, its door or the harness broke
    down, 4 nothing ran, 5 a known failure that is none any more.
    """
    mistakes = (UnknownSelectorError, UnusableEngineError, KnownFailuresError, OSError)
    with told("conform", *mistakes):
        asked = Asked(
            engines=tuple(engines),
            profile=profile,
            clauses=_chosen(words or (), clause or (), show_trace),
            examples=examples,
            seed=seed,
            timeout=timeout,
            jobs=jobs,
            known=known,
            strict=strict,
        )
        files = {"json": json, "junit": junit, "markdown": markdown, "html": html}
        reports = _Reports(files, failures)
        command = shlex.join(["refengine", "conform", *sys.argv[2:]])
        with judging(asked, command) as judgement, _opened(events) as out:
            code = _run(judgement, reports, out, show_trace)
    raise typer.Exit(code)


def _run(
    judgement: Judgement, reports: _Reports, out: TextIO | None, show_trace: str | None
) -> int:
    found: list[AnyEvent] = []
    console = Console(highlight=False, soft_wrap=True)
    with Terminal(console, Console(stderr=True)) as terminal:

        def take(event: AnyEvent) -> None:
            terminal.take(event)
            if not isinstance(event, Progress):
                found.append(event)

        footer = judgement.tell(take, out)
    reports.write(found)
    if show_trace is not None:
        for line in _traces(judgement, found, show_trace):
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


class _Reports:
    """The files a judgement is written to, once it is done."""

    def __init__(self, files: dict[str, Path | None], failures: Path | None) -> None:
        self._files = {kind: path for kind, path in files.items() if path is not None}
        self._failures = failures

    def write(self, events: Sequence[AnyEvent]) -> None:
        """Write all that were asked for."""
        if self._files:
            gathered = gather(events)
            for kind, path in self._files.items():
                path.write_text(_writer(kind)(gathered), "utf-8")
        if self._failures is not None:
            from property_tests.failures import write_failures  # noqa: PLC0415  # rarely

            write_failures(self._failures, events)


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
    judgement: Judgement, events: Sequence[AnyEvent], clause: str
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


main = runner(app, "conform")
