"""Ports that only worlds with interrupts, checkpoints or a cancellation tell apart."""

import pytest

from compat.migration.corpus import LASTING, fixed_worlds
from compat.verdicts.relations import channels_of
from refengine import (
    AgentMiddleware,
    ToolCallResult,
    ToolMiddleware,
    get_run_local,
    set_run_local,
)
from refengine.testing import Scenario, read_scenario
from refengine.testing.subject_worlds.words import Words
from tests.players import divergence, shown

OTHERS = 3
"""One in so many of the other worlds is played here; none of them tells."""
WORLDS = [
    (family, read_scenario(data))
    for at, (family, data) in enumerate(fixed_worlds(Words()))
    if family in LASTING or at % OTHERS == 0
]
CHANNELS = channels_of("same-effects")


def struct(wrap):
    """Return a struct middleware around tools that answer in one piece."""

    def subject(world):
        def factory(inner):
            async def call(ctx, input):
                return await wrap(world, inner, ctx, input)

            return call

        return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable=factory))]

    return subject


def handler(wrap):
    """Return the same as a handler."""

    def subject(world):
        class Wraps:
            name = "wraps"

            def before_agent(self, ctx, config):
                config.instruction += "\n"
                return ctx

            async def wrap_invokable_tool_call(self, ctx, input, next):
                return await wrap(world, next, ctx, input)

        return [Wraps()]

    return subject


async def error_to_text(_, next, ctx, input):
    try:
        return await next(ctx, input)
    except Exception as error:  # noqa: BLE001  # what this piece is for
        return ToolCallResult(f"failed: {type(error).__name__}")


async def all_to_text(_, next, ctx, input):
    try:
        return await next(ctx, input)
    except BaseException as error:  # noqa: BLE001  # the mistake
        return ToolCallResult(f"failed: {type(error).__name__}")


async def locks_finally(world, next, ctx, input):
    world.effect("locked", input.name)
    try:
        return await next(ctx, input)
    finally:
        world.effect("unlocked", input.name)


async def locks_and_forgets(world, next, ctx, input):
    world.effect("locked", input.name)
    try:
        result = await next(ctx, input)
    except Exception:
        world.effect("unlocked", input.name)
        raise
    world.effect("unlocked", input.name)
    return result


def numbers(keep):
    """Return a piece that tells each call how long the history was before it."""

    def subject(world):
        class Numbers:
            name = "numbers"
            seen = None

            def before_model_rewrite_history(self, ctx, messages):
                if keep == "run":
                    set_run_local(ctx, "seen", len(messages))
                elif keep == "code":
                    set_run_local(ctx, "seen", lambda: len(messages))
                self.seen = len(messages)
                return ctx, messages

            async def wrap_invokable_tool_call(self, ctx, input, next):
                seen = self.seen if keep == "handler" else get_run_local(ctx, "seen")
                world.effect("seen", seen() if callable(seen) else seen)
                return await next(ctx, input)

        return [Numbers()]

    return subject


RIGHT = [
    (struct(error_to_text), handler(error_to_text)),
    (struct(locks_finally), handler(locks_finally)),
]
WRONG = [
    ("STATE_CHANGED", struct(error_to_text), handler(all_to_text)),
    ("EFFECT_LOST", struct(locks_finally), handler(locks_and_forgets)),
    ("EFFECT_CHANGED", numbers("run"), numbers("handler")),
    ("ERROR_NEW", numbers("run"), numbers("code")),
]


def differing(old, new) -> list[tuple[str, Scenario]]:
    """Return the worlds in which two subjects do not have the same effects."""
    found = []
    for family, where in WORLDS:
        ours, theirs = shown(where, old), shown(where, new)
        if any(ours.text(each) != theirs.text(each) for each in CHANNELS):
            found.append((family, where))
    return found


@pytest.mark.parametrize(("old", "new"), RIGHT)
def test_a_right_port_is_right_in_these_worlds_too(old, new) -> None:
    assert differing(old, new) == []


@pytest.mark.parametrize(("code", "old", "new"), WRONG, ids=lambda each: str(each)[:12])
def test_a_wrong_port_is_found_by_these_worlds_alone(code, old, new) -> None:
    found = differing(old, new)

    assert {family for family, _ in found} <= LASTING
    assert divergence(found[0][1], old, new, "same-effects").code == code


def test_each_way_to_last_has_its_worlds() -> None:
    families = [family for family, _ in WORLDS]

    assert {each: families.count(each) for each in LASTING} == {
        "interrupts": 3,
        "cancelled": 3,
    }
