"""The reference dialect of Flow, and another engine of that dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from hypothesis.strategies import SearchStrategy

from compat.engines.capabilities import CapabilityError
from compat.engines.flow.comparing import comparable_flow
from compat.engines.flow.doors import FlowEngine, load_flow_engine, refuse_flow
from compat.engines.flow.generating import flow_worlds
from compat.engines.flow.playing import play_flow
from compat.engines.flow.scenario import FlowScenario
from compat.engines.flow.themes import THEMES
from property_tests.dialects.smaller import smaller_of
from tools.differential.luck import OF_MAPS, is_luck
from tools.differential.searching import TRIES, Seen, Skipped

_COMPARED: Final = tuple(each for each in THEMES if not each.structured)
"""google-adk takes a schema that is a dict for one argument (FLOW-120): what a model
answers there is another tool's call to each engine."""


@dataclass(frozen=True, slots=True)
class FlowPair:
    """Two Flow engines."""

    ours: FlowEngine
    theirs: FlowEngine

    @property
    def under(self) -> str:
        """The name of the profile of ours."""
        return self.ours.profile.name

    @property
    def version(self) -> str:
        """The version of theirs."""
        return self.theirs.version

    def worlds(self) -> SearchStrategy[FlowScenario]:
        """Return what worlds are drawn from."""
        return flow_worlds(_COMPARED)

    def read(self, text: str) -> FlowScenario:
        """Read a world; raises ValueError."""
        return FlowScenario.model_validate_json(text)

    def seen(self, scenario: FlowScenario) -> Seen | Skipped:
        """Play a world on both, if that says anything."""
        both = (self.ours, self.theirs)
        try:
            for each in both:
                refuse_flow(each, scenario)
        except CapabilityError:
            return Skipped.REFUSED
        traces = [play_flow(scenario, each) for each in both]
        if self.theirs.name.startswith(OF_MAPS) and any(map(is_luck, traces)):
            return Skipped.LUCK
        ours, theirs = (comparable_flow(each, scenario) for each in traces)
        return ours, theirs

    def smallest(
        self, scenario: FlowScenario, still: Callable[[FlowScenario], bool]
    ) -> FlowScenario:
        """Return the smallest world found for which that holds, as it does for this."""
        left, found = TRIES, True
        while found:
            found = False
            for each in islice(smaller_of(scenario), left):
                left -= 1
                if still(each):
                    scenario, found = each, True
                    break
        return scenario


def flow_pair(theirs: str, profile: str | None) -> FlowPair:
    """Return the reference dialect under a profile, or theirs, and another engine.

    Raises LoadError, or UnknownProfileError for a profile that does not exist.
    """
    engine = load_flow_engine(theirs)
    ours = load_flow_engine("flow", profile or engine.profile.name)
    return FlowPair(ours, engine)
