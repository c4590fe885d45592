"""The files that come of a judgement, each in the kind that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from compat.report.conform_badge import (
    TITLE,
    badge_json,
    badge_svg,
    history_lines,
    history_rows,
)
from compat.report.conform_gathered import JudgementReport, gather
from compat.report.conform_json import json_text
from compat.report.conform_junit import junit_text
from compat.report.conform_markdown import markdown_text
from compat.verdicts.conformance import AnyEvent

Writer: TypeAlias = Callable[[JudgementReport], str]


class SamePathError(ValueError):
    """Two files are to be written to one path."""

    def __init__(self, one: str, other: str, path: Path) -> None:
        self.path = path
        super().__init__(
            f"--{one} and --{other} are both to be written to {path}: give each its own"
        )


def check_paths(paths: Mapping[str, Path | None]) -> None:
    """Raise SamePathError if one file would be written over another."""
    seen: dict[Path, str] = {}
    for kind, path in paths.items():
        if path is not None:
            other = seen.setdefault(path.absolute(), kind)
            if other != kind:
                raise SamePathError(other, kind, path)


def write_reports(paths: Mapping[str, Path | None], events: Sequence[AnyEvent]) -> None:
    """Write a judgement to all paths that are given; raises OSError."""
    wanted = {kind: path for kind, path in paths.items() if path is not None}
    if not wanted:
        return
    gathered = gather(events)
    for kind, path in wanted.items():
        if kind == "history":
            _append(path, gathered)
        else:
            path.write_text(_writer(kind, path)(gathered), "utf-8")


def _append(path: Path, gathered: JudgementReport) -> None:
    """Let a history grow: lines of JSON, or a table where the file is Markdown."""
    table = path.suffix == ".md"
    new = not path.exists() or not path.stat().st_size
    with path.open("a", encoding="utf-8") as out:
        if table and new:
            out.write(TITLE)
        out.write((history_rows if table else history_lines)(gathered))


def _writer(kind: str, path: Path) -> Writer:
    """Return what writes one kind of report."""
    if kind == "badge":
        return badge_svg if path.suffix == ".svg" else badge_json
    if kind == "html":
        from compat.report.conform_page import page_text  # noqa: PLC0415  # loads jinja2

        return page_text
    return {"json": json_text, "junit": junit_text, "markdown": markdown_text}[kind]
