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
from benchmarks.running import BenchRequest, measured
from compat.report.cost_files import (
    markdown_text,
    page_text,
    tables_text,
    write_plot,
)
from compat.report.cost_tables import base_runs
from compat.report.cost_text import seconds_text
from compat.verdicts.cost import Compared, Cost, Costs, Floor
from tools.costs.profiles import profiles
from tools.pages.blocks import NoPlaceError, begin, between

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "benchmarks" / "results"
NUMBERS: Final = RESULTS / "reference.json"
PROFILES: Final = RESULTS / "profiles.md"
README: Final = ROOT / "README.md"
PERFORMANCE: Final = ROOT / "docs" / "performance.md"
COMMAND: Final = "tools.costs.reference"


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
        costs = measured(BenchRequest(peers=PEERS), _say)
        _keep(costs)
    for page in (README, PERFORMANCE):
        page.write_text(shown(page.read_text("utf-8"), costs), "utf-8")
    for each in costs.absent:
        _say(f"absent: {each.peer}: {each.why}")
    return 1 if costs.absent else 0


def shown(text: str, costs: Costs) -> str:
    """Return a page with its tables written anew; raises NoPlaceError for none."""
    files = {
        "in short": lambda: short_text(costs),
        "hooks and runs": lambda: tables_text(costs, ("hooks", "base")),
        "peers": lambda: tables_text(costs, ("peers",)),
        "bars": lambda: tables_text(costs, ("bars",)),
        "growth": lambda: tables_text(costs, ("growth", "forms")),
        "profiles": lambda: PROFILES.read_text("utf-8"),
    }
    here = [what for what in files if begin(what, COMMAND) in text]
    if not here:
        raise NoPlaceError(", ".join(files), COMMAND)
    for what in here:
        text = between(text, what, files[what](), COMMAND)
    return text


def short_text(costs: Costs) -> str:
    """Return what README says about costs: five lines."""
    hooks = {each.name: each for each in costs.costs if each.section == "hooks"}
    build = hooks.pop("before_agent")
    adds = sorted(_adds(each) for each in hooks.values())
    times = [_over(each, "bare Python").ratio.value for each in hooks.values()]
    bases = base_runs([each for each in costs.peers if not each.own])
    peers = sorted((each.base_seconds or 0.0, each.peer) for each in bases)
    [ours] = {_over(each, "no handlers").floor_seconds for each in costs.costs[:1]}
    growth = next(each.ratio for each in costs.bars if each.name.startswith("growth"))
    machine = costs.header.machine
    return f"""\
- One more hook adds {seconds_text(adds[0])} to {seconds_text(adds[-1])} to a run, {min(times):.1f} to {max(times):.1f} times what bare Python takes for it.
- `before_agent` runs once, when the agent is built: {seconds_text(_adds(build))} a handler.
- Cost grows linearly: its exponent from 1,000 to 10,000 handlers is at most {growth:.2f}, and 1 is a straight line.
- A run without handlers takes {seconds_text(ours)}; in the {len(peers)} other frameworks that were measured, {seconds_text(peers[0][0])} ({peers[0][1]}) to {seconds_text(peers[-1][0])} ({peers[-1][1]}).
- Measured on {machine["cpu"]}, {machine["cores"]} cores, {machine["os"]}, {machine["python"]}; [how, and the whole reference run](docs/performance.md).
"""  # noqa: E501  # lines of a page


def _over(cost: Cost, floor: Floor) -> Compared:
    return next(each for each in cost.compared if each.floor == floor)


def _adds(cost: Cost) -> float:
    """Return how many seconds one more handler adds to a run."""
    added = _over(cost, "no handlers").per_handler
    if added is None:
        raise AssertionError(cost.key)
    return added.value


def _keep(costs: Costs) -> None:
    RESULTS.mkdir(exist_ok=True)
    NUMBERS.write_text(costs.model_dump_json(indent=1) + "\n", "utf-8")
    PROFILES.write_text(profiles(), "utf-8")
    (RESULTS / "reference.md").write_text(markdown_text(costs), "utf-8")
    (RESULTS / "reference.html").write_text(page_text(costs), "utf-8")
    write_plot(costs, RESULTS / "cost.svg")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
