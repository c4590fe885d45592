"""What holds of the checks of a family: fixed worlds, the reference engine.

Families whose checks rest on the Python have the same in files of their own, which the
newest one runs, too (``pythons.toml``).
"""

import pytest

from property_tests import checks
from property_tests.check import Check
from property_tests.generating import generated
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from refengine.profile import PROFILES
from refengine.testing.doors import ReferenceEngine
from tests.deciding import accused, undecided, worlds


def compared(*families: str) -> tuple[Check, ...]:
    """Return what decides the clauses of families that are decided by comparison."""
    every = checks.CHECKS
    return tuple(each for each in every if each.compares and each.family in families)


STATE = {each.clause for each in worlds("state")}
"""Clauses whose fixed worlds are among those of kept, cancelled and retried runs."""
CHECKS = {
    "adapted": (*checks.adapted.CHECKS, *compared("COMPAT")),
    "context": compared("CTX"),
    "direct": compared("RD"),
    "errors": tuple(e for e in compared("ERR") if e.clause not in STATE),
    "events": compared("EVT"),
    "extensions": (
        *checks.extensions.CHECKS,
        *compared("EXT"),
        *(each for each in compared("SURF") if each.clause != "SURF-007"),
    ),
    "instruction": compared("INS"),
    "messages": tuple(e for e in compared("MSG") if e.clause not in STATE),
    "order": compared("ORD"),
    "runs": (
        *checks.ends.CHECKS,
        *(each for each in compared("RUN") if each.clause != "RUN-022"),
    ),
    "state": (
        *compared("INT"),
        *compared("SER"),
        *(each for each in compared("RUN") if each.clause == "RUN-022"),
        *checks.resuming.CHECKS,
        *checks.borders.CHECKS,
        *checks.cancelling.CHECKS,
        *checks.handed_back.CHECKS,
        *(each for each in compared("ERR", "MSG", "STR") if each.clause in STATE),
    ),
    "tools": compared("TOOL"),
    "wrapping": compared("WRAP"),
}
MET = ("direct", "instruction", "order", "tools")
"""Families that any few generated worlds decide."""
EACH = pytest.mark.parametrize("family", CHECKS)


@EACH
def test_the_fixed_world_of_every_clause_decides_it(family):
    assert undecided(CHECKS[family], family) == set()


@EACH
def test_the_reference_engine_keeps_every_clause_in_every_fixed_world(family):
    assert accused(CHECKS[family], family) == set()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda each: each.name)
def test_the_reference_engine_keeps_every_clause_in_generated_worlds(profile):
    player = VariantPlayer(ReferenceEngine(profile), profile)
    met = [each for family in MET for each in CHECKS[family]]
    judged = [judge(player, each, met) for each in generated(25, seed=5)]
    decided = {clause for each in judged for clause in each.decided}

    assert [each.failed for each in judged if each.failed] == []
    for family in MET:
        assert decided & {each.clause for each in CHECKS[family]}
