"""Verdicts over time, as lines of a terminal, as data, and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from compat.report.conform_text import counted
from compat.report.pages import page
from compat.verdicts.timeline import (
    WORSE,
    ChangeKind,
    FirstBad,
    TimelineItem,
    VersionChange,
    VersionHistory,
    VersionJudged,
)

NOTHING: Final = "-"
_TITLES: Final[dict[ChangeKind, str]] = {
    "worse": "worse",
    "lost": "no longer decided",
    "better": "better",
    "other": "said otherwise",
    "new": "new",
    "gone": "gone",
}


def shown_rows(
    history: VersionHistory, *, every: bool = False
) -> list[tuple[str, tuple[TimelineItem | None, ...]]]:
    """Return the rows that say something: those that changed, and the bad ones.

    What the last version is bad in comes first.
    """
    found = [row for row in history.rows() if every or _tells(row[1])]
    return sorted(found, key=lambda row: not history.first_bad(row[0]))


def _tells(row: Sequence[TimelineItem | None]) -> bool:
    return len(set(row)) > 1 or any(each and each.good is False for each in row)


def history_table(
    history: VersionHistory, rows: Sequence[tuple[str, Sequence[TimelineItem | None]]]
) -> Table:
    """Return the table of a terminal: an item a row, a version a column."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for each in history.versions:
        table.add_column(each.version)
    table.add_column("bad since")
    for name, row in rows:
        table.add_row(name, *map(_cell, row), history.first_bad(name))
    return table


def _cell(item: TimelineItem | None) -> Text:
    if item is None:
        return Text(NOTHING, "dim")
    style = {True: "green", False: "bold red", None: "dim"}[item.good]
    return Text(item.verdict, style)


def history_line(history: VersionHistory, shown: int) -> str:
    """Return the sentence above or below a table."""
    items = sum(1 for _ in history.rows())
    rest = f"; {items - shown} that never changed and are good are not shown"
    versions = counted(len(history.versions), "version")
    what = "clause or case" if items == 1 else "clauses or cases"
    told = f"{history.subject}: {versions}, {items:,} {what}"
    return told + (rest if shown < items else "")


def history_json(history: VersionHistory) -> dict[str, Any]:
    """Return a history as JSON values."""
    return {
        "subject": history.subject,
        "versions": [
            {
                "version": each.version,
                "tool": each.tool,
                "digest": each.digest,
                "items": {
                    name: {"verdict": item.verdict, "good": item.good}
                    for name, item in each.items.items()
                },
            }
            for each in history.versions
        ],
    }


def change_lines(
    old: VersionJudged, new: VersionJudged, found: Sequence[VersionChange]
) -> Iterator[str]:
    """Yield what changed between two versions, the worst first."""
    yield f"{new.subject}: {old.version} → {new.version}"
    for kind, title in _TITLES.items():
        these = [each for each in found if each.kind == kind]
        if these:
            yield f"{title}:"
            yield from (f"  {each}" for each in these)
    bad = sum(each.kind in WORSE for each in found)
    others = counted(len(found) - bad, "other change")
    yield f"{bad} worse, {others}" if found else "no change"


def first_bad_lines(found: FirstBad) -> Iterator[str]:
    """Yield what a bisection found."""
    yield f"first bad: {found.version}, after {found.after}"
    yield from (f"  {each}" for each in found.worse)
    if found.between:
        names = ", ".join(found.between)
        yield f"not judged between them, so it may have been one of: {names}"
    if found.against:
        names = ", ".join(found.against)
        yield f"this is not the only change: {names} said otherwise"


def timeline_page(histories: Sequence[VersionHistory]) -> str:
    """Return the text of a page that needs nothing beside it: a table a subject."""
    parts = [(each, shown_rows(each)) for each in histories]
    return page("timeline", parts=parts, nothing=NOTHING)
