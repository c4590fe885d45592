"""Check what judging the examples gave: so many cases, all met, each by a small world.

    python .ci/judged_examples.py CASES [--most=N] REPORT.json [REPORT.json...]
    python .ci/judged_examples.py --unmet REPORT.json
    python .ci/judged_examples.py --choose FOLDER OUT

A later report has a piece anew, in more worlds; ``--unmet`` prints the pieces that need
one. So a case that few worlds decide costs no more, and none is given up for it.

``--choose`` copies what CI judges of a folder: the few pieces that declare most of the
verdicts that no folder before it declares, in the order in which CI judges them, with a
case for each, at least one that holds and one that does not. Each code of a divergence
has a test of its own, too (tests/test_divergences.py). .ci/long judges all cases.

A divergence is shown by a world of at most three iterations, or of ``--most``, or a
newcomer does not see at once what it shows.
"""

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine, play, read_scenario, run

MOST = 3
PIECES = 4
"""So many pieces of a folder are judged; the rest declare a verdict or two each."""
OPTION = "--most="
SETTINGS = "migration.toml"
ORDER = (
    "struct_to_handler",
    "langgraph_to_langchain",
    "between_frameworks",
    "adk_callbacks_to_plugins",
    "linear_to_loop",
    "callbacks_v1_to_v2",
)


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


def declared(piece: Path) -> dict[str, str]:
    """Return the verdicts that a piece declares, each with the first case that does."""
    cases = tomllib.loads((piece / SETTINGS).read_text("utf-8"))["cases"]
    found: dict[str, str] = {}
    for name, case in cases.items():
        found.setdefault(case.get("diverges") or case["holds"], name)
    return found


def verdicts(folder: Path) -> dict[Path, dict[str, str]]:
    """Return what the pieces of a folder declare, by piece."""
    return {each.parent: declared(each.parent) for each in folder.glob("*/*.toml")}


def own(folder: Path) -> set[str]:
    """Return the verdicts of a folder that none before declares, and one of each kind.

    Codes of divergences are in capitals; relations that hold are not.
    """
    before = ORDER[: ORDER.index(folder.name)]
    known = set[str]()
    for each in before:
        known.update(*verdicts(folder.with_name(each)).values())
    every = set[str]().union(*verdicts(folder).values())
    found = every - known
    for kind in ({e for e in every if e.isupper()}, {e for e in every if e.islower()}):
        if not kind & found:
            found.add(min(kind))
    return found


def chosen(folder: Path) -> dict[Path, set[str]]:
    """Return the pieces that declare most of those verdicts, and a case for each."""
    pieces, left = verdicts(folder), own(folder)
    found: dict[Path, set[str]] = {}
    while left and len(found) < PIECES:
        best = max(sorted(pieces), key=lambda piece: len(pieces[piece].keys() & left))
        found[best] = {pieces[best][each] for each in pieces[best].keys() & left}
        left -= pieces[best].keys()
    return found


def choose(folder: Path, out: Path) -> int:
    """Copy what is chosen of a folder; return how many cases that are."""
    taken = chosen(folder)
    for piece, cases in taken.items():
        settings = out / piece.name / SETTINGS
        shutil.copytree(piece, settings.parent)
        text = settings.read_text("utf-8")
        settings.write_text(only(text, cases), "utf-8")
        for case in tomllib.loads(text)["cases"].keys() - cases:
            (settings.parent / case).unlink()  # a file that is not a case is refused
    return sum(map(len, taken.values()))


def only(settings: str, cases: set[str]) -> str:
    """Return settings without the tables of all other cases."""
    head, *tables = re.split(r"^(?=\[)", settings, flags=re.MULTILINE)
    kept = [each for each in tables if of_case(each) in {None, *cases}]
    return "".join([head, *kept])


def of_case(table: str) -> str | None:
    """Return the case that a table is about, None if it is about none."""
    found = re.match(r"\[\[?cases\.(?:\"([^\"]+)\"|([\w-]+))", table)
    return found and (found[1] or found[2])


def main(cases: str, *reports: str) -> None:
    """Print the counts; exits with 1 if they are others or a world is too large."""
    if cases == "--choose":
        print(choose(*map(Path, reports)))
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
