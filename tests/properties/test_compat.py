"""COMPAT: adapted struct middlewares have the trace that they have as structs.

Contract §1: for every profile and every scenario without handlers the traces are
identical; under profiles whose after-hooks run in list order, also with handlers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.adapters import adapt, handler_of, middlewares_of, tool_middleware_of
from compat.engines.adapted import AdaptedEngine
from property_tests.checks.adapted import about_runs, loses_state
from property_tests.mutants.doors import Arrange, ArrangedEngine, as_given
from refengine.agent import ChatModelAgentConfig
from refengine.profile import (
    EINO_0_7,
    EINO_0_7_37,
    PROFILES,
    SEED_001,
    Profile,
    choosing,
    options,
    profile,
)
from refengine.testing import (
    Divergence,
    ReferenceEngine,
    Scenario,
    first_divergence,
)
from refengine.testing.extensions import WorldHandler
from refengine.testing.ops import MessageOp
from refengine.testing.scenario import HandlerSpec
from refengine.testing.strategies import scenarios
from tests.properties.support import (
    noted,
    played_by,
    searching,
    under_every_profile,
)

HISTORY_OPS_OF_THE_CONTEXT = {"ctx_set", "ctx_append"}
ADDS_NOTHING = choosing(
    choosing(SEED_001, "empty_addition", "skipped"), "empty_base", "replaced"
)
"""Seed 001 without the separators that structs bring: what with_instruction does."""

WORLDS: dict[str, Any] = {
    "failures": True,
    "unknown_calls": True,
    "counting": True,
    "delays": True,
}
"""The choices of ``scenarios`` under which COMPAT is searched: everything there is."""
BEFORE_HANDLERS = (EINO_0_7, EINO_0_7_37)
SEARCHES = tuple(
    (each.name, handlers)
    for each in PROFILES
    for handlers in (False, True)
    # Some have no handlers to stand beside their structs.
    if not handlers or (each.after_hooks == "in_order" and each not in BEFORE_HANDLERS)
)
"""Where COMPAT holds: a profile, and whether worlds have handlers, too."""

Convert = Callable[[Sequence[Any]], Sequence[Any]]


def adapting_divergence(scenario: Scenario, profile: Profile) -> Divergence | None:
    """Return where the native and the adapted trace first differ, None if nowhere."""
    native = played_by(scenario, ReferenceEngine(profile))
    adapted = played_by(scenario, AdaptedEngine(profile))
    states = not loses_state(scenario, profile)
    return first_divergence(*(about_runs(e, states=states) for e in (native, adapted)))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("under", "handlers"), SEARCHES)
def test_adapted_structs_have_the_trace_of_structs(under: str, handlers: bool) -> None:
    @searching(150, handlers)
    @given(scenarios(**{**WORLDS, "handlers": handlers}))
    def compare(scenario: Scenario) -> None:
        noted(scenario)
        assert adapting_divergence(scenario, profile(under)) is None

    compare()


@st.composite
def any_profiles(draw: st.DrawFn) -> Profile:
    """Draw a choice of postures that no engine need have made."""
    chosen: dict[str, Any] = {
        posture: draw(st.sampled_from(allowed))
        for posture, allowed in options().items()
    }
    chosen["after_hooks"] = "in_order"  # else adapted structs stand where handlers do
    made = replace(SEED_001, **chosen)
    # The state of an iteration is found in the context that the before-hooks left.
    lost = (made.state_object, made.model_context) == ("per_iteration", "before_hooks")
    return replace(made, model_context="iteration") if lost else made


@searching(100)
@given(any_profiles(), scenarios(**WORLDS))
def test_and_under_any_choice_of_postures(under: Profile, scenario: Scenario) -> None:
    noted(scenario)
    assert adapting_divergence(scenario, under) is None


def structs_by(convert: Convert) -> Arrange:
    """Return the arrangement that makes structs of its structs."""
    return lambda config, _: replace(config, middlewares=convert(config.middlewares))


def handlers_by(convert: Convert) -> Arrange:
    """Return the arrangement that makes handlers of its handlers."""
    return lambda config, _: replace(config, handlers=convert(config.handlers))


def handlers_as_structs(
    config: ChatModelAgentConfig, _: Profile
) -> ChatModelAgentConfig:
    structs = middlewares_of(config.handlers)
    return replace(config, middlewares=structs, handlers=())


def handlers_as_adapted_structs(
    config: ChatModelAgentConfig, profile: Profile
) -> ChatModelAgentConfig:
    return replace(config, handlers=adapt(middlewares_of(config.handlers), profile))


def handlers_as_tool_middlewares(
    config: ChatModelAgentConfig, _: Profile
) -> ChatModelAgentConfig:
    tools = config.tools_config
    more = [tool_middleware_of(each) for each in config.handlers]
    wraps = (*tools.tool_call_middlewares, *more)
    changed = replace(tools, tool_call_middlewares=wraps)
    return replace(config, tools_config=changed, handlers=())


def parting(
    scenario: Scenario, arrange: Arrange, under: Profile, beside: Arrange = as_given
) -> Divergence | None:
    noted(scenario)
    ours, theirs = (
        played_by(scenario, ArrangedEngine("arranged", under, each))
        for each in (beside, arrange)
    )
    return first_divergence(ours, theirs)


def keeping_context(todo: Iterable[MessageOp] | None) -> tuple[MessageOp, ...] | None:
    if todo is None:
        return None
    return tuple(op for op in todo if op.op not in HISTORY_OPS_OF_THE_CONTEXT)


def with_only(scenario: Scenario, *fields: str) -> Scenario:
    """Return the scenario with those hooks of its handlers, which keep the context."""
    [agent] = scenario.all_agents
    kept = [
        HandlerSpec.model_validate(
            {
                "id": each.id,
                "before_model": keeping_context(each.before_model),
                "after_model": keeping_context(each.after_model),
                "wrap_invokable": each.wrap_invokable,
                "wrap_streamable": each.wrap_streamable,
            }
        ).model_copy(update=dict.fromkeys(ALL_FIELDS - {*fields}))
        for each in agent.handlers
        if any(getattr(each, field) is not None for field in fields)
    ]
    changed = agent.model_copy(update={"handlers": tuple(kept)})
    return scenario.model_copy(update={"agent": changed})


WRAPS = ("wrap_invokable", "wrap_streamable")
MODEL = ("before_model", "after_model")
ALL_FIELDS = {*WRAPS, *MODEL}
structs_only = scenarios(handlers=False, failures=True, counting=True)
handlers_only = scenarios(middlewares=False, counting=True)
# With a handler eino 0.8 and 0.9 call all factories for every turn: closures notice.
uncounted = scenarios(middlewares=False)


@under_every_profile
@searching(20)
@given(structs_only)
def test_structs_come_back_from_their_handlers(under: str, scenario: Scenario) -> None:
    back = structs_by(lambda structs: middlewares_of(adapt(structs)))

    assert parting(scenario, back, profile(under)) is None


@searching(100)
@given(handlers_only)
def test_handlers_that_a_struct_can_carry_do_the_same_as_structs(
    scenario: Scenario,
) -> None:
    carried = with_only(scenario, *WRAPS, *MODEL)

    assert parting(carried, handlers_as_structs, ADDS_NOTHING) is None
    assert parting(carried, handlers_as_adapted_structs, ADDS_NOTHING) is None


@under_every_profile
@searching(30)
@given(uncounted)
def test_wrappers_do_the_same_as_tool_middlewares(
    under: str, scenario: Scenario
) -> None:
    """Where both share their input: one of its own is what handlers alone can have."""
    wrapping = with_only(scenario, *WRAPS)
    sharing = replace(profile(under), handler_input="shared")

    assert parting(wrapping, handlers_as_tool_middlewares, sharing) is None


class Capable:
    """A capability object that does what a handler of the world does."""

    def __init__(self, handler: WorldHandler) -> None:
        self.name = handler.name
        self._handler = handler
        for hook in handler.hooks & {"wrap_invokable_tool_call"}:
            setattr(self, hook, getattr(handler, hook))
        for hook in handler.hooks & {"wrap_streamable_tool_call"}:
            setattr(self, hook, getattr(handler, hook))

    async def pre_process_message_state(self, ctx, messages):
        if "before_model_rewrite_history" not in self._handler.hooks:
            return messages
        return (await self._handler.before_model_rewrite_history(ctx, messages))[1]

    async def post_process_message_state(self, ctx, messages):
        if "after_model_rewrite_history" not in self._handler.hooks:
            return messages
        return (await self._handler.after_model_rewrite_history(ctx, messages))[1]


def with_room(scenario: Scenario) -> Scenario:
    """Let no run come to its limit: there an apology looks at who has which hook.

    A capability object here has a method for every hook, so it has after-model hooks.
    """
    [agent] = scenario.all_agents
    roomy = agent.model_copy(update={"max_iterations": 20})
    changed = {"agent": roomy, "script_end": "exhausted"}
    return scenario.model_copy(update=changed)


@under_every_profile
@searching(30)
@given(handlers_only)
def test_capability_objects_are_the_handlers_they_stand_for(
    under: str, scenario: Scenario
) -> None:
    capable = with_room(with_only(scenario, *WRAPS, *MODEL))
    objects = handlers_by(lambda handlers: [Capable(each) for each in handlers])
    made = handlers_by(lambda hs: [handler_of(Capable(each)) for each in hs])

    assert parting(capable, objects, profile(under)) is None
    assert parting(capable, made, profile(under)) is None
