"""The reference run: ``python -m benchmarks.reference`` makes all that is shown of it.

It measures everything, peers included, and writes ``benchmarks/results``: the numbers,
the tables, the page and the plot; README's table is written from the same numbers.
``--show`` does the latter again without measuring. Needs the extras bench and peers,
and a machine that does nothing else for a quarter of an hour.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.comparing import read
from benchmarks.defaults import PEERS
from benchmarks.running import Asked, measured
from compat.report.cost_markdown import markdown_text, tables_text
from compat.report.cost_page import page_text
from compat.report.cost_plots import write_plot
from compat.verdicts.cost import Costs

RESULTS: Final = Path(__file__).parent / "results"
NUMBERS: Final = RESULTS / "reference.json"
README: Final = Path(__file__).parent.parent / "README.md"
BEGIN: Final = "<!-- written by python -m benchmarks.reference -->\n"
END: Final = "<!-- up to here -->\n"
SHOWN: Final = ("hooks", "base", "peers")
"""The tables that README has."""


class NoMarksError(ValueError):
    """README has no place for the table."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path.name} has no {BEGIN.strip()} with {END.strip()}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; returns the exit code, 1 if a peer is absent."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.reference", description=__doc__
    )
    parser.add_argument(
        "--show", action="store_true", help="of the numbers that are there"
    )
    given = parser.parse_args(arguments)
    costs = read(NUMBERS) if given.show else measured(Asked(peers=PEERS), _tell)
    write(costs)
    for each in costs.absent:
        sys.stderr.write(f"absent: {each.peer}: {each.why}\n")
    return 1 if costs.absent else 0


def write(costs: Costs) -> None:
    """Write numbers, tables, page and plot, and README's part."""
    RESULTS.mkdir(exist_ok=True)
    NUMBERS.write_text(costs.model_dump_json(indent=1) + "\n", "utf-8")
    (RESULTS / "reference.md").write_text(markdown_text(costs), "utf-8")
    (RESULTS / "reference.html").write_text(page_text(costs), "utf-8")
    write_plot(costs, RESULTS / "cost.svg")
    README.write_text(with_table(README.read_text("utf-8"), costs), "utf-8")


def with_table(text: str, costs: Costs) -> str:
    """Return README with the table of these numbers; raises NoMarksError."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoMarksError(README)
    return f"{before}{begin}\n{tables_text(costs, SHOWN)}\n{end}{after}"


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
