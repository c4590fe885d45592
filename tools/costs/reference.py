"""The reference run: ``python -m tools.costs.reference`` makes all that is shown of it.

It measures everything, peers included, and writes ``benchmarks/results``: the numbers,
the tables, the page and the plot. The tables of README and docs/performance.md are
written from the same numbers; ``--show`` does that again without measuring. Needs the
extras bench and peers, and a machine that does nothing else for a quarter of an hour.
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
from tools.costs.profiles import profiles

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "benchmarks" / "results"
NUMBERS: Final = RESULTS / "reference.json"
PROFILES: Final = RESULTS / "profiles.md"
README: Final = ROOT / "README.md"
PERFORMANCE: Final = ROOT / "docs" / "performance.md"
END: Final = "<!-- up to here -->\n"


class NoPlaceError(ValueError):
    """A page has no place for what is to be shown in it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"there is no {begin(what).strip()} with {END.strip()}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; returns the exit code, 1 if a peer is absent."""
    about = "Measure all that README and docs/performance.md show, and write it."
    parser = argparse.ArgumentParser(
        "python -m tools.costs.reference", description=about
    )
    parser.add_argument("--show", action="store_true", help="of the numbers there are")
    given = parser.parse_args(arguments)
    if missing := [page.name for page in (README, PERFORMANCE) if not page.exists()]:
        parser.error(f"there is no {missing[0]} here: this is for a checkout")
    if given.show:
        costs = read(NUMBERS)
    else:
        costs = measured(Asked(peers=PEERS), _tell)
        _keep(costs)
    for page in (README, PERFORMANCE):
        page.write_text(shown(page.read_text("utf-8"), costs), "utf-8")
    for each in costs.absent:
        _tell(f"absent: {each.peer}: {each.why}")
    return 1 if costs.absent else 0


def shown(text: str, costs: Costs) -> str:
    """Return a page with its tables written anew; raises NoPlaceError for none."""
    places = {
        "hooks and runs": lambda: tables_text(costs, ("hooks", "base")),
        "peers": lambda: tables_text(costs, ("peers",)),
        "bars": lambda: tables_text(costs, ("bars",)),
        "growth": lambda: tables_text(costs, ("growth", "forms")),
        "profiles": lambda: PROFILES.read_text("utf-8"),
    }
    here = [what for what in places if begin(what) in text]
    if not here:
        raise NoPlaceError(", ".join(places))
    for what in here:
        text = between(text, what, places[what]())
    return text


def between(text: str, what: str, content: str) -> str:
    """Return a page with this content in its place; raises NoPlaceError."""
    before, started, rest = text.partition(begin(what))
    _, ended, after = rest.partition(END)
    if not started or not ended:
        raise NoPlaceError(what)
    return f"{before}{started}\n{content}\n{ended}{after}"


def begin(what: str) -> str:
    """Return the line after which something is shown."""
    return f"<!-- {what}: written by python -m tools.costs.reference -->\n"


def _keep(costs: Costs) -> None:
    RESULTS.mkdir(exist_ok=True)
    NUMBERS.write_text(costs.model_dump_json(indent=1) + "\n", "utf-8")
    PROFILES.write_text(profiles(), "utf-8")
    (RESULTS / "reference.md").write_text(markdown_text(costs), "utf-8")
    (RESULTS / "reference.html").write_text(page_text(costs), "utf-8")
    write_plot(costs, RESULTS / "cost.svg")


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
