"""What ``refengine observe`` does: run rows of observed behaviour, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import typer
from rich.text import Text

from compat.commands import DIFFERS, FAULT, NOTHING_RAN, USAGE, exit_code, told
from compat.observe.judging import RowJudge, RowVerdict, purposes, summary, to_json
from compat.observe.rows import ObservedRow, RowsError, Unreadable, load_rows
from compat.report.terminal import console

SHOWN: Final = {
    "holds": ("holds", "green"),
    "differs": ("DIFFERS", "bold red"),
    "beyond": ("beyond", "yellow"),
    "on_purpose": ("on purpose", "cyan"),
    "not_compared": ("not compared", "yellow"),
}


def observe(
    files: Sequence[Path], profiles: Sequence[str] | None, json_file: Path | None
) -> None:
    """Judge the rows of all files and tell each; always raises typer.Exit.

    ``profiles`` are those whose versions are compared, all if None.
    """
    with told("observe", RowsError, OSError):
        rows = [row for file in files for row in load_rows(file)]
    judge = RowJudge(profiles, purposes())
    out = console()
    verdicts: list[RowVerdict] = []
    for row in rows:
        verdict = judge.judge(row)
        verdicts.append(verdict)
        out.print(_line(verdict))
    out.print(_counts(verdicts, rows))
    if json_file is not None:
        with told("observe", OSError):
            json_file.write_text(to_json(summary(verdicts, rows)), encoding="utf-8")
    raise typer.Exit(_code(verdicts))


def _line(verdict: RowVerdict) -> Text:
    word, style = SHOWN[verdict.status]
    line = Text(f"{word:<13}", style=style)
    line.append(verdict.id, style="default")
    if verdict.detail:
        line.append(f"  {verdict.detail}", style="dim" if style == "green" else style)
    return line


def _counts(verdicts: list[RowVerdict], rows: list[ObservedRow | Unreadable]) -> str:
    counts = summary(verdicts, rows)
    parts = ", ".join(
        f"{counts[status]} {word.lower()}" for status, (word, _) in SHOWN.items()
    )
    text = f"\n{counts['rows']} rows: {parts}"
    compared = ", ".join(f"{v} {n}" for v, n in counts["compared"].items() if n)
    without = ", ".join(counts["versions_without_profile"]) or "none"
    versions = f"rows compared by version: {compared or 'none'}"
    return f"{text}\n{versions}; without profile: {without}"


def _code(verdicts: list[RowVerdict]) -> int:
    codes = [DIFFERS for verdict in verdicts if verdict.status == "differs"]
    codes += [FAULT for verdict in verdicts if verdict.fault]
    codes += [USAGE for verdict in verdicts if verdict.unknown]
    if not any(v.status in {"holds", "differs", "on_purpose"} for v in verdicts):
        codes.append(NOTHING_RAN)
    return exit_code(*codes)
