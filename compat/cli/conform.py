"""``refengine conform``: judge engines, and write what comes of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, TypeAlias

from compat.cli.command import (
    argument,
    command,
    flag,
    option,
    refuse,
    refusing,
)
from compat.cli.values import FILE, FILE_THERE, FOLDER, WHOLE, at_least
from property_tests.defaults import EXAMPLES, SEED, TIMEOUT

if TYPE_CHECKING:
    from rich.console import Console

    from compat.report.conform_gathered import JudgementReport
    from compat.verdicts.conformance import AnyEvent
    from property_tests.judging.engines import EnginesJudgement
    from property_tests.registry import Clause

    Writer: TypeAlias = Callable[[JudgementReport], str]

NOT_CHECKED: Final = "is chosen, but no check decides it: "


@command()
@argument(
    "engines",
    "names of engines, module:factory or file.py:factory",
    nargs=-1,
    required=True,
)
@option("-k", "words", about="a family (ORD) or part of an id", multiple=True)
@option("--clause", "ids", about="exactly this one", multiple=True)
@option("--profile", about="judge under this one")
@option(
    "--examples",
    about="generated worlds beside the fixed cases",
    kind=at_least(0),
    default=EXAMPLES,
)
@option("--seed", about="other numbers, other worlds", kind=WHOLE, default=SEED)
@option("--timeout", about="seconds for one world", kind=at_least(0.1), default=TIMEOUT)
@option("--jobs", about="workers; 0: one a core", kind=at_least(0), default=0)
@option("--known", about="known failures, as TOML", kind=FILE_THERE)
@flag("--strict", about="a failed SHOULD counts as well")
@option(
    "--show-trace", "shown", about="all that a clause's failure rests on", metavar="ID"
)
@option("--events", about="every event, a line of JSON each", kind=FILE, metavar="FILE")
@option("--json", about="one document", kind=FILE, metavar="FILE")
@option("--junit", about="for a CI that reads JUnit", kind=FILE, metavar="FILE")
@option("--markdown", about="for a CI's summary", kind=FILE, metavar="FILE")
@option(
    "--html",
    about="one page: engines and clauses, to look into",
    kind=FILE,
    metavar="FILE",
)
@option("--failures", about="write each failure there, for replay", kind=FOLDER)
def conform(  # noqa: PLR0913  # options of a command line
    *,
    engines: tuple[str, ...],
    words: tuple[str, ...],
    ids: tuple[str, ...],
    profile: str | None,
    examples: int,
    seed: int,
    timeout: float,
    jobs: int,
    known: Path | None,
    strict: bool,
    shown: str | None,
    events: Path | None,
    json: Path | None,
    junit: Path | None,
    markdown: Path | None,
    html: Path | None,
    failures: Path | None,
) -> int:
    """Judge engines in the same worlds, clause by clause.

    Exit codes: 0 conformant, 1 not, 2 usage, 3 an engine, its door or the harness broke
    down, 4 nothing ran, 5 a known failure that is none any more.
    """
    from rich.console import Console

    from property_tests.judging.engines import judging
    from property_tests.judging.inputs import ConformRequest

    line = shlex.join(["refengine", "conform", *sys.argv[2:]])
    console = Console(highlight=False, soft_wrap=True)
    reports = {"json": json, "junit": junit, "markdown": markdown, "html": html}
    with refusing("conform", *_mistakes()):
        request = ConformRequest(
            engines=engines,
            profile=profile,
            clauses=_chosen(words, ids, shown),
            examples=examples,
            seed=seed,
            timeout=timeout,
            jobs=jobs,
            known=known,
            strict=strict,
        )
        with judging(request, line) as judgement, _opened(events) as out:
            found, code = _judged(judgement, console, out)
            _write(reports, failures, found)
            for text in _traces(judgement, found, shown) if shown else ():
                console.print(text, markup=False)
    return code


def _mistakes() -> tuple[type[Exception], ...]:
    from property_tests.judging.engine import UnusableEngineError
    from property_tests.known.entries import KnownFailuresError
    from property_tests.registry import UnknownSelectorError

    return UnknownSelectorError, UnusableEngineError, KnownFailuresError, OSError


def _chosen(
    words: Sequence[str], ids: Sequence[str], shown: str | None
) -> tuple[Clause, ...]:
    """Return the selected clauses; raises UnknownSelectorError."""
    from property_tests.registry import contract

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


def _judged(
    judgement: EnginesJudgement, console: Console, out: TextIO | None
) -> tuple[list[AnyEvent], int]:
    """Judge and show it on the way; return the events and the exit code."""
    from rich.console import Console

    from compat.report.conform_terminal import Terminal
    from compat.verdicts.conformance import Progress

    found: list[AnyEvent] = []
    with Terminal(console, Console(stderr=True)) as terminal:

        def take(event: AnyEvent) -> None:
            terminal.take(event)
            if not isinstance(event, Progress):
                found.append(event)

        footer = judgement.tell(take, out)
    return found, footer.exit_code


def _write(
    reports: Mapping[str, Path | None],
    failures: Path | None,
    events: Sequence[AnyEvent],
) -> None:
    """Write all the files that were asked for."""
    paths = {kind: path for kind, path in reports.items() if path is not None}
    if paths:
        from compat.report.conform_gathered import gather

        gathered = gather(events)
        for kind, path in paths.items():
            path.write_text(_writer(kind)(gathered), "utf-8")
    if failures is not None:
        from property_tests.failures import write_failures

        write_failures(failures, events)


def _writer(kind: str) -> Writer:
    """Return what writes one kind of report."""
    if kind == "json":
        from compat.report.conform_json import json_text

        return json_text
    if kind == "junit":
        from compat.report.conform_junit import junit_text

        return junit_text
    if kind == "markdown":
        from compat.report.conform_markdown import markdown_text

        return markdown_text
    from compat.report.conform_page import page_text

    return page_text


def _traces(
    judgement: EnginesJudgement, events: Sequence[AnyEvent], clause: str
) -> Iterator[str]:
    """Yield the whole trace of a clause's failure, for each engine that has one."""
    from compat.verdicts.conformance import ClauseResult

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


app = conform
