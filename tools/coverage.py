"""How many worlds let each check decide, and more worlds for those met too seldom.

    python -m tools.coverage [--check]

Counts the default corpus on the reference engine and writes ``narrowed.json``. With
``--check`` it writes nothing, and exits with 1 if a clause is met too seldom.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from compat.verdicts.exit_codes import DIFFERS, OK
from property_tests.checks import CHECKS
from property_tests.corpus import NARROWED, CorpusWorld, fixed_worlds
from property_tests.defaults import EXAMPLES, SEED
from property_tests.generating import HAPPENINGS, around, generated
from property_tests.grafting import neighbours
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from refengine.profile import profile
from refengine.testing.doors import ReferenceEngine

ENOUGH: Final = 30
"""So many worlds at least let every check decide."""
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
        if found.get(check.clause, 0) < ENOUGH and check.family != "DEEP"
    }


def main(arguments: Sequence[str]) -> int:
    """Count, and write what is needed or tell what is missing."""
    fixed = tuple(fixed_worlds())
    worlds = [*fixed, *generated(EXAMPLES, seed=SEED, fixed=fixed)]
    if "--check" in arguments:
        few = seldom(counted(worlds))
        for clause, count in few.items():
            sys.stdout.write(f"{clause}: {count} worlds, {ENOUGH} are asked for\n")
        sys.stdout.write(f"{len(worlds)} worlds, {len(few)} clauses met too seldom\n")
        return DIFFERS if few else OK
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
    return min(MOST, round((ENOUGH - count) / max(share, 0.05)) + 12)


def _player(name: str) -> VariantPlayer:
    under = profile(name)
    return VariantPlayer(ReferenceEngine(under), under)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
