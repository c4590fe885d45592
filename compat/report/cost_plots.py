"""What a benchmark found, as pictures: growth, peers, memory, each an SVG text.

Drawn by matplotlib, of the extra ``bench``, which is imported when a plot is asked for.
Letters are outlines, so that a plot looks the same everywhere; the card is white in
dark pages too; the same costs give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from compat.verdicts.cost import Costs
from refengine.testing.world import WorldExtraError

Plot: TypeAlias = Literal["growth", "peers", "memory"]
EXTRA: Final = "bench"
TITLES: Final[Mapping[Plot, str]] = {
    "growth": "A run with more and more handlers",
    "peers": "Other frameworks beside refengine",
    "memory": "Memory that one handler adds",
}


def plot(
    costs: Costs, which: Plot, *, narrow: bool = False, titled: bool = True
) -> str:
    """Return a plot as an SVG text, empty if there is nothing to draw.

    A narrow one is for phones. Raises MissingExtraError without the extra ``bench``.
    """
    try:
        from compat.report.plots.drawing import drawn  # noqa: PLC0415  # an extra
    except ImportError as error:
        if (error.name or "").partition(".")[0] in {"refengine", "compat"}:
            raise
        raise WorldExtraError(f"the plot of {which}", EXTRA, error) from error
    return drawn(costs, which, TITLES[which], narrow=narrow, titled=titled)


def write_plot(costs: Costs, path: Path, which: Plot = "growth") -> bool:
    """Write a plot as a file that stands alone; return whether there was one.

    Raises MissingExtraError without the extra ``bench``, and OSError.
    """
    found = plot(costs, which)
    if found:
        path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n{found}', "utf-8")
    return bool(found)
