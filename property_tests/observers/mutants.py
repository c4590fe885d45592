"""Mutants of observers: our small one, edited."""

from __future__ import annotations

from typing import Final

from compat.engines.observers.reference import ObservedReference
from property_tests.dialects.broken import BrokenReferences
from property_tests.dialects.dialect import DialectMutant
from refengine.profile import SEED_001
from refengine.profile import profile as profile_named
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Trace


def _play(scenario: Scenario, engine: ObservedReference) -> Trace:
    return engine.play(scenario)


BROKEN: Final = BrokenReferences(
    package="compat.engines.observers",
    prefix="observer",
    under=SEED_001.name,
    profile_named=profile_named,
    reference=ObservedReference,
    play_on=_play,
)

OBSERVER_MUTANTS: Final[tuple[DialectMutant, ...]] = tuple(BROKEN.edited("observers"))
"""All of them."""
