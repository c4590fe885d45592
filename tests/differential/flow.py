"""The reference dialect of Flow, and another engine of that dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hypothesis.strategies import SearchStrategy

from compat.dialects.flow.contents import CONFIRMATION
from compat.engines.capabilities import CapabilityError
from compat.engines.flow.comparing import comparable_flow
from compat.engines.flow.doors import FlowEngine, load_flow_engine, refuse_flow
from compat.engines.flow.generating import flow_worlds
from compat.engines.flow.playing import play_flow
from compat.engines.flow.scenario import FlowScenario
from compat.engines.flow.themes import THEMES
from refengine.testing.trace import Trace
from tests.differential.explaining import Seen, Skipped

_COMPARED: Final = tuple(each for each in THEMES if not each.structured)
"""google-adk takes a schema that is a dict for one argument (FLOW-120): what a model
answers there is another tool's call to each engine."""


@dataclass(frozen=True, slots=True)
class FlowPair:
    """Two Flow engines."""

    ours: FlowEngine
    theirs: FlowEngine

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


OF_MAPS: Final = "adk-go@"
"""What the engines are called whose language has maps without order.

adk-go goes through a map where several calls wait for a confirmation, where a message
answers several, and where several calls of one response are long-running.
"""


def is_luck(trace: Trace) -> bool:
    """Tell whether the order of a map decided anything of what was seen."""
    events: list[Any] = [each.data["event"] for each in trace.of("event")]
    said: list[Any] = [each.data["content"] or {} for each in trace.of("run_start")]
    asked = (_confirmations(each.get("content") or {}, "call") for each in events)
    answered = (_confirmations(each, "response") for each in said)
    late = (len(each.get("long_running_ids", ())) for each in events)
    return any(each > 1 for each in (*asked, *answered, *late))


def _confirmations(content: Mapping[str, Any], kind: str) -> int:
    parts: Iterable[Mapping[str, Any]] = content.get("parts", ())
    return sum(each.get(kind, {}).get("name") == CONFIRMATION for each in parts)


def flow_pair(theirs: str, profile: str | None) -> FlowPair:
    """Return the reference dialect under a profile, or theirs, and another engine.

    Raises LoadError, or UnknownProfileError for a profile that does not exist.
    """
    engine = load_flow_engine(theirs)
    ours = load_flow_engine("flow", profile or engine.profile.name)
    return FlowPair(ours, engine)
