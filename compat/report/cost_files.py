"""What a benchmark found, as files: Markdown, one HTML page, and plots as SVG.

The page needs nothing beside it, loads nothing and has no scripts: its policy allows
none. Plots stand in it in a wide form and in one for phones. They are drawn by
matplotlib, of the extra ``bench``, which is imported when one is asked for. Letters are
outlines, so that a plot looks the same everywhere; the card is white in dark pages too;
the same costs give the same bytes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from compat.report.conform_text import escaped
from compat.report.cost_says import METHOD, CostReport, gathered
from compat.report.cost_text import CostCell, CostGrid
from compat.report.pages import page
from compat.report.plain_text import write_text
from compat.verdicts.cost import Costs
from refengine.testing.world import WorldExtraError

Plot: TypeAlias = Literal["growth", "peers", "memory"]
EXTRA: Final = "bench"
TITLES: Final[Mapping[Plot, str]] = {
    "growth": "A run with more and more handlers",
    "peers": "Other frameworks beside refengine",
    "memory": "Memory that one handler adds",
}
FIRST: Final = "bars"
"""The table that stands above all others."""
PLOTS: Final[Mapping[str, Plot]] = {
    "growth": "growth",
    "base": "peers",
    "memory-handler": "memory",
}
"""The plot that stands above a table."""
CAPTIONS: Final[Mapping[Plot, str]] = {
    "growth": "Both axes are logarithmic: a straight rise of one power of ten to one is"
    " linear growth, and it shows once the handlers outweigh the run around them.",
    "peers": "The axes are logarithmic: each line upright is ten times the one before."
    " Every row has what bare Python and refengine take for the same work.",
    "memory": "The bars are linear. Ours are blue.",
}
MARKED: Final = ("holds", "MISSED", "not measured")
"""Verdicts, which are drawn as such."""
_HARMLESS: Final = re.compile(r"\\([()])|(?<=\w)\\(_)(?=\w)")


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot in two widths, both SVG texts, and how it is read."""

    name: str
    wide: str
    narrow: str
    caption: str


@dataclass(frozen=True, slots=True)
class PageSection:
    """A table, and the plot above it if there is one."""

    grid: CostGrid
    figure: Figure | None


def markdown_text(costs: Costs) -> str:
    """Return the whole report: facts, sentences, tables."""
    return "\n".join(_lines(gathered(costs))) + "\n"


def tables_text(costs: Costs, keys: Collection[str]) -> str:
    """Return the tables with these keys and the facts below, for a page of another.

    Raises KeyError for a key that no table of this report has.
    """
    report = gathered(costs)
    found = {each.key: each for each in report.grids}
    parts = [_titled(found[key]) for key in keys]
    return "\n\n".join([*parts, _facts(report)]) + "\n"


def _titled(grid: CostGrid) -> str:
    head = f"**{_safe(grid.title)}.** {_safe(grid.about)}"
    return "\n".join([head, "", *_table(grid)])


def _lines(report: CostReport) -> Iterator[str]:
    yield "# What a handler costs"
    yield ""
    yield _facts(report)
    for title, sentences in report.told:
        yield from ("", f"## {title}", "")
        yield from (f"- {_safe(each)}" for each in sentences)
    for grid in report.grids:
        yield from ("", f"## {grid.title}", "", _safe(grid.about), "")
        yield from _table(grid)


def _facts(report: CostReport) -> str:
    known = "; ".join(f"{name}: {value}" for name, value in report.facts)
    return f"{_safe(known)}; noise: {_safe(report.noise)}."


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


def page_text(costs: Costs) -> str:
    """Return the text of the page; raises MissingExtraError without extra ``bench``."""
    report = gathered(costs)
    parts = [PageSection(each, _figure(costs, each.key)) for each in report.grids]
    return page(
        "cost",
        report=report,
        parts=sorted(parts, key=lambda each: each.grid.key != FIRST),
        method=METHOD,
        marked=MARKED,
    )


def _figure(costs: Costs, key: str) -> Figure | None:
    which = PLOTS.get(key)
    if which is None:
        return None
    wide = plot(costs, which, titled=False)
    narrow = plot(costs, which, narrow=True, titled=False)
    return Figure(which, wide, narrow, CAPTIONS[which]) if wide else None


def plot(
    costs: Costs, which: Plot, *, narrow: bool = False, titled: bool = True
) -> str:
    """Return a plot as an SVG text, empty if there is nothing to draw.

    A narrow one is for phones. Raises MissingExtraError without the extra ``bench``.
    """
    try:
        from compat.report.plots import growth, parts, peers  # noqa: PLC0415  # an extra
    except ImportError as error:
        if (error.name or "").partition(".")[0] in {"refengine", "compat"}:
            raise
        raise WorldExtraError(f"the plot of {which}", EXTRA, error) from error
    draw = {
        "growth": growth.draw_growth,
        "peers": peers.draw_peers,
        "memory": peers.draw_memory,
    }
    names = which, TITLES[which]
    return parts.drawn(draw[which], costs, names, narrow=narrow, titled=titled)


def write_plot(costs: Costs, path: Path, which: Plot = "growth") -> bool:
    """Write a plot as a file that stands alone; return whether there was one.

    Raises MissingExtraError without the extra ``bench``, and OSError.
    """
    found = plot(costs, which)
    if found:
        write_text(path, f'<?xml version="1.0" encoding="utf-8"?>\n{found}')
    return bool(found)
