"""Numbers of a benchmark as a person reads them: always with a unit, never too exact.

Three digits are shown of a value, and its interval in the same unit and as exact: a
digit more would be noise. What is not finite is told in words. Every text in a grid is
plain: what draws it escapes its own notation, and no more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from compat.report.conform_text import brief
from compat.report.plain_text import plain
from compat.verdicts.cost import Blocked, Compared, CostFailure, Costs, Estimate

NOTHING: Final = "–"  # noqa: RUF001  # a hyphen would be a minus without number
"""Stands where there is no number."""
SAME: Final = "not distinguishable"
_TIMES: Final = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_SIZES: Final = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
_DIGITS: Final = 3
_SMALL: Final = 0.1


Tone: TypeAlias = Literal["", "good", "bad", "quiet", "best"]
"""How a cell is meant: colour or weight, which never say more than its words do."""


@dataclass(frozen=True, slots=True)
class CostCell:
    """One text of a table."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class CostColumn:
    """A heading; numbers stand to the right, and are never broken.

    An ``extra`` one is left out where there is no room for it.
    """

    name: str
    right: bool = True
    extra: bool = False


@dataclass(frozen=True, slots=True)
class GridRow:
    """Cells as many as columns; ``again`` continues the row above, of the same name.

    From the cell ``blocked_at`` on, if that is not 0, a row has no numbers.
    """

    cells: tuple[CostCell, ...]
    again: bool = False
    blocked_at: int = 0


@dataclass(frozen=True, slots=True)
class CostGrid:
    """A table with what its reader has to know first."""

    key: str
    """Names it in a page's links; a lower-case word."""
    title: str
    about: str
    columns: tuple[CostColumn, ...]
    rows: tuple[GridRow, ...]


def columns(*names: str) -> tuple[CostColumn, ...]:
    """Return headings: ``<`` stands before one of words, ``?`` before an extra one."""
    return tuple(
        CostColumn(each.lstrip("?<"), "<" not in each[:2], each.startswith("?"))
        for each in names
    )


def named(text: str) -> CostCell:
    """Return a cell with a name that somebody else chose."""
    return CostCell(brief(text, 80))


def folded(text: str, width: int) -> str:
    """Return a text in lines, broken also after what joins the words of a name."""
    lines = [""]
    for part in re.findall(r"[^\s_,:/-]*[\s_,:/-]+|[^\s_,:/-]+", text):
        if lines[-1] and len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(each.rstrip() for each in lines)


def words(texts: Sequence[str]) -> tuple[CostCell, ...]:
    """Return a cell for each text; those without a number are quiet."""
    return tuple(CostCell(each, "quiet" if each == NOTHING else "") for each in texts)


def blocked_row(names: tuple[CostCell, ...], found: Blocked, columns: int) -> GridRow:
    """Return a row that has no numbers, and the clause that took them."""
    clause = f"clause {found.clause}" if found.clause else "see below"
    empty = (CostCell(""),) * (columns - len(names) - 2)
    cells = (*names, CostCell("blocked", "bad"), *empty, CostCell(brief(clause), "bad"))
    return GridRow(cells, blocked_at=len(names))


def seconds_text(value: float) -> str:
    """Return a time in the unit that suits it: ``312 ns``, ``4.20 ms``."""
    unit, size = _unit(value, _TIMES)
    return f"{_number(value / size, _decimals(value / size))} {unit}"


def seconds_estimate(found: Estimate | None) -> str:
    """Return a time with its interval: ``312 ns (305 to 320)``."""
    if found is None:
        return NOTHING
    unit, size = _unit(found.value or found.high, _TIMES)
    return _with_interval(found.times(1 / size), f" {unit}")


def ratio_text(value: float) -> str:
    """Return a ratio: ``1.34 x``, ``640 x``."""
    return f"{_number(value, _decimals(value))} x"


def ratio_estimate(found: Estimate | None) -> str:
    """Return a ratio with its interval: ``1.34 x (1.30 to 1.38)``."""
    return NOTHING if found is None else _with_interval(found, " x")


def bytes_text(value: float | None) -> str:
    """Return a size in the unit that suits it: ``312 B``, ``1.20 KiB`` of 1,024 B."""
    if value is None:
        return NOTHING
    unit, size = _unit(value, _SIZES)
    decimals = 0 if unit == "B" else _decimals(value / size)
    return f"{_number(value / size, decimals)} {unit}"


def percent(share: float, decimals: int | None = None) -> str:
    """Return a share: ``62 %``, ``2.1 %``."""
    value = share * 100
    wanted = (0 if abs(value) >= 10 else 1) if decimals is None else decimals
    return f"{_number(value, wanted)} %"


def noise_text(costs: Costs) -> str:
    """Return how far two equal sides were apart, and what follows from it."""
    ratio = costs.noise.ratio
    value, low, high = (f"{each:.3f}" for each in (ratio.value, ratio.low, ratio.high))
    furthest = max(abs(ratio.low - 1), abs(ratio.high - 1))
    return (
        f"two equal sides differed by up to {percent(furthest, 1)}"
        f" ({value} x, {low} to {high});"
        f" nothing nearer to 1 than {percent(costs.noise.band, 1)} is told apart"
    )


def over(found: Compared) -> str:
    """Return the ratio over a floor, or that it cannot be told from 1."""
    return SAME if found.change == SAME else ratio_estimate(found.ratio)


def failure_text(found: CostFailure | None, tried: int) -> str:
    """Return from how many handlers on something fails, and how, in a few words."""
    if found is None:
        return f"none up to {tried:,}" if tried else "not tried"
    how = {
        "exception": "exception",
        "silent": "silently",
        "killed": "killed",
        "too slow": "too slow",
    }
    return f"{found.n:,}, {how[found.how]}"


def blocked_text(found: Blocked) -> str:
    """Return the clause that was not kept, and how."""
    clause = f"{found.clause} is not kept: " if found.clause else ""
    return plain(f"{clause}{found.why}")


def _with_interval(found: Estimate, unit: str) -> str:
    decimals = _decimals(found.value or found.high)
    low, high = _number(found.low, decimals), _number(found.high, decimals)
    return f"{_number(found.value, decimals)}{unit} ({low} to {high})"


def _unit(value: float, units: tuple[tuple[str, float], ...]) -> tuple[str, float]:
    """Return the largest unit of which there is one at least, else the smallest."""
    known = abs(value) if math.isfinite(value) else 0.0
    return next((each for each in units if known >= each[1]), units[-1])


def _decimals(value: float) -> int:
    """Return how many decimals show three digits; beside a 1, two are enough."""
    if not math.isfinite(value) or value == 0:
        return 0
    most = 2 if abs(value) >= _SMALL else 4
    return min(max(_DIGITS - 1 - math.floor(math.log10(abs(value))), 0), most)


def _number(value: float, decimals: int) -> str:
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "unbounded"
    # A minus before zero is left over from rounding.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"
