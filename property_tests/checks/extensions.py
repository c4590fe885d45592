"""EXT: what an extension is, and which are refused (contract §2, "Decided")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from property_tests.check import Case, Check, Decision
from property_tests.checks.comparing import Change, Entry, alike, without
from property_tests.checks.equal_runs import wraps_count
from property_tests.checks.surface import CHECKS as SURFACE
from property_tests.checks.taking_part import (
    HANDLER_HOOKS,
    PIPELINES,
    Who,
    all_hooks,
    calls_reached,
    handlers_with,
    passes,
    who,
)
from property_tests.variants import IDENTITY_FIRST, IDENTITY_LAST
from property_tests.view import Hook, View
from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.strategies_variants import IDENTITY

EVERY_HOOK: Final = frozenset(
    (
        *("before_agent", "before_model", "after_model", "after_agent"),
        *("wrap_model", "wrap_tool", "wrap_streamable"),
    )
)
"""The capabilities that a handler with every hook needs."""
ANY_HOOK: Final = EVERY_HOOK | {"struct_model_hooks", "struct_tool_wrappers"}


def identity(case: Case) -> Iterator[Decision]:
    """Ask that a handler that passes everything through changes nothing."""
    if not _free(case) or _refused(case.played):
        return  # who is refused is called by the place
    for variant in (IDENTITY_FIRST, IDENTITY_LAST):
        agent = case.scenario.all_agents[0]
        change = _others(warned=bool(agent.middlewares) and not agent.handlers)
        asked = "everything but what an identity handler itself observes"
        ours, theirs = case.played.trace, case[variant].trace
        yield alike(asked, ours, theirs, change=change, variant=variant)


def present_hooks(case: Case) -> Iterator[Decision]:
    """Every handler that has a hook is entered there, none is skipped."""
    asked = "handlers entered, where their hook has its turn"
    for each in passes(case.played):
        wanted = [name for name in each.hooks if name in HANDLER_HOOKS]
        expected = Counter(
            one for name in wanted for one in handlers_with(each.agent, name)
        )
        got = Counter(who(hook) for hook in each.entered if hook.name in wanted)
        if expected:
            at = each.entered[0].enter if each.entered else None
            yield Decision(asked, _listed(expected), _listed(got), at)
    for run in case.played.runs:
        for call, kind in calls_reached(run):
            wrap = f"wrap_{kind}"
            every = set(handlers_with(run.agent, wrap))
            seen = {who(hook) for hook in call.hooks if hook.name == wrap}
            if every:
                yield Decision(asked, sorted(every), sorted(seen), call.starts[0])


def absent_hooks(case: Case) -> Iterator[Decision]:
    """No hook is entered that its extension does not have."""
    view = case.played
    known = {hook for agent in view.scenario.all_agents for hook in all_hooks(agent)}
    hooks = list(_all_entered(view))
    if not hooks:
        return
    strange = [each for each in hooks if (each.name, who(each)) not in known]
    at = strange[0].enter if strange else hooks[0].enter
    asked = "hooks entered that their extension does not have"
    yield Decision(asked, [], [(each.name, *who(each)) for each in strange], at)


def same_object(case: Case) -> Iterator[Decision]:
    """One handler object at two positions is refused, or acts at both: a posture."""
    error = case.played.build_error
    if case.profile.same_handler_twice == "refused":
        asked = "refused at build: one handler object at two positions"
        yield Decision(asked, expected=True, got=error is not None, at=error)
        return
    for each in passes(case.played):
        for name in each.hooks:
            wanted = Counter(handlers_with(each.agent, name))
            got = Counter(who(hook) for hook in each.entered if hook.name == name)
            for one, often in wanted.items():
                if often > 1:
                    asked = "times that an object acts which stands at several places"
                    at = each.entered[0].enter if each.entered else None
                    yield Decision(asked, often, got[one], at)


def equal_names(case: Case) -> Iterator[Decision]:
    """Handlers of one name are told apart by a number, where that is the posture."""
    if case.profile.equal_handler_names != "numbered":
        return
    for hook, error, agent in _failed_hooks(case.played):
        names = _shown(agent)
        whose = [at for at in range(len(names)) if _is(agent, at, hook)]
        told = cast("Mapping[str, Any]", error.data["error"]).get("of")
        if len(whose) == 1 and told is not None:
            asked = "the name by which an error tells whose hook failed"
            yield Decision(asked, names[whose[0]], told, error)


def equal_names_refused(case: Case) -> Iterator[Decision]:
    """Handlers of one name are refused at build, where that is the posture."""
    often = [
        Counter(_given(agent, at) for at in range(len(agent.handlers)))
        for agent in case.scenario.all_agents
    ]
    equal = any(count > 1 for each in often for count in each.values())
    if not equal or _has_twice(case.scenario):
        return
    error = case.played.build_error
    if case.profile.equal_handler_names == "refused":
        asked = "refused at build: two handlers of one name"
        yield Decision(asked, expected=True, got=error is not None, at=error)
    else:
        kind = None if error is None else error.data.get("class")
        asked = "not refused for its names: two handlers of one name"
        yield Decision(asked, "fine", _refused_for_names(kind), error)


def deprecation(case: Case) -> Iterator[Decision]:
    """Struct middlewares are warned about under profiles that deprecate them."""
    view = case.played
    deprecated = case.profile.struct_middleware == "deprecated"
    built = [each for each in view.build if each.kind == "build"]
    agents = case.scenario.all_agents[: len(built)]
    used = sum(bool(agent.middlewares) for agent in agents)
    if not used:
        return
    told = [
        each
        for each in view.trace
        if each.kind == "warning" and each.data.get("category") == "DeprecationWarning"
    ]
    asked = "deprecation warnings, one an agent with struct middlewares"
    at = told[0] if told else built[0]
    yield Decision(asked, used if deprecated else 0, len(told), at)


def _free(case: Case) -> bool:
    """Tell whether a handler that does nothing has a right to change nothing.

    Where a graph is drawn anew for each hook, that there is one can be seen. Where
    factories are called for every turn as soon as there is a handler, who counts them
    sees it come. And a handler without a name of its own is called by its place.
    """
    profile = case.profile
    graph = (
        profile.exhaustion == "apology" or profile.without_tools == "loop_if_wrapped"
    )
    counted = profile.wrapper_factory == "per_run" and wraps_count(case.scenario)
    named = all(
        each.id or each.same_as is not None
        for agent in case.scenario.all_agents
        for each in agent.handlers
    )
    return named and not (graph or counted or _refuses_names(profile))


def _refused(view: View) -> bool:
    """Tell whether the configuration was refused: no hook of it has run then."""
    error = view.build_error
    return error is not None and view.built == []


def _refuses_names(profile: Profile) -> bool:
    return profile.equal_handler_names == "refused"


def _others(*, warned: bool) -> Change:
    """Return what leaves out all that an identity handler is allowed to be seen by.

    Positions count through the list; and a first handler beside struct middlewares is
    warned about where a profile does so.
    """

    def change(entry: Entry) -> Entry | None:
        if str(entry["data"].get("extension", "")).startswith(IDENTITY.id):
            return None
        if warned and entry["data"].get("category") == "MixedExtensionsWarning":
            return None
        return without(entry, "position")

    return change


def _listed(found: Counter[Who]) -> list[tuple[str, int, int]]:
    return sorted((*one, often) for one, often in found.items())


def _all_entered(view: View) -> Iterator[Hook]:
    yield from view.built
    for run in view.runs:
        yield from run.before_agent
        for now in run.iterations:
            yield from (*now.before, *now.model_wraps, *now.after)
            for call in now.calls.values():
                yield from call.hooks
        yield from run.after_agent


def _has_twice(scenario: Scenario) -> bool:
    return any(
        handler.same_as is not None
        for agent in scenario.all_agents
        for handler in agent.handlers
    )


def _failed_hooks(view: View) -> Iterator[tuple[Hook, Any, AgentSpec]]:
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


def _is(agent: AgentSpec, at: int, hook: Hook) -> bool:
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


def _has_handlers(scenario: Scenario) -> bool:
    return any(agent.handlers for agent in scenario.all_agents)


def _has_structs(scenario: Scenario) -> bool:
    return any(agent.middlewares for agent in scenario.all_agents)


CHECKS: Final = (
    *SURFACE,
    Check(
        clause="EXT-001",
        decide=identity,
        needs=EVERY_HOOK,
        variants=(IDENTITY_FIRST, IDENTITY_LAST),
    ),
    Check(
        clause="EXT-002",
        decide=present_hooks,
        any_of=EVERY_HOOK,
        meant=_has_handlers,
    ),
    Check(clause="EXT-003", decide=absent_hooks, any_of=ANY_HOOK),
    Check(clause="EXT-004", decide=same_object, any_of=EVERY_HOOK, meant=_has_twice),
    Check(clause="EXT-005", decide=equal_names, any_of=EVERY_HOOK, meant=_has_handlers),
    Check(
        clause="EXT-006",
        decide=equal_names_refused,
        any_of=EVERY_HOOK,
        meant=_has_handlers,
    ),
    Check(clause="EXT-007", decide=deprecation, meant=_has_structs),
)
