"""What small changes of NEW its worlds noticed: for a person, and for a machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rich.text import Text

from compat.report.conform_text import counted, does
from compat.verdicts.sharpness import Sharpness, Unnoticed

MANY: Final = 12
"""So many unnoticed changes are shown; the JSON report has all of them."""
WIDE: Final = 200
"""So much of a change is shown: what is compared stands in it twice."""


def sharpness_line(found: Sharpness) -> str:
    """Return how sharp a verdict is, in one line."""
    if found.refused is not None:
        return f"How sharp that is, is not known: {found.refused}."
    if not found.tried:
        return "How sharp that is, is not known: no small change of NEW was tried."
    line = (
        f"The worlds noticed {found.noticed} of {counted(found.tried, 'small change')}"
        f" of NEW ({found.raw:.0f} %)"
    )
    if found.marked:
        line += f"; {found.percent:.0f} % without {len(found.marked)} marked equivalent"
    return f"{line}."


def sharpness_lines(found: Sharpness) -> Iterator[Text]:
    """Yield what was not noticed, and what would notice it."""
    open_ones = [each for each in found.unnoticed if each.reason is None]
    if not found.enough:
        text = f"less than the {found.least:g} % that are required"
        yield Text(f"NOT SHARP ENOUGH  {text}", "bold yellow")
    if open_ones:
        yield Text("Not noticed, and what would notice it:")
    for each in open_ones[:MANY]:
        yield Text(f"  {each.file}, line {each.line}: {_cut(each.source)}", "yellow")
        yield Text(f"    {_cut(each.change)}")
        yield Text(f"    {reached(each)}; {_cut(each.needs)}", "dim")
    if len(open_ones) > MANY:
        yield Text(f"  and {len(open_ones) - MANY} more", "yellow")
    for each in found.marked:
        change = _cut(each.change)
        yield Text(f"  {each.file}, line {each.line}: {change} ({each.reason})", "dim")
    for text in found.stale:
        yield Text(f"  marked equivalent, UNUSED: {text}", "bold yellow")
    if found.untried:
        more = counted(found.untried, "more small change")
        yield Text(
            f"  {more} {does(found.untried, 'were')} not tried in"
            f" {counted(found.plays, 'play')}: --sharpness-plays allows more",
            "yellow",
        )


def reached(each: Unnoticed) -> str:
    """Return how many worlds reach the line of a change."""
    if not each.worlds:
        return f"no world reaches line {each.line}"
    played = "" if each.played == each.worlds else f", played in {each.played}"
    return f"reached by {counted(each.worlds, 'world')}{played}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDE else f"{text[: WIDE - 1]}…"


def sharpness_json(found: Sharpness | None) -> dict[str, Any] | None:
    """Return it as JSON values; None where it was not asked for."""
    if found is None:
        return None
    return {
        "noticed": found.noticed,
        "changes": found.tried,
        "percent": round(found.raw, 2),
        "percent_without_marked": round(found.percent, 2),
        "untried": found.untried,
        "plays": found.plays,
        "required_percent": found.least,
        "refused": found.refused,
        "unused_marks": list(found.stale),
        "unnoticed": [
            {
                "file": each.file,
                "line": each.line,
                "source": each.source,
                "operator": each.operator,
                "change": each.change,
                "needs": each.needs,
                "worlds": each.worlds,
                "played": each.played,
                "marked": each.reason,
            }
            for each in found.unnoticed
        ],
    }
