"""Two reports of benchmarks, row by row: what ``bench compare`` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from rich.text import Text

from compat.report.conform_text import brief, plain, without_paths
from compat.report.cost_text import ratio_estimate, ratio_text
from compat.verdicts.cost import ComparedRow

Verdict: TypeAlias = Literal["pass", "fail", "not distinguishable", "not shown"]
STYLES: Final[dict[Verdict, str]] = {
    "pass": "green",
    "fail": "bold red",
    "not distinguishable": "dim",
    "not shown": "yellow",
}
"""A style for each verdict, the order in which they are counted."""


def lines(rows: Sequence[ComparedRow], limit: float) -> Iterator[Text]:
    """Yield a line for each row, those that fail last, and how many of each there are.

    ``limit`` is the ratio of the second report to the first above which a row fails.
    """
    order = ("not shown", "not distinguishable", "pass", "fail")
    width = max(map(len, order))
    for row in sorted(rows, key=lambda each: order.index(each.verdict)):
        yield _line(row, width)
    yield summary(rows, limit)


def summary(rows: Sequence[ComparedRow], limit: float) -> Text:
    """Return the counts; with nothing to compare that is said, and is not a pass."""
    if not rows:
        return Text("NOTHING COMPARED: the two reports share no row", "bold red")
    found = Counter(row.verdict for row in rows)
    counts = ", ".join(f"{found[each]} {each}" for each in STYLES)
    failed = "bold red" if found["fail"] else "bold"
    return Text(f"{counts} (fails above {ratio_text(limit)})", failed)


def _line(row: ComparedRow, width: int) -> Text:
    line = Text(f"{row.verdict:{width}}  ", STYLES[row.verdict])
    line.append(f"{brief(row.name, 60)}, over {row.floor}", "default")
    if row.verdict in {"pass", "fail"} and row.change is not None:
        line.append(f": {ratio_estimate(row.change)}", "default")
    if row.why:
        line.append(f" ({plain(without_paths(row.why))})", "dim")
    return line
