"""The reference engine, and a real one whose agents have hooks.

Worlds are those that the contract is judged in, cut down to what the real engine
declares, and what is compared is what a posture is confirmed by. That events come as
calls finish is for scenarios with delays to show (``compat.profiles``): in drawn worlds
calls end at the same moment, and whose event comes first is luck.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from compat.engines.capabilities import OF_HOOKS, refusal_of
from compat.engines.loading import LoadedEngine, load_engine
from compat.engines.needs import hidden_needs
from compat.profiles.comparing import played
from compat.profiles.confirming import projected
from property_tests.generating import FAMILIES
from property_tests.reducing import reduced
from refengine.messages import Json
from refengine.profile import Profile
from refengine.profile import profile as profile_named
from refengine.testing.clock import run
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.strategies import scenarios
from refengine.testing.strategies.worlds import calls_of
from refengine.testing.trace import Trace
from tools.differential.searching import Seen, Skipped


@dataclass(frozen=True, slots=True)
class HooksPair:
    """The reference engine under a profile, and a real engine."""

    profile: Profile
    theirs: LoadedEngine

    @property
    def under(self) -> str:
        """The name of the profile of ours."""
        return self.profile.name

    @property
    def version(self) -> str:
        """The version of theirs."""
        return self.theirs.version

    def worlds(self) -> SearchStrategy[Scenario]:
        """Return what worlds are drawn from: all families of the contract's corpus."""
        declared = self.theirs.capabilities
        families = [scenarios(**each) for each in _choices(declared)]
        return st.one_of(families).map(lambda world: _played_by(world, declared))

    def read(self, text: str) -> Scenario:
        """Read a world; raises ScenarioError."""
        return read_scenario(text, "the world of an explained difference")

    def seen(self, scenario: Scenario) -> Seen | Skipped:
        """Play a world on both, if that says anything."""
        if _shares_ids(scenario):
            return Skipped.LUCK
        needs = {capability for capability, _ in hidden_needs(scenario)}
        if needs - self.theirs.capabilities:
            return Skipped.REFUSED
        theirs = run(play(scenario, self.theirs.engine))
        if refusal_of(theirs) is not None:
            return Skipped.REFUSED
        ours = played(scenario, self.profile)
        return _compared(ours, scenario), _compared(theirs, scenario)


def _played_by(world: Scenario, declared: AbstractSet[str]) -> Scenario:
    """Return a world cut down to what an engine declares, whose factories never fail.

    A factory in Go has no error to return, so a driver raises it where the wrapper is
    called first, and what is seen of that is no choice of the engine.
    """
    doc = reduced(world, declared).model_dump(mode="json", exclude_defaults=True)
    return read_scenario(_without(doc, "factory_error"), "a drawn world")


def _without(value: Any, key: str) -> Any:  # noqa: ANN401  # any JSON value
    if is_list(value):
        return [_without(each, key) for each in value]
    if not is_mapping(value):
        return value
    return {name: _without(each, key) for name, each in value.items() if name != key}


def _shares_ids(scenario: Scenario) -> bool:
    """Tell whether calls that run at once may get one id, and so cannot be told apart."""
    several = any(calls_of(each) > 1 for each in scenario.model_script)
    at_once = any(not each.sequential for each in scenario.all_agents)
    written = scenario.model_dump_json(exclude_defaults=True)
    return several and at_once and "set_input_call_id" in written


def _compared(trace: Trace, scenario: Scenario) -> list[Json]:
    """Return what is compared, with events of calls that ran at once in call order.

    The event of a call that ended the run stays the last one.
    """
    entries: list[Any] = list(projected(trace))
    if all(each.sequential for each in scenario.all_agents):
        return entries
    return [each for block in _blocks(entries) for each in block]


def _blocks(entries: Sequence[Any]) -> Iterator[Sequence[Any]]:
    start = 0
    while start < len(entries):
        end = start
        while end < len(entries) and _is_result(entries[end]):
            end += 1
        following = entries[end]["data"] if end < len(entries) else {}
        is_direct = following.get("status") == "returned_directly"
        last = max(start, end - is_direct)
        yield sorted(entries[start:last], key=lambda each: str(each["call_id"]))
        yield entries[last : max(end, start + 1)]
        start = max(end, start + 1)


def _is_result(entry: Mapping[str, Any]) -> bool:
    return entry["kind"] == "event" and entry["data"]["kind"] == "tool"


def _choices(declared: AbstractSet[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the choices of each family that leaves an engine extensions to run."""
    for each in FAMILIES.values():
        if not OF_HOOKS.isdisjoint(declared):
            yield each
        elif each.get("middlewares", True):
            yield {**each, "handlers": False}


def hooks_pair(theirs: str, profile: str | None) -> HooksPair:
    """Return the reference engine under a profile, or theirs, and a real engine.

    Raises LoadError, or UnknownProfileError for a profile that there is not.
    """
    engine = load_engine(theirs)
    ours = engine.profile if profile is None else profile_named(profile)
    return HooksPair(ours, engine)
