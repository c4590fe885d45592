"""The plots of peers and of memory: a row for each, what is ours marked in all."""

# matplotlib leaves its keywords open: pyright knows no method of it in full.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from compat.report.cost_tables import base_runs, memory_rows
from compat.report.cost_text import (
    bytes_text,
    failure_text,
    ratio_text,
    seconds_text,
)
from compat.report.plots.parts import (
    BARE,
    FAINT,
    OURS,
    PEER,
    QUIET,
    Canvas,
    axis_seconds,
    bare_axes,
    drawable,
    fitted,
    line_of,
    log_axis,
)
from compat.verdicts.cost import Costs, Estimate, PeerCost

_ROW: Final = 0.34
"""The height of a row in inches; on a phone a row has its name above it."""
_NARROW_ROW: Final = 0.47


@dataclass(frozen=True, slots=True)
class PeerBar:
    """A row: what a peer takes, and what bare Python and we take for the same."""

    name: str
    seconds: float
    ends: tuple[float, float]
    bare: float | None
    ours: float | None
    note: str = ""


def draw_peers(canvas: Canvas, costs: Costs) -> bool:
    """Draw base runs above and handlers below; return whether there is a row."""
    parts = [
        ("A run without handlers", sorted(_bases(costs.peers), key=_by_seconds)),
        ("What one handler adds to a run", sorted(_added(costs), key=_by_seconds)),
    ]
    filled = [each for each in parts if each[1]]
    if not filled:
        return False
    height = _NARROW_ROW if canvas.narrow else _ROW
    heights = [len(rows) * height + 0.75 for _, rows in filled]
    canvas.sized(sum(heights), _legend())
    grid = canvas.figure.subplots(len(filled), 1, squeeze=False, height_ratios=heights)
    for axes, (title, rows) in zip(grid[:, 0], filled, strict=True):
        _panel(axes, title, rows, canvas)
    return True


def draw_memory(canvas: Canvas, costs: Costs) -> bool:
    """Draw what one more handler adds to the peak; return whether there is a row."""
    rows = sorted(filter(_finite, memory_rows(costs)), key=lambda each: each[2])
    if not rows:
        return False
    height = _NARROW_ROW if canvas.narrow else _ROW
    canvas.sized(len(rows) * height + 0.2)
    axes = canvas.figure.subplots()
    for at, (who, hook, size) in enumerate(rows):
        ours = who == "refengine"
        colour = OURS if ours else PEER
        axes.barh(at, size, height=0.42 if canvas.narrow else 0.62, color=colour)
        _row_name(axes, at, f"{who}: {hook}", colour, canvas)
        _value(axes, at, max(size, 0), bytes_text(size), canvas)
    _rows(axes, len(rows), canvas)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.axvline(0, color=QUIET, linewidth=0.7)
    axes.margins(x=0.12)
    return True


def _finite(row: tuple[str, str, float]) -> bool:
    return isfinite(row[2])


def _legend() -> list[Line2D]:
    return [
        line_of(BARE, "", "bare Python", "|"),
        line_of(OURS, "", "refengine, the hook that does the same", "D"),
        line_of(PEER, "-", "the framework, with its 99 % interval", "o"),
    ]


def _by_seconds(row: PeerBar) -> float:
    return row.seconds


def _bases(peers: Sequence[PeerCost]) -> Iterator[PeerBar]:
    for each in base_runs(peers):
        found = each.base_seconds
        if drawable(found):
            bare = _part(found, each.base_over_bare)
            ours = _part(found, each.base_over_ours)
            name = f"{each.peer} {each.version}"
            yield PeerBar(name, found, (found, found), bare, ours)


def _added(costs: Costs) -> Iterator[PeerBar]:
    for each in costs.peers:
        adds = each.per_handler
        if each.blocked or adds is None or not drawable(adds.value):
            continue
        note = f"fails at {failure_text(each.fails, 0)}" if each.fails else ""
        yield PeerBar(
            name=f"{each.peer}: {each.hook}",
            seconds=adds.value,
            ends=(max(adds.low, adds.value / 100), min(adds.high, adds.value * 100)),
            bare=_part(adds.value, each.over_bare),
            ours=_part(adds.value, each.over_ours),
            note=note,
        )


def _part(seconds: float, over: Estimate | None) -> float | None:
    """Return what the other side takes, given the ratio over it."""
    if over is None or not drawable(over.value):
        return None
    return seconds / over.value


def _panel(axes: Axes, title: str, rows: Sequence[PeerBar], canvas: Canvas) -> None:
    axes.set_xscale("log")
    log_axis(axes.xaxis, axis_seconds, 6 if canvas.narrow else 9)
    axes.grid(visible=True, axis="x", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontsize=canvas.size + 1, fontweight="bold")
    for at, row in enumerate(rows):
        _bar(axes, at, row)
        _row_name(axes, at, row.name, BARE, canvas)
        _value_text(axes, at, row, canvas)
    _rows(axes, len(rows), canvas)
    axes.margins(x=0.06)


def _bar(axes: Axes, at: int, row: PeerBar) -> None:
    """Draw the marks of a row, joined by a line from the least to the most."""
    known = [each for each in (row.bare, row.ours, row.seconds) if each]
    axes.plot(
        [min(known), max(known)], [at, at], color="#c4c9cf", linewidth=1, zorder=2
    )
    axes.plot(row.ends, [at, at], color=PEER, linewidth=2.4, zorder=3)
    axes.plot([row.seconds], [at], color=PEER, marker="o", markersize=6, zorder=4)
    if row.bare:
        axes.plot(
            [row.bare], [at], color=BARE, marker="|", markersize=9,
            markeredgewidth=1.8, zorder=5,
        )  # fmt: skip
    if row.ours:
        axes.plot([row.ours], [at], color=OURS, marker="D", markersize=5, zorder=6)


def _row_name(axes: Axes, at: int, name: str, colour: str, canvas: Canvas) -> None:
    x, y, where = (0, at + 0.36, "left") if canvas.narrow else (-0.012, at, "right")
    axes.text(
        x, y, fitted(name, 40 if canvas.narrow else 56), ha=where, va="center",
        fontsize=canvas.size, color=colour, transform=axes.get_yaxis_transform(),
    )  # fmt: skip


def _value_text(axes: Axes, at: int, row: PeerBar, canvas: Canvas) -> None:
    """Write the numbers of a row at its right end."""
    text = seconds_text(row.seconds)
    if row.ours and not canvas.narrow:
        text = f"{text}, {ratio_text(row.seconds / row.ours)} ours"
    if row.note and not canvas.narrow:
        text = f"{text}; {row.note}"
    x, y, where = (1, at + 0.36, "right") if canvas.narrow else (1.012, at, "left")
    axes.text(
        x, y, text, ha=where, va="center", fontsize=canvas.size, color=PEER,
        transform=axes.get_yaxis_transform(),
    )  # fmt: skip


def _value(axes: Axes, at: int, end: float, text: str, canvas: Canvas) -> None:
    axes.annotate(
        text, (end, at), (4, 0), textcoords="offset points", va="center",
        fontsize=canvas.size,
    )  # fmt: skip


def _rows(axes: Axes, number: int, canvas: Canvas) -> None:
    """Give each row the same height; its name is written, not a tick."""
    bare_axes(axes)
    axes.set_yticks([])
    axes.set_ylim(-0.6, number - (0.2 if canvas.narrow else 0.4))
    axes.tick_params(axis="x", labelsize=canvas.size, length=3)
