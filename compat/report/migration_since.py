"""What became of a folder's cases since earlier reports of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from compat.report.migration_for_ci import name_of
from compat.report.timeline import NOTHING, change_lines
from compat.verdicts.migration import JudgedCase
from compat.verdicts.timeline import TimelineItem, VersionJudged, changes

NOW: Final = "now"


def since_lines(
    cases: Sequence[JudgedCase], earlier: Sequence[VersionJudged]
) -> Iterator[str]:
    """Yield what changed since the last report, the worst first; nothing without one.

    A line at the end counts.
    """
    if earlier:
        now = _judged(cases)
        yield ""
        yield from change_lines(earlier[-1], now, changes(earlier[-1], now))


def told_before(
    case: JudgedCase, earlier: Sequence[VersionJudged]
) -> Iterator[tuple[str, str]]:
    """Yield what each report said of a case, and the kind of its colour."""
    for each in earlier:
        item = each.items.get(name_of(case))
        if item is None:
            yield NOTHING, "none"
        else:
            yield item.verdict, "good" if item.good else "bad"


def _judged(cases: Sequence[JudgedCase]) -> VersionJudged:
    items = (TimelineItem(name_of(each), each.got, each.met) for each in cases)
    return VersionJudged("migration", NOW, {each.name: each for each in items}, "", "")
