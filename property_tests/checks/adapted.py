"""COMPAT: structs run natively everywhere, and adapted ones do the same (§1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.comparing import alike
from property_tests.checks.routes import has_tools
from property_tests.checks.specs import tool_wraps, tools_of
from property_tests.checks.taking_part import (
    STRUCT_FIELDS,
    calls_reached,
    passes,
    structs_with,
    who,
)
from property_tests.variants import ADAPTED
from property_tests.view import RunView, View
from refengine.profile import Profile
from refengine.testing.ops import AppendInstruction
from refengine.testing.recorder import RECORDED
from refengine.testing.scenario import AgentSpec, HandlerSpec, Scenario
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
HARMLESS: Final = frozenset(
    ("record", "record_counts", "ctx_set", "ctx_append", "ctx_get")
)
"""What a handler may do before the agent without changing which tools there are."""


def adapted_alone(case: PlayedWorld) -> Iterator[Decision]:
    """Without handlers, adapted structs have the trace that native ones have."""
    if not _has_handlers(case.scenario):
        yield _same(case, "the run with adapted structs, without handlers")


def adapted_with_handlers(case: PlayedWorld) -> Iterator[Decision]:
    """Beside handlers too, where after-hooks go through both lists in their order."""
    in_order = case.profile.after_hooks == "in_order"
    if _has_handlers(case.scenario) and in_order:
        yield _same(case, "the run with adapted structs, beside handlers")


def native_everywhere(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that what a struct has is called, whatever the profile."""
    claim = "struct middlewares entered, where their callback has its turn"
    for each in passes(case.played):
        for name in (hook for hook in each.hooks if hook in STRUCT_FIELDS):
            expected = structs_with(each.agent, name)
            got = sorted(who(hook) for hook in each.entered if hook.name == name)
            if expected:
                at = each.entered[0].enter if each.entered else None
                yield Decision(claim, sorted(expected), got, at)
    for run in case.played.runs:
        for call, kind in calls_reached(run):
            name = f"wrap_tool_call.{kind}"
            expected = structs_with(run.agent, name)
            got = sorted({who(hook) for hook in call.hooks if hook.name == name})
            if expected:
                yield Decision(claim, sorted(expected), got, call.starts[0])


def state_objects(case: PlayedWorld) -> Iterator[Decision]:
    """Callbacks of one pass are given one state object, and it is of that pass."""
    for view in _native_and_adapted(case):
        for at, expected in _states(view):
            claim = "which state object a callback of a struct is given, from 1"
            yield Decision(claim, expected, at.data.get("state"), at, view.variant)


def factory_calls(case: PlayedWorld) -> Iterator[Decision]:
    """Factories of tool wrappers are called as often as the profile says."""
    if not _countable(case.scenario):
        return
    for view in _native_and_adapted(case):
        expected = dict.fromkeys(range(len(case.scenario.all_agents)), 0)
        for run in view.runs:
            often = _often(run, case.profile, expected[run.spec.agent])
            if often is None:
                break
            expected[run.spec.agent] = often
            for at, count in _counts(run):
                claim = "calls of tool-wrapper factories until now"
                yield Decision(claim, often, count, at, view.variant)


def _same(case: PlayedWorld, claim: str) -> Decision:
    found = case.played.trace, case[ADAPTED].trace
    states = not loses_state(case.scenario, case.profile)
    native, adapted = (about_runs(each, states=states) for each in found)
    return alike(claim, native, adapted, variant=ADAPTED)


def _native_and_adapted(case: PlayedWorld) -> Iterator[View]:
    """Yield the run as it is, and the adapted one where it must not differ."""
    yield case.played
    in_order = case.profile.after_hooks == "in_order"
    alone = not _has_handlers(case.scenario)
    same = (alone or in_order) and not loses_state(case.scenario, case.profile)
    if case.has(ADAPTED) and same:
        yield case[ADAPTED]


def loses_state(scenario: Scenario, profile: Profile) -> bool:
    """Tell whether an iteration's state is lost on the way, as adapters carry it.

    It is found in the context that the before-hooks left; and no adapted hook is told
    whether its agent has tools.
    """
    sharing = profile.state_object
    if sharing == "per_pass_with_tools":
        return not all(agent.tools for agent in scenario.all_agents)
    return sharing == "per_iteration" and profile.model_context == "before_hooks"


def _is_shared(view: View, run: RunView) -> bool:
    """Tell whether both passes of an iteration have one state."""
    sharing = view.profile.state_object
    alone = sharing == "per_pass_with_tools" and not has_tools(view, run)
    return sharing == "per_iteration" or alone


def _states(view: View) -> Iterator[tuple[Observation, int]]:
    """Yield each entry into a struct's callback, and the number of its state object.

    A world numbers the objects as it meets them; each agent is a world of its own.
    """
    if view.resumed:
        return  # what is kept of a state is another object when a run goes on
    sharing = view.profile.state_object
    numbers = dict.fromkeys(range(len(view.scenario.all_agents)), 0)
    for run in view.runs:
        for now in run.iterations:
            begun: set[str] = set()
            for hook in (*now.before, *now.after):
                if hook.name not in STRUCT_FIELDS:
                    continue
                part = "" if _is_shared(view, run) else hook.name
                if part not in begun or sharing == "per_middleware":
                    numbers[run.spec.agent] += 1
                begun.add(part)
                yield hook.enter, numbers[run.spec.agent]


def _often(run: RunView, profile: Profile, before: int) -> int | None:
    """Return how often factories were called when a run is over; None if unknown."""
    if profile.wrapper_factory == "per_call" or not run.iterations:
        return None
    once = _calls_a_binding(run.agent)
    if profile.wrapper_factory == "once_a_tool":
        return once
    turns = sum(_binds_anew(run.agent, each.calls) for each in run.iterations)
    return before + once * (1 + turns)


def _binds_anew(agent: AgentSpec, calls: Mapping[str, object]) -> bool:
    """Tell whether an iteration with calls binds all tools again: beside handlers."""
    return bool(agent.handlers) and bool(calls)


def _calls_a_binding(agent: AgentSpec) -> int:
    """Return how many factories that count are called when all tools are bound."""
    often = dict.fromkeys(("invokable", "streamable"), 0)
    for kind in often:
        wraps = (getattr(each.wrap_tool_call, kind) for each in agent.middlewares)
        found = [each for each in wraps if each is not None]
        found += agent.tool_call_middlewares
        often[kind] = sum(each.count_factory for each in found)
    tools = [*agent.tools, *(t for m in agent.middlewares for t in m.additional_tools)]
    return sum(
        often[kind] for tool in tools for kind in often if tool.kind in (kind, "both")
    )


def _counts(run: RunView) -> Iterator[tuple[Observation, int]]:
    """Yield what the caller recorded about factories after a run."""
    for each in run.entries:
        if each.kind == "effect" and each.data.get("name") == RECORDED:
            noted = cast("Mapping[str, Any]", each.data["data"])
            if "factory_calls" in noted:
                yield each, noted["factory_calls"]


def _countable(scenario: Scenario) -> bool:
    """Tell whether it can be said which tools are bound, and that no factory fails."""
    names = [tool.name for tool in tools_of(scenario)]
    counts = any(
        op.op == "record_factory_calls" for r in scenario.runs for op in r.after
    )
    return (
        counts
        and len(scenario.all_agents) == 1
        and len(set(names)) == len(names)
        and all(map(_leaves_tools, scenario.all_agents[0].handlers))
        and not _factories_fail(scenario.all_agents[0])
        and scenario.all_agents[0].unknown_tools_handler is None
    )


def _factories_fail(agent: AgentSpec) -> bool:
    """Tell whether a wrapper cannot be made, so that a call leaves no sign of it."""
    return any(each.factory_error is not None for each in tool_wraps(agent))


def _leaves_tools(handler: HandlerSpec) -> bool:
    """Tell whether a handler leaves the tools as they are, and counts no factory."""
    todo = handler.before_agent or ()
    own = AgentSpec(handlers=(handler,))
    return not any(each.count_factory for each in tool_wraps(own)) and all(
        isinstance(op, AppendInstruction) or op.op in HARMLESS for op in todo
    )


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
    Check(
        clause="COMPAT-003",
        decide=native_everywhere,
        any_of=frozenset(("struct_model_hooks", "struct_tool_wrappers")),
        meant=_has_structs,
    ),
    Check(
        clause="COMPAT-004",
        decide=state_objects,
        needs=frozenset(("struct_model_hooks",)),
        meant=_has_structs,
    ),
    Check(
        clause="COMPAT-005",
        decide=factory_calls,
        any_of=frozenset(("struct_tool_wrappers", "tool_call_middlewares")),
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
