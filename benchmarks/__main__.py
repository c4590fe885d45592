"""``python -m benchmarks``: measure the bars and print a table; exit 1 if one fails."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.bars import BARS
from benchmarks.measure import MeasuredBar, Ratio, measured
from refengine.testing.machine import facts

ROUNDS: Final = 20  # in each series
WIDTH: Final = 120  # of the table; a file or pipe has none of its own


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    given = _parser().parse_args(arguments)
    chosen = [bar for bar in BARS if given.only in bar.name]
    if not chosen:
        names = "\n  ".join(bar.name for bar in BARS)
        _parser().error(f"no bar has {given.only!r} in its name:\n  {names}")
    ratios = asyncio.run(_measured(chosen, given.rounds))
    console = Console(width=WIDTH)
    console.print(_table(chosen, ratios))
    console.print(_machine_line(facts()))
    if given.json is not None:
        _write(given.json, chosen, ratios)
    return 0 if all(ratio.holds for ratio in ratios) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write this")
    parser.add_argument("--only", default="", help="bars with this text in their name")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="a series")
    return parser


async def _measured(bars: Sequence[MeasuredBar], rounds: int) -> list[Ratio]:
    return [await measured(bar, rounds) for bar in bars]


def _table(bars: Sequence[MeasuredBar], ratios: Sequence[Ratio]) -> Table:
    """Return the table in Markdown's own notation, so that README can quote it."""
    table = Table(box=box.MARKDOWN)
    table.add_column("bar", justify="right")
    table.add_column("engine over floor", no_wrap=True)
    for name in ("ratio", "middle half", "limit", "floor µs", "engine µs"):
        table.add_column(name, justify="right", no_wrap=True)
    for bar, ratio in zip(bars, ratios, strict=True):
        table.add_row(str(bar.number), bar.name, *_cells(ratio))
    return table


def _cells(ratio: Ratio) -> tuple[str, ...]:
    limit = "told" if ratio.limit is None else f"≤ {ratio.limit:g}"
    return (
        f"{ratio.ratio:.3f}",
        f"{ratio.low:.3f} to {ratio.high:.3f}",
        limit if ratio.holds else f"MISSED {limit}",
        f"{ratio.floor * 1e6:.3f}",
        f"{ratio.subject * 1e6:.3f}",
    )


def _machine_line(machine: dict[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in machine.items())


def _write(path: Path, bars: Sequence[MeasuredBar], ratios: Sequence[Ratio]) -> None:
    rows = [
        {"bar": bar.number, **asdict(ratio), "holds": ratio.holds}
        for bar, ratio in zip(bars, ratios, strict=True)
    ]
    text = json.dumps({"machine": facts(), "ratios": rows}, indent=1)
    path.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
