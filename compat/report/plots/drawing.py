"""How a plot becomes text: in one style, whatever its user set up for matplotlib."""

# matplotlib leaves its keywords open: pyright knows no method of it in full.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Final

from matplotlib import style
from matplotlib.figure import Figure

from compat.report.plots.growth import draw_growth
from compat.report.plots.parts import INK, QUIET, Canvas
from compat.report.plots.peers import draw_memory, draw_peers
from compat.verdicts.cost import Costs

_DRAW: Final[Mapping[str, Callable[[Canvas, Costs], bool]]] = {
    "growth": draw_growth,
    "peers": draw_peers,
    "memory": draw_memory,
}
_STYLE: Final = {
    "svg.fonttype": "path",
    "svg.hashsalt": "refengine",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.parse_math": False,  # a name with two dollars is not a formula
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.linewidth": 0.7,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
}
_UNUSED: Final = re.compile(
    r"<\?xml.*?\?>\s*|<!DOCTYPE.*?>\s*|<metadata>.*?</metadata>\s*|<!--.*?-->\s*"
    r"|<defs>\s*<style.*?</style>\s*</defs>\s*",
    re.DOTALL,
)
_NAMED: Final = re.compile(r'(\bid="|href="#|url\(#)')


def drawn(costs: Costs, which: str, title: str, *, narrow: bool, titled: bool) -> str:
    """Return a plot with this title as an SVG text; empty if there is nothing in it."""
    with _drawing() as figure:
        canvas = Canvas(figure, narrow=narrow, title=title if titled else "")
        if not _DRAW[which](canvas, costs):
            return ""
        return _svg(figure, f"{which}-{'narrow' if narrow else 'wide'}", title)


@contextmanager
def _drawing() -> Generator[Figure, None, None]:
    """Give an empty figure; what its user set up for matplotlib does not count."""
    with style.context(["default", dict(_STYLE)]), warnings.catch_warnings():
        # A name may have letters that the font has not: they are drawn as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield Figure()


def _svg(figure: Figure, name: str, title: str) -> str:
    """Return the picture without what a page cannot use, its ids told from others'."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    drawn = _NAMED.sub(rf"\g<1>{name}-", _UNUSED.sub("", out.getvalue()))
    root = (
        f'<svg role="img" aria-label="{title}"'
        ' style="stroke-linejoin: round; stroke-linecap: butt"'
    )
    return drawn.replace("<svg", root, 1)
