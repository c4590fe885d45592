"""EXT: what a handler may be without a change, as two plays of one engine show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compat.engines.capabilities import OF_HOOKS
from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.comparing import Change, Data, alike, of_luck, wraps_count
from property_tests.variants import IDENTITY_FIRST, IDENTITY_LAST, PLAIN
from property_tests.view import View
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


def _has_pipeline_hook(scenario: Scenario) -> bool:
    return any(
        agent.handlers
        or any(e.before_chat_model or e.after_chat_model for e in agent.middlewares)
        for agent in scenario.all_agents
    )


CHECKS: Final = (
    Check(
        clause="EXT-001",
        decide=identity,
        needs=EVERY_HOOK | {"several_handlers"},
        variants=(IDENTITY_FIRST, IDENTITY_LAST),
    ),
    Check(
        clause="EXT-012",
        decide=plain,
        any_of=PIPELINE_HOOKS,
        variants=(PLAIN,),
        meant=_has_pipeline_hook,
    ),
)
