"""What ``python -m benchmarks.dialects`` measures: each bar, with its figures."""

import asyncio
import gc
from pathlib import Path

from benchmarks.dialects import bars, measured
from benchmarks.measure import Ratio


def test_every_bar_is_measured_and_no_two_have_one_name(tmp_path: Path) -> None:
    async def measured_all() -> list[Ratio]:
        return [await measured(each, 2) for each in bars(tmp_path, short=10)]

    gc.freeze()  # what other tests left is not looked through for each figure
    found = asyncio.run(measured_all())

    assert len({each.name for each in found}) == len(found) == 12
    assert all(each.floor > 0 and each.ratio > 0 for each in found)
