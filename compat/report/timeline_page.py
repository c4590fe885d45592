"""Verdicts over time as one HTML page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compat.report.pages import page
from compat.report.timeline import NOTHING, shown_rows
from compat.verdicts.timeline import TimelineItem, VersionHistory


@dataclass(frozen=True, slots=True)
class TimelineCell:
    """What one version says of one item, and the tone that it is shown in."""

    text: str
    tone: str
    first: bool


def timeline_page(histories: Sequence[VersionHistory]) -> str:
    """Return the text of the page: a table for each subject."""
    parts = [
        (each, [(name, [*_cells(each, name, row)]) for name, row in shown_rows(each)])
        for each in histories
    ]
    return page(
        "timeline",
        parts=parts,
        items={each.subject: len([*each.rows()]) for each in histories},
    )


def _cells(
    history: VersionHistory, name: str, row: Sequence[TimelineItem | None]
) -> Iterator[TimelineCell]:
    since = history.first_bad(name)
    for version, item in zip(history.versions, row, strict=True):
        first = version.version == since
        if item is None:
            yield TimelineCell(NOTHING, "none", first)
        else:
            tone = {True: "good", False: "bad", None: "none"}[item.good]
            yield TimelineCell(item.verdict, tone, first)
