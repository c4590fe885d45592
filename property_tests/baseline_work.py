"""What ``refengine baseline`` does: known failures as a file to fill in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer
from rich.console import Console

from compat.commands import (
    DIFFERS,
    FAULT,
    NOTHING_RAN,
    OK,
    STALE,
    exit_code,
    refuse,
    told,
)
from compat.report.conform_text import plain
from compat.verdicts.conformance import AnyEvent, Breakdown, ClauseResult
from property_tests.baseline_command import Wanted
from property_tests.conforming import judging
from property_tests.engine_judging import UnusableEngineError
from property_tests.failures import by_worker
from property_tests.known.baseline import (
    Baseline,
    EditError,
    JudgedOnce,
    fresh_baseline,
    new_baseline,
)
from property_tests.known.entries import TODO, KnownFailuresError, read_known
from property_tests.known.states import PinnedWorldError
from property_tests.pool import EngineLostError, Pool
from property_tests.registry import UnknownSelectorError, contract
from property_tests.running import Asked

MISTAKES: Final = (
    EditError,
    KnownFailuresError,
    OSError,
    UnknownSelectorError,
    UnusableEngineError,
)


def write(wanted: Wanted) -> None:
    """Judge, and write an entry for each failing clause; always raises typer.Exit."""
    path = wanted.path
    with told("baseline write", *MISTAKES):
        if path.exists():
            refuse("baseline write", f"{path} is there already: 'baseline update' it")
        judged = judge(_asked(wanted))
        made = new_baseline(judged)
        _finish("write", judged, made, path)


def update(wanted: Wanted) -> None:
    """Judge, and bring the file up to date; always raises typer.Exit."""
    path, asked = wanted.path, _asked(wanted)
    about: dict[str, Any] = {"engine": wanted.engine, "profile": wanted.profile}
    about |= {"corpus": "", "clauses": []}  # it only plays what is pinned
    with told("baseline update", *MISTAKES):
        read_known(path, drafts=True)  # a mistake in it is told before all the work
        judged = judge(asked)
        with Pool(about, 1, wanted.timeout) as pool:
            try:
                made = fresh_baseline(
                    path.read_bytes(), path, judged, contract(), by_worker(pool)
                )
            except (PinnedWorldError, EngineLostError) as error:
                sys.stderr.write(f"refengine baseline update: {error}\n")
                raise typer.Exit(FAULT) from None
        _finish("update", judged, made, path)


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


def _asked(wanted: Wanted) -> Asked:
    with told("baseline", UnknownSelectorError):
        clauses = contract().select(wanted.words)
    return Asked(
        engines=(wanted.engine,),
        profile=wanted.profile,
        clauses=clauses,
        examples=wanted.examples,
        seed=wanted.seed,
        timeout=wanted.timeout,
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
