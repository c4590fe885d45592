"""``refengine conform``: judge engines, and write what comes of it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

from compat.cli.command import (
    CLAUSES_PART,
    REPORTS_PART,
    WORLDS_PART,
    argument,
    command,
    flag,
    option,
    refuse,
    refusing_to_judge,
)
from compat.cli.conform_kinds import (
    check_arguments,
    check_dialect,
    check_observer,
    check_packages,
    check_smallest,
)
from compat.cli.shared_options import CLUSTER, clauses, engine_profile, jobs
from compat.cli.spread_on import spread_on
from compat.cli.values import (
    CLAUSE,
    ENGINE,
    FILE_THERE,
    OUTPUT,
    OUTPUT_FOLDER,
    WHOLE,
    at_least,
    one_of,
)
from property_tests.defaults import EXAMPLES, SEED, TIMEOUT
from property_tests.dialects.table import DIALECTS

if TYPE_CHECKING:
    from rich.console import Console

    from compat.verdicts.conformance import AnyEvent, Progress
    from property_tests.judging.by_clause import ClauseJudgement
    from property_tests.judging.engines import EnginesJudgement
    from property_tests.registry import Clause, Contract

NOT_CHECKED: Final = "is chosen, but no check decides it: "
FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "events": "every event, a line of JSON each",
        "json": "the report as one document",
        "junit": "for a CI that reads JUnit",
        "markdown": "for a CI's summary",
        "html": "one page: engines and clauses, to look into",
        "badge": "for a project's page: a picture if .svg, else JSON for shields.io",
        "history": "add a line: a row of a table if .md, else JSON",
    }
)
"""What can be written, and what it is for."""
F = TypeVar("F", bound=Callable[..., int])


def _files(command: F) -> F:
    """Declare an option for each file."""
    for name, about in reversed([*FILES.items()]):
        command = option(f"--{name}", about=about, kind=OUTPUT, part=REPORTS_PART)(
            command
        )
    return command


@command()
@argument(
    "engines",
    "names of engines, module:factory or file.py:factory",
    ENGINE,
    nargs=-1,
)
@option(
    "--engine-cmd",
    "commands",
    about="an engine behind a driver: the command that starts it",
    multiple=True,
    metavar="CMD",
)
@option(
    "--store",
    "stores",
    about="judge a checkpoint store, module:Store, in place of engines",
    multiple=True,
    metavar="STORE",
)
@option(
    "--observer",
    about="judge what this setup turns on, such as tracing: its spans on the engines",
    kind=FILE_THERE,
)
@clauses("an id (ORD-001), a family (ORD) or part of an id", CLAUSES_PART)
@option(
    "--exclude",
    about="leave these out; written as for --clause",
    kind=CLAUSE,
    multiple=True,
    metavar="WORD",
    part=CLAUSES_PART,
)
@engine_profile("judge under this profile", part=WORLDS_PART)
@option(
    "--dialect",
    "spoken",
    about="the dialect that a door of your own is to",
    kind=one_of(*(each.name for each in DIALECTS if each.doors)),
)
@option(
    "--examples",
    about="generated worlds beside the fixed cases",
    kind=at_least(0),
    default=EXAMPLES,
    part=WORLDS_PART,
)
@flag(
    "--smallest",
    about="one fixed case of each clause and no other world, to see soon whether an"
    " engine broke",
    part=WORLDS_PART,
)
@option(
    "--seed",
    about="other numbers, other worlds",
    kind=WHOLE,
    default=SEED,
    part=WORLDS_PART,
)
@option(
    "--worlds",
    about="sessions of your own: chats, spans, scenarios, cassettes, a corpus",
    kind=FILE_THERE,
    multiple=True,
    part=WORLDS_PART,
)
@option(
    "--timeout",
    about="seconds for one world",
    kind=at_least(0.1),
    default=TIMEOUT,
    part=WORLDS_PART,
)
@jobs("processes that work; without it, or with 0, one for each core", 0)
@option("--known", about="known failures, as TOML", kind=FILE_THERE)
@option(
    "--with",
    "packages",
    about="what engines run with: a requirement ('langgraph==1.0.*'), a file of them,"
    " a virtual environment's folder, or a Python",
    metavar="PACKAGES",
    multiple=True,
)
@flag("--strict", about="a failed SHOULD counts as well")
@option(
    "--show-trace",
    "shown",
    about="all that a clause's failure rests on",
    kind=CLAUSE,
    metavar="ID",
    part=CLAUSES_PART,
)
@_files
@CLUSTER
@option(
    "--failures",
    about="write each failure there, for replay",
    kind=OUTPUT_FOLDER,
    part=REPORTS_PART,
)
def conform(  # noqa: PLR0913  # options of a command line
    *,
    engines: tuple[str, ...],
    commands: tuple[str, ...],
    stores: tuple[str, ...],
    observer: Path | None,
    words: tuple[str, ...],
    exclude: tuple[str, ...],
    profile: str | None,
    spoken: str | None,
    examples: int,
    smallest: bool,
    seed: int,
    worlds: tuple[Path, ...],
    timeout: float,
    jobs: int | None,
    known: Path | None,
    packages: tuple[str, ...],
    strict: bool,
    shown: str | None,
    on: str | None,
    failures: Path | None,
    **files: Path | None,
) -> int:
    """Judge engines in the same worlds, clause by clause; or stores of checkpoints.

    Engines of a dialect, such as flow, are judged by the clauses of its family. If a
    door of your own is to a dialect, say so with --dialect. With --observer not the
    engines are judged, but what a setup of yours sees of them.

    Exit codes: 0 conformant, 1 not, 2 a mistake in what was given, 3 an engine, its
    door or the harness broke down, 4 nothing ran, 5 a known failure no longer fails, or
    an entry matches nothing. If several apply, the first of 2, 3, 4, 1, 5 wins.
    """
    engines += tuple(f"cmd:{each}" for each in commands)
    check_arguments(engines=bool(engines), stores=bool(stores))
    dialect = (
        check_observer(observer, engines)
        if observer
        else check_dialect(engines, spoken)
    )
    check_packages(engines)
    check_smallest()

    from compat.environments.workers import chosen_python
    from compat.report.conform_files import check_paths, write_reports
    from compat.report.terminal import console
    from compat.wire.scrubbing.scrubber import output_scrubber
    from property_tests.dialects.dialects import dialect_named
    from property_tests.dialects.judging import DialectRequest, dialect_judgement
    from property_tests.judging.engines import EnginesJudgement, judging
    from property_tests.judging.inputs import ConformRequest
    from property_tests.registry import contract
    from property_tests.stores.clauses import store_contract
    from property_tests.stores.judging import StoreRequest, store_judgement

    line = shlex.join(["refengine", "conform", *sys.argv[2:]])
    out = console(output_scrubber().text)
    with (
        waiting() as wait,
        refusing_to_judge("conform", *_mistakes()),
        ExitStack() as stack,
    ):
        reports = {name: files[name] for name in FILES}  # click has its own order
        check_paths(reports)
        family = dialect_named(dialect) if dialect else None
        of = store_contract() if stores else family.contract if family else contract()
        clauses, excluded = _chosen(words, exclude, shown, of)
        asked: dict[str, Any] = {"clauses": clauses, "excluded": excluded}
        asked |= {"examples": examples, "seed": seed, "timeout": timeout}
        asked |= {"jobs": jobs or 0, "strict": strict}
        asked["python"] = stack.enter_context(chosen_python(packages))
        judged: EnginesJudgement | ClauseJudgement
        if stores:
            judged = store_judgement(StoreRequest(stores=stores, **asked), line)
        elif family:
            asked |= {"doors": engines, "profile": profile, "known": known}
            asked |= {"setup": observer}
            judged = dialect_judgement(DialectRequest(dialect=family, **asked), line)
        else:
            asked |= {"engines": engines, "profile": profile, "known": known}
            asked |= {"worlds": worlds, "smallest": smallest}
            spread = stack.enter_context(spread_on("conform", on, shown=False))
            request = ConformRequest(spread=spread, **asked)
            judged = stack.enter_context(judging(request, line))
        with _opened(reports.pop("events")) as file:
            wait.close()
            found, code = _judged(judged, out, file)
            write_reports(reports, found)
            _write_failures(failures, found)
            if isinstance(judged, EnginesJudgement) and shown:
                for text in _traces(judged, found, shown):
                    out.print(text)
    return code


def _mistakes() -> tuple[type[Exception], ...]:
    from compat.environments.making import EnvironmentMakingError
    from compat.environments.naming import EnvironmentChoiceError
    from compat.environments.pythons import PythonError
    from compat.models.errors import GivenFileError, UnusedFileError
    from compat.report.conform_files import SamePathError
    from property_tests.judging.engine_workers import UnusableEngineError
    from property_tests.known.entries import KnownFailuresError
    from property_tests.registry import EverythingExcludedError, UnknownSelectorError

    selection = UnknownSelectorError, EverythingExcludedError
    files = GivenFileError, UnusedFileError, SamePathError, KnownFailuresError
    around = EnvironmentChoiceError, EnvironmentMakingError, PythonError
    return *selection, *files, *around, UnusableEngineError, OSError


def _chosen(
    words: Sequence[str],
    without: Sequence[str],
    shown: str | None,
    of: Contract,
) -> tuple[tuple[Clause, ...], Mapping[str, int]]:
    """Return the selected clauses, and what was excluded; raises what select raises."""
    if shown is not None:
        of.clause(shown)
    found = of.select(words, without=without)
    if not any(each.status == "checked" for each in found):
        first = found[0]
        refuse("conform", f"{first.id} {NOT_CHECKED}it is {first.status}: {first.why}")
    return found, of.taken_out(words, without)


@contextmanager
def waiting() -> Generator[ExitStack, None, None]:
    """Show at a terminal that worlds are drawn, from the start until it is closed."""
    from rich.console import Console

    live = Console(stderr=True)
    with ExitStack() as stack:
        if live.is_terminal:
            stack.enter_context(live.status("drawing worlds and starting engines"))
        yield stack


@contextmanager
def _opened(path: Path | None) -> Generator[TextIO | None, None, None]:
    if path is None:
        yield None
        return
    with path.open("w", encoding="utf-8") as out:
        yield out


@contextmanager
def _counted(come: Sequence[Progress]) -> Generator[None, None, None]:
    """Say of a judgement that is interrupted how far it had come."""
    from compat.report.conform_text import counted, does

    try:
        yield
    except KeyboardInterrupt:
        for last in come:
            of = f"{last.done:,} of {counted(last.worlds, 'world')}"
            failing = f"{counted(last.failing, 'clause')} {does(last.failing, 'fail')}"
            so_far = f"{failing} so far, nothing is judged yet"
            sys.stderr.write(f"refengine conform: {last.engine}: {of}, {so_far}\n")
        raise


def _judged(
    judgement: EnginesJudgement | ClauseJudgement,
    console: Console,
    out: TextIO | None,
) -> tuple[list[AnyEvent], int]:
    """Judge and show it on the way; return the events and the exit code."""
    from rich.console import Console

    from compat.report.conform_terminal import Terminal
    from compat.verdicts.conformance import Progress

    found: list[AnyEvent] = []
    come: list[Progress] = []
    with _counted(come), Terminal(console, Console(stderr=True)) as terminal:

        def take(event: AnyEvent) -> None:
            terminal.take(event)
            if isinstance(event, Progress):
                come[:] = [event]
            else:
                found.append(event)

        footer = judgement.tell(take, out)
    return found, footer.exit_code


def _write_failures(folder: Path | None, events: Sequence[AnyEvent]) -> None:
    if folder is not None:
        from property_tests.failures import write_failures

        write_failures(folder, events)


def _traces(
    judgement: EnginesJudgement, events: Sequence[AnyEvent], clause: str
) -> Iterator[str]:
    """Yield the whole trace of a clause's failure, for each engine that has one."""
    from compat.verdicts.conformance import ClauseResult
    from property_tests.registry import contract

    clause = contract().clause(clause).id  # as reports write it
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
