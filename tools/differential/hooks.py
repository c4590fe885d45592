"""The reference engine, and a real one whose agents have hooks.

Worlds are those that the contract is judged in, cut down to what the real engine
declares, and what is compared is what a posture is confirmed by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import groupby
from json import dumps
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from compat.engines.capabilities import OF_HOOKS, refusal_of
from compat.engines.loading import LoadedEngine, load_engine
from compat.engines.needs import hidden_needs
from compat.migration.shrink import shrink
from compat.profiles.confirming import projected
from property_tests.generating import FAMILIES
from property_tests.reducing import reduced
from refengine.messages import Json
from refengine.profile import Profile
from refengine.profile import profile as profile_named
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import parse_scenario, read_scenario
from refengine.testing.session import Session
from refengine.testing.strategies import scenarios
from refengine.testing.strategies.worlds import calls_of
from tools.differential.searching import TRIES, Seen, Skipped

Entries: TypeAlias = "Sequence[Mapping[str, Json]]"
"""What is compared of a trace, observation by observation."""


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
        return parse_scenario(text, "the world of an explained difference")

    def seen(self, scenario: Scenario) -> Seen | Skipped:
        """Play a world on both, if that says anything."""
        if _shares_ids(scenario):
            return Skipped.LUCK
        needs = {capability for capability, _ in hidden_needs(scenario)}
        if needs - self.theirs.capabilities:
            return Skipped.REFUSED
        theirs = Session(scenario, self.theirs.engine)
        trace = run(theirs.play())
        if refusal_of(trace) is not None:
            return Skipped.REFUSED
        ours = Session(scenario, ReferenceEngine(self.profile))
        pair = ((ours, run(ours.play())), (theirs, trace))
        if any(each.sequential for each in scenario.all_agents):
            ordered: Any = [projected(seen) for _, seen in pair]
        else:
            ordered = [_ordered(projected(seen), by.moments) for by, seen in pair]
        return ordered[0], ordered[1]

    def smallest(
        self, scenario: Scenario, still: Callable[[Scenario], bool]
    ) -> Scenario:
        """Return the smallest world found for which that holds, as it does for this."""
        return shrink(scenario, still, TRIES)


def _played_by(world: Scenario, declared: AbstractSet[str]) -> Scenario:
    """Return a world cut down to what an engine in Go has a place for.

    Beside what it declares these are: a factory that fails, which has no error to
    return, so that a driver raises it where the wrapper is called first; a handler that
    changes name or id of a call, which its endpoint is not given; and a call without an
    id, which is none to it. A known difference shows the last two.
    """
    doc: Any = reduced(world, declared).model_dump(mode="json", exclude_defaults=True)
    doc = _without(doc, frozenset(("factory_error",)))
    for agent in [doc["agent"]] if "agent" in doc else doc["agents"]:
        if "handlers" in agent:
            agent["handlers"] = _without(agent["handlers"], _OF_INPUT)
    script = _with_ids(doc.get("model_script", []))
    return read_scenario({**doc, "model_script": script}, "a drawn world")


_OF_INPUT: Final = frozenset(("set_input_name", "set_input_call_id"))


def _without(value: Any, keys: AbstractSet[str]) -> Any:  # noqa: ANN401  # any JSON value
    if is_list(value):
        return [_without(each, keys) for each in value]
    if not is_mapping(value):
        return value
    return {k: _without(each, keys) for k, each in value.items() if k not in keys}


def _with_ids(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a script whose calls all have an id; other texts may change, for both."""
    if isinstance(value, str):
        return value.replace("[:", "[e0:")
    if is_list(value):
        return [_with_ids(each) for each in value]
    if not is_mapping(value):
        return value
    return {key: _with_ids(each) for key, each in value.items()}


def _ordered(seen: Entries, moments: Sequence[float]) -> Entries:
    """Return it with results that were told at one moment in an order of their own.

    They are told as they finish, and of two that take no time, or the same, the one
    is told first that goes through fewer goroutines: nothing that eino promises. The
    result that ends a run stays the last one.
    """
    came = iter(moments)
    keys = [
        (each["run"], next(came, None), each["call_id"] is not None)
        if each["kind"] == "event"
        else None
        for each in seen
    ]
    ordered = list(seen)
    at = 0
    for key, group in groupby(keys):
        behind = at + len(list(group))
        end = behind - _ends_run(seen[behind : behind + 1])
        told = seen[at:end]
        if key is not None and key[-1] and len(told) > 1:
            ordered[at:end] = sorted(map(_without_asking, told), key=dumps)
        at = behind
    return ordered


def _ends_run(after: Entries) -> bool:
    data: Any = after[0]["data"] if after else {}
    return bool(data.get("status") == "returned_directly")


def _without_asking(told: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a result without when it was asked for: that depends on others."""
    data: Any = told["data"]
    times = data.get("times")
    return told if times is None else {**told, "data": {**data, "times": times[1:]}}


def _shares_ids(scenario: Scenario) -> bool:
    """Tell whether calls that run at once may get one id, and be told apart no more."""
    several = any(calls_of(each) > 1 for each in scenario.model_script)
    at_once = any(not each.sequential for each in scenario.all_agents)
    written = scenario.model_dump_json(exclude_defaults=True)
    return several and at_once and "set_input_call_id" in written


def _choices(declared: AbstractSet[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the choices of each family that leaves an engine extensions to run."""
    for each in FAMILIES.values():
        if not OF_HOOKS.isdisjoint(declared):
            yield each
        elif each.get("middlewares", True):
            yield {**each, "handlers": False}


def hooks_pair(theirs: str, profile: str | None) -> HooksPair:
    """Return the reference engine under a profile, or theirs, and a real engine.

    Raises LoadError, or UnknownProfileError for a profile that does not exist.
    """
    engine = load_engine(theirs)
    ours = engine.profile if profile is None else profile_named(profile)
    return HooksPair(ours, engine)
