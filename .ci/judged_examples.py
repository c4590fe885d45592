"""Check what judging the examples gave: so many cases, all met, each by a small world.

    python .ci/judged_examples.py CASES [--most=N] REPORT.json [REPORT.json...]
    python .ci/judged_examples.py --unmet REPORT.json
    python .ci/judged_examples.py --pieces FOLDER

A later report has a piece anew, in more worlds; ``--unmet`` prints the pieces that need
one. So a case that few worlds decide costs no more, and none is given up for it.

``--pieces`` prints which pieces of a folder CI judges: so many that each verdict that
the folder declares is declared by one of them. .ci/long judges all.

A divergence is shown by a world of at most three iterations, or of ``--most``, or a
newcomer does not see at once what it shows.
"""

import json
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine, play, read_scenario, run

MOST = 3
OPTION = "--most="


def iterations(world: object) -> int:
    """Return how many iterations the longest run of a world has, without a subject."""
    trace = run(play(read_scenario(world), ReferenceEngine(SEED_001)))
    return max((each.data["iterations"] for each in trace.of("run_end")), default=0)


def judged(reports: Sequence[str]) -> list[dict[str, Any]]:
    """Return the cases of all reports, each as the last report has it."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for report in reports:
        for case in json.loads(Path(report).read_text("utf-8"))["each"]:
            found[case["piece"], case["case"]] = case
    return list(found.values())


def declared(piece: Path) -> set[str]:
    """Return the verdicts that a piece declares."""
    cases = tomllib.loads((piece / "migration.toml").read_text("utf-8"))["cases"]
    return {each.get("diverges") or each["holds"] for each in cases.values()}


def chosen(folder: Path) -> list[str]:
    """Return pieces that declare all verdicts of a folder, those with most first."""
    verdicts = {each.parent: declared(each.parent) for each in folder.glob("*/*.toml")}
    left = set[str]().union(*verdicts.values())
    found = []
    while left:
        best = max(sorted(verdicts), key=lambda piece: len(verdicts[piece] & left))
        found.append(best.name)
        left -= verdicts[best]
    return found


def main(cases: str, *reports: str) -> None:
    """Print the counts; exits with 1 if they are others or a world is too large."""
    if cases == "--pieces":
        print(*chosen(Path(reports[0])))
        return
    given = [each for each in reports if each.startswith(OPTION)]
    most = int(given[-1].removeprefix(OPTION)) if given else MOST
    each = judged([report for report in reports if report not in given])
    unmet = [case for case in each if not case["met"]]
    if cases == "--unmet":
        print(*dict.fromkeys(case["piece"] for case in unmet))
        return
    shown = [case for case in each if case["divergence"]]
    large = [c for c in shown if iterations(c["world"]) > most]
    print(f"{len(each)} cases, {len(unmet)} not met, {len(shown)} divergences")
    for case in unmet:
        print(f"FAILED {case['piece']}/{case['case']}: {case['got']}")
    for case in large:
        print(f"FAILED {case['piece']}/{case['case']}: more than {most} iterations")
    sys.exit(bool(large or unmet) or len(each) != int(cases) or not shown)


if __name__ == "__main__":
    main(*sys.argv[1:])
