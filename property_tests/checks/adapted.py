"""COMPAT: adapted structs do what native ones do, in two plays of one engine (§1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.comparing import alike
from property_tests.variants import ADAPTED
from refengine.profile import Profile
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Observation, Trace

ABOUT_THE_LISTS: Final = frozenset(("MixedExtensionsWarning", "DeprecationWarning"))
"""What an engine says about which of the two lists is used."""

ADAPTED_STRUCTS: Final = frozenset(("adapted_structs", "context"))
"""Adapted structs hand on by the context what they share in a pass."""
STRUCTS: Final = frozenset(
    (
        *("struct_tools", "struct_instruction"),
        *("struct_model_hooks", "struct_tool_wrappers"),
    )
)


def adapted_alone(case: PlayedWorld) -> Iterator[Decision]:
    """Without handlers, adapted structs have the trace that native ones have."""
    if not _has_handlers(case.scenario):
        yield _same(case, "the run with adapted structs, without handlers")


def adapted_with_handlers(case: PlayedWorld) -> Iterator[Decision]:
    """Beside handlers too, where after-hooks go through both lists in their order."""
    in_order = case.profile.after_hooks == "in_order"
    if _has_handlers(case.scenario) and in_order:
        yield _same(case, "the run with adapted structs, beside handlers")


def _same(case: PlayedWorld, claim: str) -> Decision:
    found = case.played.trace, case[ADAPTED].trace
    states = not loses_state(case.scenario, case.profile)
    native, adapted = (about_runs(each, states=states) for each in found)
    return alike(claim, native, adapted, variant=ADAPTED)


def loses_state(scenario: Scenario, profile: Profile) -> bool:
    """Tell whether an iteration's state is lost on the way, as adapters carry it.

    It is found in the context that the before-hooks left; and no adapted hook is told
    whether its agent has tools.
    """
    sharing = profile.state_object
    if sharing == "per_pass_with_tools":
        return not all(agent.tools for agent in scenario.all_agents)
    return sharing == "per_iteration" and profile.model_context == "before_hooks"


def _has_handlers(scenario: Scenario) -> bool:
    return any(agent.handlers for agent in scenario.all_agents)


def _has_structs(scenario: Scenario) -> bool:
    return any(agent.middlewares for agent in scenario.all_agents)


CHECKS: Final = (
    Check(
        clause="COMPAT-001",
        decide=adapted_alone,
        needs=ADAPTED_STRUCTS,
        any_of=STRUCTS,
        variants=(ADAPTED,),
        meant=_has_structs,
    ),
    Check(
        clause="COMPAT-002",
        decide=adapted_with_handlers,
        needs=ADAPTED_STRUCTS | {"several_handlers"},
        any_of=STRUCTS,
        variants=(ADAPTED,),
        meant=_has_structs,
    ),
)


def about_runs(trace: Trace, *, states: bool = True) -> Trace:
    """Return the trace without warnings about the list that structs stand in.

    It is the one thing that COMPAT leaves out: to adapt is to move from one list to the
    other, which is what those warnings ask for. Without ``states`` it is not said which
    callbacks were given one state object.
    """
    found = _without_the_lists(trace)
    return Trace(found if states else map(_without_state, found))


def _without_state(entry: Observation) -> Observation:
    data = {key: each for key, each in entry.data.items() if key != "state"}
    return replace(entry, data=data)


def _without_the_lists(trace: Trace) -> Iterator[Observation]:
    for each in trace:
        category = cast("str | None", each.data.get("category"))
        if each.kind != "warning" or category not in ABOUT_THE_LISTS:
            yield each
