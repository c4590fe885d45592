"""Observed agents as a dialect, with all that a judgement asks of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel

from compat.engines.capabilities import refusal_of
from compat.engines.loading import load_engine
from compat.engines.observers.playing import (
    SpansPlayer,
    observed_entries,
    plainly,
)
from compat.engines.observers.reference import (
    NAME,
    ObservedReference,
    reference_engine,
)
from compat.engines.observers.scenario import ObservedScenario
from property_tests.dialects.dialect import (
    Dialect,
    DialectMutant,
    RefusedWorldError,
    worlds_in,
)
from property_tests.dialects.smaller import smaller_of
from refengine.profile import SEED_001
from refengine.profile import profile as profile_named
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Trace

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _engine(text: str, profile: str | None) -> SpansPlayer | ObservedReference:
    """Return what a text names: our own observer, or an engine that nobody observes."""
    if text == NAME:
        return ObservedReference(profile_named(profile) if profile else SEED_001)
    return plainly(load_engine(text, profile))


def _play(scenario: Scenario, engine: SpansPlayer | ObservedReference) -> Trace:
    """Play a scenario; raises RefusedWorldError where the engine refused it."""
    trace = engine.play(scenario)
    if why := refusal_of(trace):
        raise RefusedWorldError(why)
    return trace


def _broken() -> Sequence[DialectMutant]:
    from property_tests.observers.mutants import OBSERVER_MUTANTS  # noqa: PLC0415  # they are played by the matrix alone

    return OBSERVER_MUTANTS


def _strategy() -> SearchStrategy[Any]:
    from compat.engines.observers.generating import observed_worlds  # noqa: PLC0415  # an extra

    return observed_worlds()


def _smaller(scenario: BaseModel) -> Iterator[BaseModel]:
    """Yield scenarios that are less than this one, each a session as people have it."""
    for smaller in smaller_of(cast("Scenario", scenario)):
        if smaller.model_script and all(x.input for x in smaller.runs):
            yield smaller


OBSERVERS: Final = Dialect(
    name=NAME,
    family="OBS",
    title="observers",
    folder="observers",
    scenario=ObservedScenario,
    fixed=cache(partial(worlds_in, "observers", ObservedScenario)),
    engine=_engine,
    refuse=lambda engine, scenario: engine.refuse(scenario),
    play=_play,
    reference=lambda profile, _: plainly(reference_engine(profile)),
    entries=observed_entries,
    broken=_broken,
    strategy=_strategy,
    smaller=_smaller,
    worker="property_tests.observers.worker",
    claim="what happened",
)
"""What ``dialects.py`` names."""
