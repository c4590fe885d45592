"""The plot of growth: a panel for each kind of handler, all on the same log axes."""

# matplotlib leaves its keywords open: pyright knows no method of it in full.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from compat.report.cost_tables import FASTER
from compat.report.cost_text import seconds_text
from compat.report.plots.parts import (
    BARE,
    FAINT,
    OURS,
    PEER,
    QUIET,
    Canvas,
    axis_seconds,
    drawable,
    fitted,
    line_of,
    log_axis,
    short_number,
)
from compat.verdicts.cost import Costs, Growth, GrowthPoint

ACROSS: Final = 3
"""So many panels stand in a row of a page; two on a phone."""
_PANEL: Final = 2.3
"""The height of a panel in inches."""


def draw_growth(canvas: Canvas, costs: Costs) -> bool:
    """Draw every kind that was measured; return whether there is one."""
    kinds = [each for each in costs.growth if not each.blocked and _shown(each)]
    if not kinds:
        return False
    # Four stand better in a square than three and one.
    most = 2 if canvas.narrow or len(kinds) == 4 else ACROSS
    across = min(len(kinds), most)
    down = ceil(len(kinds) / across)
    canvas.sized(down * _PANEL, _legend(kinds))
    grid = canvas.figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    panels: list[Axes] = [each for row in grid for each in row]
    for at, axes in enumerate(panels):
        if at < len(kinds):
            _panel(axes, kinds[at], kinds, canvas)
        else:
            axes.set_visible(False)
    _label_columns(panels, kinds, across, canvas)
    return True


def _shown(found: Growth) -> list[GrowthPoint]:
    """Return the points that a logarithmic axis has a place for."""
    return [each for each in found.points if each.n > 0 and drawable(each.seconds)]


def _line(points: Sequence[GrowthPoint]) -> tuple[list[int], list[float]]:
    return [each.n for each in points], [each.seconds for each in points]


def _panel(axes: Axes, found: Growth, kinds: Sequence[Growth], canvas: Canvas) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    log_axis(axes.xaxis, short_number, 6)
    log_axis(axes.yaxis, axis_seconds, 7)
    axes.tick_params(labelsize=canvas.size, length=3)
    axes.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    for other in kinds:
        if other is not found:
            axes.plot(*_line(_shown(other)), color="#c4c9cf", linewidth=0.8, zorder=1.5)
    _base(axes, found)
    _bare(axes, found)
    axes.plot(
        *_line(_shown(found)), color=OURS, linewidth=1.8, marker="o", markersize=3.6,
        zorder=3,
    )  # fmt: skip
    _titled(axes, found, canvas)


def _base(axes: Axes, found: Growth) -> None:
    none = next((each.seconds for each in found.points if each.n == 0), 0.0)
    if drawable(none):
        axes.axhline(none, color=QUIET, linewidth=1, linestyle=":", zorder=2)


def _bare(axes: Axes, found: Growth) -> None:
    """Draw the floor written by hand, which ends where plain Python cannot run it."""
    pairs = [(e.n, e.bare_seconds) for e in _shown(found) if drawable(e.bare_seconds)]
    if not pairs:
        return
    numbers, seconds = zip(*pairs, strict=True)
    axes.plot(numbers, seconds, color=BARE, linewidth=1.5, linestyle="--", zorder=2.5)
    axes.plot(
        numbers[-1:], seconds[-1:], color=BARE, marker="|", markersize=8, zorder=2.5
    )


def _titled(axes: Axes, found: Growth, canvas: Canvas) -> None:
    name = fitted(found.name, 22 if canvas.narrow else 38, 3)
    shape = found.shape or "no shape fitted"
    slope = f"{seconds_text(found.slope.value)} each" if found.slope else "no slope"
    axes.set_title(
        FASTER if found.faster else f"{shape}, {slope}", loc="left",
        fontsize=canvas.size, color=PEER if found.faster else OURS, pad=4,
    )  # fmt: skip
    axes.annotate(
        name, (0, 1), (0, 5 + canvas.size * 1.3), xycoords="axes fraction",
        textcoords="offset points", fontsize=canvas.size, fontweight="bold",
        va="bottom", linespacing=1.1, annotation_clip=False,
    )  # fmt: skip


def _label_columns(
    panels: Sequence[Axes], kinds: Sequence[Growth], across: int, canvas: Canvas
) -> None:
    """Write numbers below the last panel of each column, though others may be lower."""
    for at in range(max(len(kinds) - across, 0), len(kinds)):
        panels[at].tick_params(labelbottom=True)
        panels[at].set_xlabel(kinds[at].unit, fontsize=canvas.size)
    for at in range(0, len(kinds), across):
        panels[at].set_ylabel("a run takes", fontsize=canvas.size)


def _legend(kinds: Sequence[Growth]) -> list[Line2D]:
    observed = any(kind.rise for kind in kinds)
    ours = "observed" if observed else "refengine"
    handles = [line_of(OURS, "-", f"{ours}, and the shape that fits", "o")]
    if any(each.bare_seconds for kind in kinds for each in _shown(kind)):
        label = "by hand in bare Python (cannot run above 900 layers)"
        label = "the same run, plain" if observed else label
        handles.append(line_of(BARE, "--", label))
    if any(each.n == 0 for kind in kinds for each in kind.points):
        handles.append(line_of(QUIET, ":", "no handlers"))
    if len(kinds) > 1:
        handles.append(line_of("#c4c9cf", "-", "the other kinds"))
    return handles
