"""Check what judging the examples gave: so many cases, all met, each by a small world.

    python .ci/judged_examples.py REPORT.json CASES

A divergence is shown by a world of at most three iterations, or a newcomer does not
see at once what it shows.
"""

import json
import sys
from pathlib import Path

from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine, play, read_scenario, run

MOST = 3


def iterations(world: object) -> int:
    """Return how many iterations the longest run of a world has, without a subject."""
    trace = run(play(read_scenario(world), ReferenceEngine(SEED_001)))
    return max((each.data["iterations"] for each in trace.of("run_end")), default=0)


def main(report: str, cases: str) -> None:
    """Print the counts; exits with 1 if they are others or a world is too large."""
    read = json.loads(Path(report).read_text("utf-8"))
    shown = [case for case in read["each"] if case["divergence"]]
    large = [c for c in shown if iterations(c["world"]) > MOST]
    print(f"{read['cases']} cases, {read['met']} met, {len(shown)} divergences")
    for case in large:
        print(f"{case['piece']}/{case['case']}: a world of more than {MOST} iterations")
    counts = {read["cases"], read["met"], int(cases)}
    sys.exit(bool(large) or len(counts) > 1 or not shown)


if __name__ == "__main__":
    main(*sys.argv[1:])
