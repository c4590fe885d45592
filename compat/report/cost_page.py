"""What a benchmark found, as one HTML page that needs nothing beside it.

Plots stand in it as SVG, each in a wide form and in one for phones. The page loads
nothing, and has no scripts: its policy allows none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from compat.report.cost_grid import CostGrid
from compat.report.cost_plots import Plot, plot
from compat.report.cost_says import METHOD, facts, says, says_not
from compat.report.cost_tables import grids
from compat.report.cost_text import noise_text
from compat.report.pages import page
from compat.verdicts.cost import Costs

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


def page_text(costs: Costs) -> str:
    """Return the text of the page; raises MissingExtraError without extra ``bench``."""
    parts = sorted(_parts(costs), key=lambda each: each.grid.key != FIRST)
    return page(
        "cost",
        facts=tuple(facts(costs)),
        noise=noise_text(costs),
        says=tuple(says(costs)),
        says_not=tuple(says_not(costs)),
        parts=parts,
        method=METHOD,
        marked=MARKED,
    )


def _parts(costs: Costs) -> Iterator[PageSection]:
    for grid in grids(costs):
        which = PLOTS.get(grid.key)
        yield PageSection(grid, _figure(costs, which) if which else None)


def _figure(costs: Costs, which: Plot) -> Figure | None:
    wide = plot(costs, which, titled=False)
    narrow = plot(costs, which, narrow=True, titled=False)
    return Figure(which, wide, narrow, CAPTIONS[which]) if wide else None
