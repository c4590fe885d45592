"""Benchmarks at a terminal or in a log: one by itself, and two row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from compat.report.conform_text import brief, without_paths
from compat.report.cost_says import gathered
from compat.report.cost_text import (
    CostCell,
    CostColumn,
    CostGrid,
    GridRow,
    Tone,
    folded,
    ratio_estimate,
    ratio_text,
)
from compat.report.plain_text import plain
from compat.verdicts.cost import ComparedRow, Costs

WIDTH: Final = 100
"""Of a table where there is no terminal that tells one: in a file, or in a pipe."""
Verdict: TypeAlias = Literal["pass", "fail", "not distinguishable", "not shown"]
VERDICTS: Final[dict[Verdict, str]] = {
    "pass": "green",
    "fail": "bold red",
    "not distinguishable": "dim",
    "not shown": "yellow",
}
"""A style for each verdict, the order in which they are counted."""
STYLES: Final[dict[Tone, str]] = {
    "": "",
    "good": "green",
    "bad": "bold red",
    "quiet": "dim",
    "best": "bold",
}
_UNBOUNDED: Final = 10_000
_HEADING: Final = 12
"""Headings of numbers are broken here: the numbers below are short."""


@dataclass(frozen=True, slots=True)
class TableLook:
    """One way to draw a table: names are broken at ``name`` letters."""

    name: int
    extra: bool = True
    split: bool = False


LOOKS: Final = (
    TableLook(28),
    TableLook(20),
    TableLook(20, extra=False),
    TableLook(20, extra=False, split=True),
    TableLook(12, extra=False, split=True),
)
"""The best one first; the first that fits is taken."""


def lines(costs: Costs) -> Iterator[RenderableType]:
    """Yield the report: on what it rests, each table that has rows, what it says."""
    yield Text("What a handler costs", "bold")
    report = gathered(costs)
    found = [*report.facts, ("noise", report.noise)]
    yield _pairs([(Text(name, "dim"), Text(value)) for name, value in found])
    for grid in report.grids:
        yield from (Text(), Text(grid.title, "bold"), Text(grid.about, "dim"))
        yield FittedTable(grid)
    for title, sentences in report.told:
        yield from (Text(), Text(title, "bold"))
        yield _pairs([(Text("-"), Text(each)) for each in sentences])


@dataclass(frozen=True, slots=True)
class FittedTable:
    """A table as wide as there is room for.

    Where there is too little, extra columns go first, then intervals get a line each,
    and at last each row becomes a list.
    """

    grid: CostGrid

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        unbounded = options.update_width(_UNBOUNDED)
        for look in LOOKS:
            table = _table(self.grid, look)
            if console.measure(table, options=unbounded).maximum <= options.max_width:
                yield table
                return
        yield from _cards(self.grid)


def _pairs(found: Sequence[tuple[Text, Text]]) -> Table:
    """Return texts beside their names; a second line stands under the first."""
    table = Table.grid(padding=(0, 1))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, text in found:
        table.add_row(name, text)
    return table


def _table(grid: CostGrid, look: TableLook) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True
    )
    kept = [at for at, each in enumerate(grid.columns) if look.extra or not each.extra]
    for column in (grid.columns[at] for at in kept):
        name = Text(folded(column.name, _HEADING if column.right else look.name))
        table.add_column(
            name,
            justify="right" if column.right else "left",
            no_wrap=column.right,
            overflow="fold",
            vertical="top",
        )
    for rows in _together(grid.rows, look):
        first = CostCell("") if rows[0].again else rows[0].cells[0]
        others = (
            _stacked(grid.columns[at], [row.cells[at] for row in rows], look)
            for at in kept[1:]
        )
        table.add_row(_cell(grid.columns[0], first, look), *others)
    return table


def _cards(grid: CostGrid) -> Iterator[RenderableType]:
    """Yield each row as a list of what its columns say, for a very narrow place."""
    for row in grid.rows:
        if not row.again:
            yield Text(row.cells[0].text, "bold")
        if row.blocked_at:
            texts = (each.text for each in row.cells[row.blocked_at :] if each.text)
            yield Text(f"  {', '.join(texts)}", STYLES["bad"])
            continue
        pairs = zip(grid.columns[1:], row.cells[1:], strict=True)
        yield _pairs(
            [
                (Text(f"  {column.name}", "dim"), Text(cell.text, STYLES[cell.tone]))
                for column, cell in pairs
                if cell.text
            ]
        )


def _together(rows: Sequence[GridRow], look: TableLook) -> Iterator[list[GridRow]]:
    """Yield rows of one name together: a name of two lines then takes no line more.

    Cells of several lines would shift against each other.
    """
    found: list[GridRow] = []
    for row in rows:
        if found and (look.split or not row.again):
            yield found
            found = []
        found.append(row)
    if found:
        yield found


def _stacked(column: CostColumn, cells: Sequence[CostCell], look: TableLook) -> Text:
    return Text("\n").join(_cell(column, each, look) for each in cells)


def _cell(column: CostColumn, cell: CostCell, look: TableLook) -> Text:
    text = cell.text if column.right else folded(cell.text, look.name)
    if look.split and column.right:
        text = text.replace(" (", "\n(")
    return Text(text, STYLES[cell.tone])


def compared_lines(rows: Sequence[ComparedRow], limit: float) -> Iterator[Text]:
    """Yield a line for each row, those that fail last, and how many of each there are.

    ``limit`` is the ratio of the second report to the first above which a row fails.
    """
    order = ("not shown", "not distinguishable", "pass", "fail")
    width = max(map(len, order))
    for row in sorted(rows, key=lambda each: order.index(each.verdict)):
        yield _compared(row, width)
    yield _summary(rows, limit)


def _summary(rows: Sequence[ComparedRow], limit: float) -> Text:
    """Return the counts; with nothing to compare that is said, and is not a pass."""
    if not rows:
        return Text("NOTHING COMPARED: the two reports share no row", "bold red")
    found = Counter(row.verdict for row in rows)
    counts = ", ".join(f"{found[each]} {each}" for each in VERDICTS)
    failed = "bold red" if found["fail"] else "bold"
    return Text(f"{counts} (fails above {ratio_text(limit)})", failed)


def _compared(row: ComparedRow, width: int) -> Text:
    line = Text(f"{row.verdict:{width}}  ", VERDICTS[row.verdict])
    line.append(f"{brief(row.name, 60)}, over {row.floor}", "default")
    if row.verdict in {"pass", "fail"} and row.change is not None:
        line.append(f": {ratio_estimate(row.change)}", "default")
    if row.why:
        line.append(f" ({plain(without_paths(row.why))})", "dim")
    return line
