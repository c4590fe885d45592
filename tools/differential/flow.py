"""Generated Flow worlds on the reference dialect and on another engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from hypothesis import HealthCheck, given, seed, settings

from compat.engines.capabilities import CapabilityError
from compat.engines.flow.capabilities import refuse_flow
from compat.engines.flow.comparing import comparable_flow
from compat.engines.flow.doors import FlowEngine
from compat.engines.flow.generating import flow_worlds
from compat.engines.flow.playing import play_flow
from compat.engines.flow.scenario import FlowScenario
from compat.engines.flow.themes import THEMES
from refengine.testing.trace import Divergence
from tools.differential.explaining import Explained, differences, first_unexplained
from tools.differential.luck import OF_MAPS, is_luck


@dataclass(frozen=True, slots=True)
class Unexplained:
    """The smallest world found in which two engines differ, and where."""

    scenario: FlowScenario
    difference: Divergence


_COMPARED: Final = tuple(each for each in THEMES if not each.structured)
"""google-adk takes a schema that is a dict for one argument (FLOW-120): what a model
answers there is another tool's call to each engine."""
_ALL_CHECKS: Final[Sequence[HealthCheck]] = tuple(cast("Any", HealthCheck))
"""What Hypothesis minds about worlds that are large or slow is no fault here."""


class _DifferError(AssertionError):
    """A world in which something differs that nothing explains."""

    def __init__(self, found: Unexplained) -> None:
        self.found = found
        super().__init__(str(found.difference))


@dataclass(slots=True)
class Differential:
    """What worlds on two engines showed; ``used`` counts worlds by what explains.

    ``lucky`` are those that are not compared, since luck decides what happens.
    """

    ours: FlowEngine
    theirs: FlowEngine
    explained: Sequence[Explained]
    worlds: int = 0
    lucky: int = 0
    used: dict[str, int] = field(default_factory=dict[str, int])
    unexplained: Unexplained | None = None

    def run(self, worlds: int, number: int) -> Mapping[str, int]:
        """Play the worlds of known differences, and so many that are drawn.

        A first unexplained difference in one of these is shrunk, and kept.
        """

        @seed(number)
        @settings(
            max_examples=worlds,
            database=None,
            deadline=None,
            suppress_health_check=_ALL_CHECKS,
            report_multiple_bugs=False,
        )
        @given(flow_worlds(_COMPARED))
        def plays_alike(scenario: FlowScenario) -> None:
            self.look(scenario)

        try:
            for each in filter(None, (known.world for known in self.explained)):
                self.look(FlowScenario.model_validate_json(each))
            plays_alike()
        except _DifferError as error:
            self.unexplained = error.found
        return self.used

    def look(self, scenario: FlowScenario) -> None:
        """Play a world on both; raises where something differs that is not known."""
        try:
            for each in (self.ours, self.theirs):
                refuse_flow(each, scenario)
        except CapabilityError:
            return  # one of them has no place for it
        traces = [play_flow(scenario, each) for each in (self.ours, self.theirs)]
        if self.theirs.name.startswith(OF_MAPS) and any(map(is_luck, traces)):
            self.lucky += 1
            return
        self.worlds += 1
        ours, theirs = (comparable_flow(each, scenario) for each in traces)
        found = first_unexplained(differences(ours, theirs), self.explained, self.used)
        if found is not None:
            raise _DifferError(Unexplained(scenario, found))
