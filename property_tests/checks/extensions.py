"""EXT: what an extension is, and which are refused (contract §2, "Decided")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from compat.engines.capabilities import OF_HOOKS
from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.comparing import Change, Data, alike, of_luck, wraps_count
from property_tests.checks.extension_names import (
    equal_names,
    equal_names_refused,
    has_twice,
    same_object,
)
from property_tests.checks.taking_part import (
    HANDLER_HOOKS,
    Who,
    all_hooks,
    calls_reached,
    handlers_with,
    passes,
    who,
)
from property_tests.variants import IDENTITY_FIRST, IDENTITY_LAST, PLAIN
from property_tests.view import HookView, View
from refengine.profile import Profile
from refengine.testing.scenario import Scenario
from refengine.testing.strategies.variants import IDENTITY

EVERY_HOOK: Final = OF_HOOKS - {"adapted_structs"}
"""The capabilities that a handler with every hook needs."""
PIPELINE_HOOKS: Final = frozenset(
    (
        *("before_agent", "before_model", "after_model", "after_agent"),
        "struct_model_hooks",
    )
)
"""The capabilities of hooks that may be plain functions."""
POSITION: Final = frozenset(("position",))
ANY_HOOK: Final = EVERY_HOOK | {"struct_model_hooks", "struct_tool_wrappers"}


def identity(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a handler that passes everything through changes nothing."""
    if not _free(case) or _refused(case.played) or _raises_again(case.played):
        return  # who is refused, or raised to the last, is called by the place
    for variant in (IDENTITY_FIRST, IDENTITY_LAST):
        agent = case.scenario.all_agents[0]
        change = _others(warned=bool(agent.middlewares) and not agent.handlers)
        claim = "everything but what an identity handler itself observes"
        ours, theirs = case.played.trace, case[variant].trace
        yield alike(claim, ours, theirs, change=change, variant=variant)


def _raises_again(view: View) -> bool:
    """Tell whether a run ended since a wrapper raised whenever the model was asked."""
    return any(
        run.agent.retry is not None
        and run.error is not None
        and any(
            each.wrap_model and each.wrap_model.error for each in run.agent.handlers
        )
        for run in view.runs
    )


def plain(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a plain hook does what a coroutine function of the same body does."""
    if of_luck(case.played):
        return
    claim = "the same with plain hooks for coroutine functions, and the other way round"
    yield alike(claim, case.played.trace, case[PLAIN].trace, variant=PLAIN)


def present_hooks(case: PlayedWorld) -> Iterator[Decision]:
    """Every handler that has a hook is entered there, none is skipped."""
    claim = "handlers entered, where their hook has its turn"
    for each in passes(case.played):
        due = [name for name in each.hooks if name in HANDLER_HOOKS]
        expected = Counter(
            one for name in due for one in handlers_with(each.agent, name)
        )
        got = Counter(who(hook) for hook in each.entered if hook.name in due)
        if expected:
            at = each.entered[0].enter if each.entered else None
            yield Decision(claim, _listed(expected), _listed(got), at)
    for run in case.played.runs:
        for call, kind in calls_reached(run):
            wrap = f"wrap_{kind}"
            every = set(handlers_with(run.agent, wrap))
            seen = {who(hook) for hook in call.hooks if hook.name == wrap}
            if every:
                yield Decision(claim, sorted(every), sorted(seen), call.starts[0])


def absent_hooks(case: PlayedWorld) -> Iterator[Decision]:
    """No hook is entered that its extension does not have."""
    view = case.played
    known = {hook for agent in view.scenario.all_agents for hook in all_hooks(agent)}
    hooks = list(_all_entered(view))
    if not hooks:
        return
    strange = [each for each in hooks if (each.name, who(each)) not in known]
    at = strange[0].enter if strange else hooks[0].enter
    claim = "hooks entered that their extension does not have"
    yield Decision(claim, [], [(each.name, *who(each)) for each in strange], at)


def deprecation(case: PlayedWorld) -> Iterator[Decision]:
    """Struct middlewares are warned about under profiles that deprecate them."""
    view = case.played
    deprecated = case.profile.struct_middleware == "deprecated"
    built = [each for each in view.build if each.kind == "build"]
    agents = case.scenario.all_agents[: len(built)]
    used = sum(bool(agent.middlewares) for agent in agents)
    if not used:
        return
    reported = [
        each
        for each in view.trace
        if each.kind == "warning" and each.data.get("category") == "DeprecationWarning"
    ]
    claim = "deprecation warnings, one an agent with struct middlewares"
    at = reported[0] if reported else built[0]
    yield Decision(claim, used if deprecated else 0, len(reported), at)


def _free(case: PlayedWorld) -> bool:
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

    def drops(_: str, data: Data) -> bool:
        if str(data.get("extension", "")).startswith(IDENTITY.id):
            return True
        return warned and data.get("category") == "MixedExtensionsWarning"

    return Change(drops, names=lambda _: POSITION)


def _listed(found: Counter[Who]) -> list[tuple[str, int, int]]:
    return sorted((*one, often) for one, often in found.items())


def _all_entered(view: View) -> Iterator[HookView]:
    yield from view.built
    for run in view.runs:
        yield from run.before_agent
        for now in run.iterations:
            yield from (*now.before, *now.model_wraps, *now.after)
            for call in now.calls.values():
                yield from call.hooks
        yield from run.after_agent


def _has_handlers(scenario: Scenario) -> bool:
    return any(agent.handlers for agent in scenario.all_agents)


def _has_structs(scenario: Scenario) -> bool:
    return any(agent.middlewares for agent in scenario.all_agents)


def _has_pipeline_hook(scenario: Scenario) -> bool:
    return any(
        hook in {*PIPELINE_HOOKS, "before_chat_model", "after_chat_model"}
        for agent in scenario.all_agents
        for hook, _ in all_hooks(agent)
    )


CHECKS: Final = (
    Check(
        clause="EXT-001",
        decide=identity,
        needs=EVERY_HOOK | {"several_handlers"},
        variants=(IDENTITY_FIRST, IDENTITY_LAST),
    ),
    Check(
        clause="EXT-002",
        decide=present_hooks,
        any_of=EVERY_HOOK,
        meant=_has_handlers,
    ),
    Check(clause="EXT-003", decide=absent_hooks, any_of=ANY_HOOK),
    Check(clause="EXT-004", decide=same_object, any_of=EVERY_HOOK, meant=has_twice),
    Check(clause="EXT-005", decide=equal_names, any_of=EVERY_HOOK, meant=_has_handlers),
    Check(
        clause="EXT-006",
        decide=equal_names_refused,
        needs=frozenset(("several_handlers",)),
        any_of=EVERY_HOOK,
        meant=_has_handlers,
    ),
    Check(clause="EXT-007", decide=deprecation, meant=_has_structs),
    Check(
        clause="EXT-012",
        decide=plain,
        any_of=PIPELINE_HOOKS,
        variants=(PLAIN,),
        meant=_has_pipeline_hook,
    ),
)
