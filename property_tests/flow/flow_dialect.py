"""The Flow dialect, with all that a judgement asks of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, JsonValue

from compat.engines.flow.comparing import flow_entries
from compat.engines.flow.doors import load_flow_engine, refuse_flow
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from compat.engines.flow.scenario import FlowScenario
from property_tests.dialects.dialect import Dialect, DialectMutant, worlds_in
from property_tests.dialects.smaller import smaller_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _broken() -> Sequence[DialectMutant]:
    from property_tests.flow.mutants import FLOW_MUTANTS  # noqa: PLC0415  # they are played by the matrix alone

    return FLOW_MUTANTS


def _strategy() -> SearchStrategy[FlowScenario]:
    from compat.engines.flow.generating import flow_worlds  # noqa: PLC0415  # an extra

    return flow_worlds()


def _smaller(scenario: BaseModel) -> Iterator[BaseModel]:
    """Yield scenarios that are less than this one, and end whatever is said."""
    for smaller in smaller_of(scenario):
        if not _endless(smaller.model_dump(mode="json", exclude_defaults=True)):
            yield smaller


def _endless(data: JsonValue) -> bool:
    """Tell whether a loop is there that nothing ends but what its agents say."""
    if isinstance(data, list):
        return any(map(_endless, data))
    if not isinstance(data, dict):
        return False
    unbounded = data.get("kind") == "loop" and not data.get("max_iterations")
    return unbounded or any(map(_endless, data.values()))


FLOW: Final = Dialect(
    name="flow",
    family="FLOW",
    title="the Flow dialect",
    folder="flow",
    scenario=FlowScenario,
    fixed=cache(partial(worlds_in, "flow", FlowScenario)),
    engine=load_flow_engine,
    refuse=refuse_flow,
    play=play_flow,
    reference=lambda profile, _: FlowDialect(profile),
    entries=flow_entries,
    broken=_broken,
    strategy=_strategy,
    smaller=_smaller,
)
"""What ``dialects.py`` names."""
