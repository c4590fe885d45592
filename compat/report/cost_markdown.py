"""What a benchmark found, in Markdown: for README and for kept results."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator
from typing import Final

from compat.report.conform_text import escaped
from compat.report.cost_grid import CostCell, CostGrid
from compat.report.cost_says import facts, says, says_not
from compat.report.cost_tables import grids
from compat.report.cost_text import noise_text
from compat.verdicts.cost import Costs

_HARMLESS: Final = re.compile(r"\\([()])|(?<=\w)\\(_)(?=\w)")


def markdown_text(costs: Costs) -> str:
    """Return the whole report: facts, sentences, tables."""
    return "\n".join(_lines(costs)) + "\n"


def tables_text(costs: Costs, keys: Collection[str]) -> str:
    """Return the tables with these keys and the facts below, for a page of another.

    Raises KeyError for a key that no table of this report has.
    """
    found = {each.key: each for each in grids(costs)}
    parts = [_titled(found[key]) for key in keys]
    return "\n\n".join([*parts, _facts(costs)]) + "\n"


def _titled(grid: CostGrid) -> str:
    head = f"**{_safe(grid.title)}.** {_safe(grid.about)}"
    return "\n".join([head, "", *_table(grid)])


def _lines(costs: Costs) -> Iterator[str]:
    yield "# What a handler costs"
    yield ""
    yield _facts(costs)
    for title, found in (("What this says", says), ("What it does not say", says_not)):
        sentences = tuple(found(costs))
        if sentences:
            yield from ("", f"## {title}", "")
            yield from (f"- {_safe(each)}" for each in sentences)
    for grid in grids(costs):
        yield from ("", f"## {grid.title}", "", _safe(grid.about), "")
        yield from _table(grid)


def _facts(costs: Costs) -> str:
    known = "; ".join(f"{name}: {value}" for name, value in facts(costs))
    return f"{_safe(known)}; noise: {_safe(noise_text(costs))}."


def _table(grid: CostGrid) -> Iterator[str]:
    yield f"| {' | '.join(_safe(each.name) for each in grid.columns)} |"
    yield f"|{''.join('--:|' if each.right else '---|' for each in grid.columns)}"
    for row in grid.rows:
        first = CostCell("") if row.again else row.cells[0]
        yield f"| {' | '.join(map(_cell, (first, *row.cells[1:])))} |"


def _cell(cell: CostCell) -> str:
    shown = _safe(cell.text)
    return f"**{shown}**" if shown and cell.tone in {"bad", "best"} else shown


def _safe(text: str) -> str:
    """Return a plain text that is only itself in Markdown.

    Parentheses and an underscore inside a word begin nothing, once no bracket is left.
    """
    return html.escape(_HARMLESS.sub(r"\1\2", escaped(text)), quote=False)
