"""Rows of observed behaviour as units of a cluster: their JSON, and their verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from compat.observe.judging import RowJudge, RowVerdict, purposes
from compat.observe.rows import AnyRow, row_of
from compat.spreading import Spread, UnitData, in_order

KIND: Final = "rows"
AT_ONCE: Final = 100
"""So many rows, in every version that has a profile, take seconds."""


def judged_rows(
    rows: Sequence[tuple[AnyRow, object]],
    profiles: Sequence[str] | None,
    spread: Spread | None,
) -> Iterator[RowVerdict]:
    """Yield the verdict on each row and its JSON, here or on a cluster, in order."""
    if spread is None:
        judge = RowJudge(profiles, purposes())
        yield from (judge.judge(row) for row, _ in rows)
        return
    starts = range(0, len(rows), AT_ONCE)
    units = [_unit(rows[at : at + AT_ONCE], profiles) for at in starts]
    for answer in in_order(spread, KIND, units):
        for each in answer["verdicts"]:
            yield RowVerdict(**{**each, "versions": tuple(each["versions"])})


def _unit(
    rows: Sequence[tuple[AnyRow, object]], profiles: Sequence[str] | None
) -> UnitData:
    named = [{"id": row.id, "row": data} for row, data in rows]
    return {"rows": named, "profiles": profiles}


def judged(unit: UnitData) -> UnitData:
    """Return the verdicts on the rows of a unit; this is what a worker plays."""
    judge = RowJudge(unit["profiles"], purposes())
    found = (judge.judge(row_of(each["row"], each["id"])) for each in unit["rows"])
    return {"verdicts": [asdict(each) for each in found]}
