"""How many worlds let each check decide, and more worlds for those met too seldom.

    python -m tools.coverage [--check REPORT | --drawn DOOR]

Counts the default corpus on the reference engine and writes ``narrowed.json``. With
``--check`` it reads a report that ``refengine conform reference --json`` wrote, shows
on how many worlds each clause rests, and exits with 1 if one is met too seldom. With
``--drawn`` it shows in how many of the worlds that are drawn for a door to a dialect
each clause is decided, and exits with 1 if one is in none.
"""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from compat.verdicts.conformance import THIN
from compat.verdicts.exit_codes import DIFFERS, OK
from property_tests.checks import CHECKS
from property_tests.corpus import NARROWED, CorpusWorld, fixed_worlds
from property_tests.defaults import EXAMPLES, SEED
from property_tests.dialects.deciding import WorldDecider
from property_tests.dialects.dialects import dialect_named, dialect_of
from property_tests.generating import HAPPENINGS, around, generated
from property_tests.grafting import neighbours
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from refengine.profile import profile
from refengine.testing.doors import ReferenceEngine

MOST: Final = 90
"""So many worlds are drawn for one clause at most, however few of them decide."""

UNDER: Final[Mapping[str, str]] = MappingProxyType({"ERR-004": "eino-0.9"})
"""Clauses that have a meaning only under another profile than the default."""


def counted(worlds: Iterable[CorpusWorld]) -> Counter[str]:
    """Return in how many worlds each check decides, on the reference engine."""
    found: Counter[str] = Counter()
    players = {name: _player(name) for name in {"seed-001", *UNDER.values()}}
    for entry in worlds:
        for name, player in players.items():
            mine = [e for e in CHECKS if UNDER.get(e.clause, "seed-001") == name]
            found.update(judge(player, entry, mine).decided.keys())
    return found


def seldom(found: Mapping[str, int]) -> dict[str, int]:
    """Return the clauses that too few worlds let decide, with their number.

    Those of DEEP need no more than their fixed cases: a world of 10,000 extensions
    takes as long as a hundred others.
    """
    return {
        check.clause: found.get(check.clause, 0)
        for check in CHECKS
        if found.get(check.clause, 0) < THIN and check.family != "DEEP"
    }


def in_report(report: Mapping[str, Any]) -> dict[str, int]:
    """Return how many worlds each clause rests on, in the first engine's verdicts."""
    results: Sequence[Mapping[str, Any]] = report["engines"][0]["results"]
    return {
        each["clause"]: each["worlds"]
        for each in results
        if each["verdict"] in {"pass", "fail"}
    }


def table(found: Mapping[str, int]) -> str:
    """Return the worlds of each clause as text, those with the fewest first."""
    counts = sorted(found.items(), key=lambda each: each[1])
    return "\n".join(f"{count:6,}  {clause}" for clause, count in counts)


def check(report: Mapping[str, Any]) -> int:
    """Show the worlds of each clause; return 1 if one is met too seldom."""
    found = in_report(report)
    few = {clause: count for clause, count in seldom(found).items() if clause in found}
    sys.stdout.write(f"{table(found)}\n")
    for clause, count in few.items():
        sys.stdout.write(f"{clause}: {count} worlds, {THIN} are asked for\n")
    return DIFFERS if few or not found else OK


def drawn(door: str, examples: int = EXAMPLES, number: int = SEED) -> dict[str, int]:
    """Return in how many drawn worlds of its dialect a door has each clause decided."""
    dialect = dialect_named(dialect_of(door))
    decider = WorldDecider(dialect, dialect.load(door, None), dialect.checks)
    found = Counter(dict.fromkeys(decider.applying, 0))
    for each in dialect.drawn(examples, number):
        found.update(list(decider.judge(each.scenario).decided))
    return dict(found)


def check_drawn(door: str) -> int:
    """Show in how many drawn worlds each clause is decided; 1 if one is in none."""
    logging.disable(logging.ERROR)  # dialects log the errors that worlds raise
    found = drawn(door)
    sys.stdout.write(f"{table(found)}\n")
    never = sorted(clause for clause, count in found.items() if not count)
    for clause in never:
        sys.stdout.write(f"{clause}: no drawn world decides it\n")
    return DIFFERS if never or not found else OK


def main(arguments: Sequence[str]) -> int:
    """Count, and write what is needed or tell what is missing."""
    if arguments and arguments[0] == "--drawn":
        return check_drawn(arguments[-1])
    if arguments:
        return check(json.loads(Path(arguments[-1]).read_text("utf-8")))
    fixed = tuple(fixed_worlds())
    worlds = [*fixed, *generated(EXAMPLES, seed=SEED, fixed=fixed)]
    others = [e for e in worlds if e.fixed or not e.only or e.family in HAPPENINGS]
    few = seldom(counted(others))
    needed = {clause: _needed(clause, count, fixed) for clause, count in few.items()}
    NARROWED.write_text(json.dumps(needed, indent=1) + "\n", "utf-8")
    return OK


def _needed(clause: str, count: int, fixed: Sequence[CorpusWorld]) -> int:
    """Return how many worlds to draw, by how many of some decide."""
    cases = [each for each in fixed if each.clause == clause]
    among = neighbours(SEED)
    drawn = [world for case in cases for world in around(case, 8, SEED, among)]
    share = counted(drawn)[clause] / len(drawn)
    return min(MOST, round((THIN - count) / max(share, 0.05)) + 12)


def _player(name: str) -> VariantPlayer:
    under = profile(name)
    return VariantPlayer(ReferenceEngine(under), under)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
