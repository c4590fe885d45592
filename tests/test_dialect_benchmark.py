"""What ``python -m benchmarks.dialects`` measures: each row, with its figures."""

import asyncio
import gc
from pathlib import Path

from benchmarks.dialects import DialectRow, MeasuredRow, measured, rows


def test_every_row_is_measured_and_no_two_have_one_name(tmp_path: Path) -> None:
    async def measured_all() -> list[MeasuredRow]:
        return [await measured(each, 1) for each in rows(tmp_path, short=10)]

    gc.freeze()  # what other tests left is not looked through for each figure
    found = asyncio.run(measured_all())

    assert len({each.row.name for each in found}) == len(found) == 12
    assert all(each.first > 0 and each.ratio > 0 for each in found)


def test_row_that_costs_more_than_it_may_does_not_hold() -> None:
    async def work() -> None:
        """Do nothing."""

    row = DialectRow("a", work, work, (1, 1), 1.3)

    assert MeasuredRow(row, 1, 1.3, 1.3).holds
    assert not MeasuredRow(row, 1, 1.4, 1.4).holds
