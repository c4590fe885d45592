"""``refengine baseline``: known failures of an engine, as a file to fill in."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from compat.cli.command import (
    argument,
    group,
    option,
    refuse,
    refusing,
    refusing_to_judge,
)
from compat.cli.shared_options import clauses, engine_profile
from compat.cli.values import CLAUSE, ENGINE, OUTPUT, WHOLE, at_least
from compat.verdicts.exit_codes import (
    DIFFERS,
    FAULT,
    NOTHING_RAN,
    OK,
    STALE,
    exit_code,
)
from property_tests.defaults import EXAMPLES, SEED, TIMEOUT

if TYPE_CHECKING:
    from property_tests.judging.inputs import ConformRequest
    from property_tests.known.baseline import Baseline, JudgedOnce

Function = TypeVar("Function", bound=Callable[..., Any])

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")

app = group("Write the known failures of an engine down, and keep the file fresh.")


def _options(of: Function) -> Function:
    """Declare what both commands take."""
    for declare in (
        option(
            "--timeout",
            about="seconds for one world",
            kind=at_least(0.1),
            default=TIMEOUT,
        ),
        option("--seed", about="other numbers, other worlds", kind=WHOLE, default=SEED),
        option(
            "--examples", about="generated worlds", kind=at_least(0), default=EXAMPLES
        ),
        engine_profile("judge under this profile"),
        option(
            "--exclude",
            about="leave these out; written as for --clause",
            kind=CLAUSE,
            multiple=True,
        ),
        clauses("an id (ORD-001), a family (ORD) or part of an id"),
        option("--known", about="the file [default: ENGINE-known.toml]", kind=OUTPUT),
        argument("engine", "the engine, as for conform", ENGINE),
    ):
        of = declare(of)
    return of


def default_file(engine: str) -> Path:
    """Return the file that is meant if none is given, in the working directory."""
    return Path(f"{_UNFIT.sub('-', engine).strip('-.')}-known.toml")


@app.command()
@_options
def write(engine: str, known: Path | None, **how: Any) -> int:  # noqa: ANN401  # as for conform
    """Judge an engine, and write an entry for each clause that fails.

    Fill in reason and issue of each entry: conform refuses the file until you have.

    Exit codes: 0 every clause that fails has its entry, 1 a failing clause has no world
    to pin, 2 a mistake in what was given, 3 an engine or its door broke down, 4 nothing
    ran.
    """
    from property_tests.known.baseline import new_baseline

    path = known or default_file(engine)
    with refusing_to_judge("baseline write", *_mistakes()):
        if path.exists():
            refuse("baseline write", f"{path} is there already: 'baseline update' it")
        judged = judge(_request(engine, **how))
        return _finish("write", judged, new_baseline(judged), path)


@app.command()
@_options
def update(engine: str, known: Path | None, **how: Any) -> int:  # noqa: ANN401  # as for conform
    """Judge an engine, drop entries that are stale, and add those that are missing.

    All else in the file stays as it is: order, comments, reasons, other engines.

    Exit codes: 0 the file is fresh, 1 a failing clause has no world to pin, 2 a mistake
    in what was given, 3 an engine or its door broke down, 4 nothing ran, 5 an entry
    matches nothing.
    """
    from property_tests.failures import by_worker
    from property_tests.judging.pool import EngineLostError, Pool
    from property_tests.known.baseline import fresh_baseline
    from property_tests.known.entries import read_known
    from property_tests.known.states import PinnedWorldError
    from property_tests.registry import contract

    path, request = known or default_file(engine), _request(engine, **how)
    if not path.exists():
        refuse("baseline update", f"{path}: there is none yet, 'baseline write' it")
    about: dict[str, Any] = {"engine": engine, "profile": request.profile}
    about["clauses"] = []  # it only plays what is pinned
    with refusing_to_judge("baseline update", *_mistakes()):
        read_known(path, drafts=True)  # a mistake in it is told before all the work
        judged = judge(request)
        with Pool(about, 1, request.timeout) as pool:
            try:
                made = fresh_baseline(
                    path.read_bytes(), path, judged, contract(), by_worker(pool)
                )
            except (PinnedWorldError, EngineLostError) as error:
                sys.stderr.write(f"refengine baseline update: {error}\n")
                return FAULT
        return _finish("update", judged, made, path)


def judge(request: ConformRequest) -> JudgedOnce:
    """Judge the one engine that is asked for; raises UnusableEngineError."""
    from compat.verdicts.conformance import AnyEvent, Breakdown, ClauseResult
    from property_tests.judging.engines import judging
    from property_tests.known.baseline import JudgedOnce

    events: list[AnyEvent] = []
    with judging(request) as judgement:
        judgement.tell(events.append)
        [judge] = judgement.judges
        return JudgedOnce(
            judge.name,
            judge.version,
            [each for each in events if isinstance(each, ClauseResult)],
            [
                each
                for each in events
                if isinstance(each, Breakdown) and each.whose != "known-failures"
            ],
        )


def code_of(judged: JudgedOnce, made: Baseline) -> int:
    """Return the exit code for what was judged and written."""
    return exit_code(
        *([FAULT] if judged.faults else []),
        *([] if any(each.worlds for each in judged.results) else [NOTHING_RAN]),
        *([DIFFERS] if made.unpinned else []),
        *([STALE] if made.lost else []),
        OK,
    )


def _mistakes() -> tuple[type[Exception], ...]:
    from property_tests.judging.engine_workers import UnusableEngineError
    from property_tests.known.baseline import EditError
    from property_tests.known.entries import KnownFailuresError
    from property_tests.registry import UnknownSelectorError

    known = EditError, KnownFailuresError
    return *known, OSError, UnknownSelectorError, UnusableEngineError


def _request(
    engine: str,
    *,
    words: tuple[str, ...],
    exclude: tuple[str, ...],
    **how: Any,  # noqa: ANN401  # as above
) -> ConformRequest:
    from property_tests.judging.inputs import ConformRequest
    from property_tests.registry import (
        EverythingExcludedError,
        UnknownSelectorError,
        contract,
    )

    with refusing("baseline", UnknownSelectorError, EverythingExcludedError):
        clauses = contract().select(words, without=exclude)
    return ConformRequest(engines=(engine,), clauses=clauses, **how)


def _finish(name: str, judged: JudgedOnce, made: Baseline, path: Path) -> int:
    from rich.console import Console

    from compat.report.plain_text import plain

    if made.added or made.dropped:
        path.write_bytes(made.text.encode("utf-8"))
    console = Console(highlight=False, soft_wrap=True)
    for line in _lines(plain(judged.engine), made, path):
        console.print(line, markup=False)
    faults = (f"{each.whose}: {each.text}" for each in judged.faults)
    for text in (*faults, *made.lost):
        sys.stderr.write(f"refengine baseline {name}: {plain(text)}\n")
    return code_of(judged, made)


def _lines(who: str, made: Baseline, path: Path) -> Iterator[str]:
    from property_tests.known.entries import TODO

    for what, ids in (("added", made.added), ("dropped as stale", made.dropped)):
        if ids:
            yield f"{path}: {what}: {', '.join(ids)}"
    if not made.added and not made.dropped:
        yield f"{path}: nothing to write: {who} fails nothing that is not listed"
    if made.unpinned:
        names = ", ".join(made.unpinned)
        yield f"not written, since no world of theirs can be pinned: {names}"
    if made.added:
        yield f"now put reason and issue where each new entry says {TODO!r}"
