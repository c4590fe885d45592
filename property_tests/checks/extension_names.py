"""Handlers that stand twice, or under one name (contract §2, "Decided")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from property_tests.check import Decision, PlayedWorld
from property_tests.checks.taking_part import (
    PIPELINES,
    handlers_with,
    passes,
    who,
)
from property_tests.view import HookView, View
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.trace import Observation


def same_object(case: PlayedWorld) -> Iterator[Decision]:
    """One handler object at two positions is refused, or acts at both: a posture."""
    error = case.played.build_error
    if case.profile.same_handler_twice == "refused":
        claim = "refused at build: one handler object at two positions"
        yield Decision(claim, expected=True, got=error is not None, at=error)
        return
    for each in passes(case.played):
        for name in each.hooks:
            expected = Counter(handlers_with(each.agent, name))
            got = Counter(who(hook) for hook in each.entered if hook.name == name)
            for one, often in expected.items():
                if often > 1:
                    claim = "times that an object acts which stands at several places"
                    at = each.entered[0].enter if each.entered else None
                    yield Decision(claim, often, got[one], at)


def equal_names(case: PlayedWorld) -> Iterator[Decision]:
    """Handlers of one name are told apart by a number, where that is the posture."""
    if case.profile.equal_handler_names != "numbered":
        return
    for hook, error, agent in _failed_hooks(case.played):
        names = _shown(agent)
        whose = [at for at in range(len(names)) if _is(agent, at, hook)]
        named = cast("Mapping[str, Any]", error.data["error"]).get("of")
        if len(whose) == 1 and named is not None:
            claim = "the name by which an error tells whose hook failed"
            yield Decision(claim, names[whose[0]], named, error)


def equal_names_refused(case: PlayedWorld) -> Iterator[Decision]:
    """Handlers of one name are refused at build, where that is the posture."""
    often = [
        Counter(_given(agent, at) for at in range(len(agent.handlers)))
        for agent in case.scenario.all_agents
    ]
    equal = any(count > 1 for each in often for count in each.values())
    if not equal or has_twice(case.scenario):
        return
    error = case.played.build_error
    if case.profile.equal_handler_names == "refused":
        claim = "refused at build: two handlers of one name"
        yield Decision(claim, expected=True, got=error is not None, at=error)
    else:
        kind = None if error is None else error.data.get("class")
        claim = "not refused for its names: two handlers of one name"
        yield Decision(claim, "fine", _refused_for_names(kind), error)


def has_twice(scenario: Scenario) -> bool:
    """Tell whether one handler object stands at two positions."""
    return any(
        handler.same_as is not None
        for agent in scenario.all_agents
        for handler in agent.handlers
    )


def _failed_hooks(view: View) -> Iterator[tuple[HookView, Observation, AgentSpec]]:
    """Yield the pipeline hooks in which something was raised, with the error."""
    if view.build_error is not None and view.built:
        built = sum(each.kind == "build" for each in view.build)
        last = view.built[-1]
        if last.exit is None:
            yield last, view.build_error, view.scenario.all_agents[built]
    for run in view.runs:
        entered = [each for each in run.entries if each.kind == "hook_enter"]
        if run.error is None or not entered:
            continue
        hooks = [*run.before_agent, *run.after_agent]
        hooks += [each for now in run.iterations for each in (*now.before, *now.after)]
        for hook in hooks:
            failing = hook.enter is entered[-1] and hook.exit is None
            if failing and hook.name in PIPELINES:
                yield hook, run.error, run.agent


def _is(agent: AgentSpec, at: int, hook: HookView) -> bool:
    return hook.position == at and hook.extension == _given(agent, at)


def _given(agent: AgentSpec, at: int) -> str:
    """Return the name of the handler at a position, as it was given."""
    same = agent.handlers[at].same_as
    if same is not None:
        return _given(agent, same)
    return agent.handlers[at].id or f"handler-{at}"


def _shown(agent: AgentSpec) -> list[str]:
    """Return the names that handlers are shown by: equal ones are numbered."""
    names = [_given(agent, at) for at in range(len(agent.handlers))]
    often, so_far = Counter(names), Counter[str]()
    shown: list[str] = []
    for name in names:
        shown.append(name if often[name] == 1 else f"{name}[{so_far[name]}]")
        so_far[name] += 1
    return shown


def _refused_for_names(kind: object) -> str:
    return str(kind) if kind == "EqualNamesError" else "fine"
