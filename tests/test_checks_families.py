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
from tests.deciding import accused, undecided


def compared(family: str) -> tuple[Check, ...]:
    """Return what decides the clauses of a family that are decided by comparison."""
    every = checks.CHECKS
    return tuple(each for each in every if each.compares and each.family == family)


CHECKS = {
    "adapted": checks.adapted.CHECKS,
    "context": compared("CTX"),
    "direct": compared("RD"),
    "events": compared("EVT"),
    "extensions": checks.extensions.CHECKS,
    "instruction": compared("INS"),
    "messages": (
        *checks.messages.CHECKS,
        *(each for each in checks.callers.CHECKS if each.family == "MSG"),
    ),
    "order": compared("ORD"),
    "runs": (*checks.ends.CHECKS, *compared("RUN")),
    "state": (
        *checks.asking.CHECKS,
        *checks.interrupts.CHECKS,
        *checks.resuming.CHECKS,
        *checks.going_on.CHECKS,
        *checks.borders.CHECKS,
        *checks.cancelling.CHECKS,
        *checks.retrying.CHECKS,
        *(each for each in checks.handed_back.CHECKS if each.family != "ERR"),
    ),
    "tools": compared("TOOL"),
    "wrapping": checks.wrapping.CHECKS,
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
