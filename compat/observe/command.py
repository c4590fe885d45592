"""``refengine observe FILE…``: rows of observed behaviour, a line each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Optional

import typer
from rich.console import Console
from rich.text import Text

from compat.commands import (
    DIFFERS,
    FAULT,
    NOTHING_RAN,
    USAGE,
    exit_code,
    new_app,
    runner,
    told,
)
from compat.observe.judging import Judge, Verdict, purposes, summary, to_json
from compat.observe.rows import Row, RowsError, Unreadable, load_rows
from refengine.errors import UnknownProfileError
from refengine.profile import profile

app = new_app("Run rows of observed behaviour and tell which hold.")

SHOWN: Final = {
    "holds": ("holds", "green"),
    "differs": ("DIFFERS", "bold red"),
    "beyond": ("beyond", "yellow"),
    "on_purpose": ("on purpose", "cyan"),
    "not_compared": ("not compared", "yellow"),
}


@app.command()
def observe(
    files: Annotated[list[Path], typer.Argument(help="files of rows (JSON lists)")],
    profile_name: Annotated[
        Optional[str],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option("--profile", help="compare only this profile's version"),
    ] = None,
    json_file: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option("--json", help="write counts and a list by id to this file"),
    ] = None,
) -> None:
    """Run rows of observed behaviour on the reference engine, a line each.

    holds: everything the row names was seen. DIFFERS: the first thing that was not.
    beyond: the row needs an operation outside the vocabulary. on purpose: a difference
    that is meant, with the reason. not compared: no profile stands for its versions.

    Exit codes: 0 no row differs, 1 a row differs, 2 a file, row or name that cannot be
    read, 3 the harness failed at a row, 4 no row was compared.
    """
    with told("observe", RowsError, OSError, UnknownProfileError):
        rows = [row for file in files for row in load_rows(file)]
        profiles = None if profile_name is None else [profile(profile_name).name]
    judge = Judge(profiles, purposes())
    console = Console(highlight=False, soft_wrap=True)
    verdicts: list[Verdict] = []
    for row in rows:
        verdict = judge.judge(row)
        verdicts.append(verdict)
        console.print(_line(verdict))
    console.print(_counts(verdicts, rows))
    if json_file is not None:
        with told("observe", OSError):
            json_file.write_text(to_json(summary(verdicts, rows)), encoding="utf-8")
    raise typer.Exit(_code(verdicts))


def _line(verdict: Verdict) -> Text:
    word, style = SHOWN[verdict.status]
    line = Text(f"{word:<13}", style=style)
    line.append(verdict.id, style="default")
    if verdict.detail:
        line.append(f"  {verdict.detail}", style="dim" if style == "green" else style)
    return line


def _counts(verdicts: list[Verdict], rows: list[Row | Unreadable]) -> str:
    counts = summary(verdicts, rows)
    parts = ", ".join(
        f"{counts[status]} {word.lower()}" for status, (word, _) in SHOWN.items()
    )
    text = f"\n{counts['rows']} rows: {parts}"
    compared = ", ".join(f"{v} {n}" for v, n in counts["compared"].items() if n)
    without = ", ".join(counts["versions_without_profile"]) or "none"
    versions = f"rows compared by version: {compared or 'none'}"
    return f"{text}\n{versions}; without profile: {without}"


def _code(verdicts: list[Verdict]) -> int:
    codes = [DIFFERS for verdict in verdicts if verdict.status == "differs"]
    codes += [FAULT for verdict in verdicts if verdict.fault]
    codes += [USAGE for verdict in verdicts if verdict.unknown]
    if not any(v.status in {"holds", "differs", "on_purpose"} for v in verdicts):
        codes.append(NOTHING_RAN)
    return exit_code(*codes)


main = runner(app, "observe")
