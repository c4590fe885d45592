"""Tables of a benchmark before they are drawn: what terminal, page and Markdown share.

Every text in a grid is plain: what draws it escapes its own notation, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from compat.report.conform_text import brief
from compat.report.cost_text import NOTHING
from compat.verdicts.cost import Blocked

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


def left(name: str) -> CostColumn:
    """Return the heading of a column of words."""
    return CostColumn(name, right=False)


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
