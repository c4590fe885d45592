"""What the plots have in common: colours, sizes, labels, and how each becomes text.

Colours are of Okabe and Ito's palette, which people with any colour vision tell apart;
each has its own mark or dashes as well. What a user set up for matplotlib is left out.
"""

# matplotlib leaves its keywords open: pyright knows no method of it in full.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Final, Literal, TypeAlias, TypeGuard

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from compat.report.conform_text import brief
from compat.report.cost_text import folded, seconds_text
from compat.verdicts.cost import Costs

Dash: TypeAlias = Literal["-", "--", ":", ""]
INK: Final = "#1c1e21"
QUIET: Final = "#6b727b"
FAINT: Final = "#e3e6ea"
OURS: Final = "#0072b2"
PEER: Final = "#c24e00"  # Okabe and Ito's vermilion, darker: it is read as text too
BARE: Final = INK
WIDE: Final = 9.4
NARROW: Final = 3.8
"""Widths in inches: of a page's column, and of a phone."""
_LEGEND_ROW: Final = 0.21
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


@dataclass(frozen=True, slots=True)
class Canvas:
    """An empty figure, and for whom it is drawn."""

    figure: Figure
    narrow: bool
    title: str

    @property
    def width(self) -> float:
        """Return the width in inches."""
        return NARROW if self.narrow else WIDE

    @property
    def size(self) -> float:
        """Return the size of small letters in points."""
        return 7.5 if self.narrow else 8.5

    def sized(self, height: float, legend: Sequence[Line2D] = ()) -> None:
        """Take the height of the panels in inches; write title and legend above."""
        top = 0.42 if self.title else 0.05
        rows = len(legend) if self.narrow else min(len(legend), 1)
        whole = height + top + rows * _LEGEND_ROW
        self.figure.set_size_inches(self.width, whole)
        self.figure.set_layout_engine(
            "constrained", rect=(0, 0, 1, height / whole), w_pad=0.06, h_pad=0.06
        )
        if self.title:
            self._headed(whole)
        if legend:
            self._explained(legend, 1 - top / whole)

    def _headed(self, height: float) -> None:
        self.figure.text(
            0.01, 1 - 0.1 / height, self.title, va="top", fontsize=self.size + 3,
            fontweight="bold",
        )  # fmt: skip

    def _explained(self, legend: Sequence[Line2D], top: float) -> None:
        self.figure.legend(
            handles=legend,
            loc="upper left",
            bbox_to_anchor=(0.008, top),
            ncols=1 if self.narrow else len(legend),
            frameon=False,
            borderpad=0,
            borderaxespad=0.2,
            fontsize=self.size,
            handlelength=2.4,
            columnspacing=1.8,
        ).set_in_layout(False)


def fitted(text: str, width: int, most: int = 1) -> str:
    """Return a name in so many lines of so many letters at most."""
    lines = folded(brief(text, width * most), width).splitlines()
    end = ["…"] if len(lines) > most else []
    return "\n".join(brief(each, width) for each in [*lines[:most], *end])


def drawable(value: float | None) -> TypeGuard[float]:
    """Tell whether a logarithmic axis has a place for a value."""
    return value is not None and 0 < value < inf


def short_number(value: float) -> str:
    """Return a number of handlers for an axis: 1, 100, 10k."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def axis_seconds(value: float) -> str:
    """Return a round time for an axis: ``1 µs``, not ``1.00 µs``."""
    return seconds_text(value).replace(".00", "").replace(".0 ", " ")


def log_axis(axis: Axis, label: Callable[[float], str], most: int) -> None:
    """Give an axis powers of ten only, and no more of them than ``most``."""

    def text(value: float, position: object) -> str:  # noqa: ARG001  # as it is called
        return label(value)

    axis.set_major_locator(LogLocator(numticks=most))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(text))


def line_of(colour: str, style: Dash, label: str, marker: str = "") -> Line2D:
    """Return an entry of a legend."""
    return Line2D(
        [], [], color=colour, linestyle=style, marker=marker, markersize=5,
        markeredgewidth=1.6, linewidth=1.8, label=label,
    )  # fmt: skip


def bare_axes(axes: Axes) -> None:
    """Take away the left side of an axes whose rows have names."""
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def drawn(
    draw: Callable[[Canvas, Costs], bool],
    costs: Costs,
    names: tuple[str, str],
    *,
    narrow: bool,
    titled: bool,
) -> str:
    """Return a plot with a name and a title as SVG; empty if nothing is in it."""
    which, title = names
    with _drawing() as figure:
        canvas = Canvas(figure, narrow=narrow, title=title if titled else "")
        if not draw(canvas, costs):
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
