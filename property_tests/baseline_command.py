"""``refengine baseline write|update ENGINE``: known failures as a file to fill in."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer
from rich.console import Console

from compat.commands import (
    DIFFERS,
    FAULT,
    NOTHING_RAN,
    OK,
    STALE,
    exit_code,
    new_app,
    refuse,
    runner,
    told,
)
from compat.report.conform_text import plain
from compat.verdicts.conformance import AnyEvent, ClauseResult, Fault
from property_tests.baseline import Baseline, JudgedOnce, fresh_baseline, new_baseline
from property_tests.conforming import judging
from property_tests.engine_judging import UnusableEngineError
from property_tests.known import KnownFailuresError, PinnedWorldError
from property_tests.known_entries import TODO, read_known
from property_tests.known_text import EditError
from property_tests.pool import EngineLostError, Pool
from property_tests.registry import UnknownSelectorError, contract
from property_tests.replaying import by_worker
from property_tests.running import EXAMPLES, SEED, TIMEOUT, Asked

Engine: TypeAlias = Annotated[str, typer.Argument(help="the engine, as for conform")]
File: TypeAlias = Annotated[
    Path | None,
    typer.Option("--known", dir_okay=False, help="the file; ENGINE-known.toml if not"),
]
Words: TypeAlias = Annotated[
    list[str] | None, typer.Option("-k", help="a family (ORD) or part of an id")
]
ProfileName: TypeAlias = Annotated[
    str | None, typer.Option("--profile", help="judge under this one")
]
Examples: TypeAlias = Annotated[int, typer.Option(min=0, help="generated worlds")]
Seed: TypeAlias = Annotated[int, typer.Option(help="other numbers, other worlds")]
Seconds: TypeAlias = Annotated[float, typer.Option(min=0.1, help="for one world")]

MISTAKES: Final = (
    EditError,
    KnownFailuresError,
    OSError,
    UnknownSelectorError,
    UnusableEngineError,
)
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")

app = new_app("Write the known failures of an engine down, and keep the file fresh.")


@app.command()
def write(  # noqa: PLR0913  # options of a command line
    engine: Engine,
    *,
    known: File = None,
    words: Words = None,
    profile: ProfileName = None,
    examples: Examples = EXAMPLES,
    seed: Seed = SEED,
    timeout: Seconds = TIMEOUT,
) -> None:
    """Judge an engine, and write an entry for each clause that fails.

    Reason and issue of each are left to be filled in: conform refuses the file before.

    Exit codes: 0 all that fails is written, 1 a failing clause has no world to pin, 2
    usage, 3 an engine or its door broke down, 4 nothing ran.
    """
    path = known or default_file(engine)
    with told("baseline write", *MISTAKES):
        if path.exists():
            refuse("baseline write", f"{path} is there already: 'baseline update' it")
        judged = judge(_asked(words, engine, profile, examples, seed, timeout))
        made = new_baseline(judged)
        _finish("write", judged, made, path)


@app.command()
def update(  # noqa: PLR0913  # options of a command line
    engine: Engine,
    *,
    known: File = None,
    words: Words = None,
    profile: ProfileName = None,
    examples: Examples = EXAMPLES,
    seed: Seed = SEED,
    timeout: Seconds = TIMEOUT,
) -> None:
    """Judge an engine, drop entries that are stale, and add those that are missing.

    All else in the file stays as it is: order, comments, reasons, other engines.

    Exit codes: 0 the file is fresh, 1 a failing clause has no world to pin, 2 usage, 3
    an engine or its door broke down, 4 nothing ran, 5 an entry matches nothing.
    """
    path = known or default_file(engine)
    asked = _asked(words, engine, profile, examples, seed, timeout)
    about: dict[str, Any] = {"engine": engine, "profile": profile}
    about |= {"corpus": "", "clauses": []}  # it only plays what is pinned
    with told("baseline update", *MISTAKES):
        read_known(path, drafts=True)  # a mistake in it is told before all the work
        judged = judge(asked)
        with Pool(about, 1, timeout) as pool:
            try:
                made = fresh_baseline(
                    path.read_bytes(), path, judged, contract(), by_worker(pool)
                )
            except (PinnedWorldError, EngineLostError) as error:
                sys.stderr.write(f"refengine baseline update: {error}\n")
                raise typer.Exit(FAULT) from None
        _finish("update", judged, made, path)


def default_file(engine: str) -> Path:
    """Return the file that is meant if none is given, in the working directory."""
    return Path(f"{_UNFIT.sub('-', engine).strip('-.')}-known.toml")


def judge(asked: Asked) -> JudgedOnce:
    """Judge the one engine that is asked for; raises UnusableEngineError."""
    events: list[AnyEvent] = []
    with judging(asked) as judgement:
        judgement.tell(events.append)
        [judge] = judgement.judges
        return JudgedOnce(
            judge.name,
            judge.version,
            [each for each in events if isinstance(each, ClauseResult)],
            [
                each
                for each in events
                if isinstance(each, Fault) and each.whose != "known-failures"
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


def _asked(
    words: list[str] | None,
    engine: str,
    profile: str | None,
    examples: int,
    seed: int,
    timeout: float,
) -> Asked:
    with told("baseline", UnknownSelectorError):
        clauses = contract().select(words or ())
    return Asked(
        engines=(engine,),
        profile=profile,
        clauses=clauses,
        examples=examples,
        seed=seed,
        timeout=timeout,
    )


def _finish(command: str, judged: JudgedOnce, made: Baseline, path: Path) -> None:
    if made.added or made.dropped:
        path.write_bytes(made.text.encode("utf-8"))
    console = Console(highlight=False, soft_wrap=True)
    for line in _lines(judged, made, path):
        console.print(line, markup=False)
    faults = (f"{each.whose}: {each.text}" for each in judged.faults)
    for text in (*faults, *made.lost):
        sys.stderr.write(f"refengine baseline {command}: {plain(text)}\n")
    raise typer.Exit(code_of(judged, made))


def _lines(judged: JudgedOnce, made: Baseline, path: Path) -> Iterator[str]:
    who = plain(judged.engine)
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


main = runner(app, "baseline")
