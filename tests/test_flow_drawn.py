"""Drawn worlds of the Flow dialect: the reference passes in them, and they decide."""

import logging
from collections import Counter

import pytest

from compat.dialects.flow.profile import FLOW_PROFILES
from compat.engines.flow.reference import FlowDialect
from compat.engines.flow.themes import THEMES
from property_tests.dialects.deciding import WorldDecider
from property_tests.flow.flow_dialect import FLOW

EXAMPLES = 60
"""So many in CI; ``python -m tools.coverage --drawn flow`` plays 400."""


@pytest.fixture(scope="module")
def worlds():
    """Return drawn worlds."""
    return [each.scenario for each in FLOW.drawn(EXAMPLES, 0)]


@pytest.mark.parametrize("profile", FLOW_PROFILES, ids=lambda each: each.name)
def test_the_reference_passes_in_drawn_worlds_under_every_profile(
    worlds, profile, caplog
) -> None:
    caplog.set_level(logging.CRITICAL, logger="refengine.flow")
    decider = WorldDecider(FLOW, FLOW.door(FlowDialect(profile)), FLOW.checks)
    decided: Counter[str] = Counter()
    for each in worlds:
        judged = decider.judge(each)
        assert (judged.failed, judged.refused) == ({}, "")
        decided.update(judged.decided)

    assert len(decided) > 2 * len(decider.applying) / 3


def test_the_same_worlds_are_drawn_each_time(worlds) -> None:
    assert [each.scenario for each in FLOW.drawn(EXAMPLES, 0)] == worlds
    assert [each.scenario for each in FLOW.drawn(EXAMPLES, 1)] != worlds


def test_no_theme_stands_twice() -> None:
    assert len(set(THEMES)) == len(THEMES)
