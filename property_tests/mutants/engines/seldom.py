"""Engines that are wrong at the second or third of something, or beside others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines import lists
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.messages import Message
from refengine.tool_onion import ToolLayer
from refengine.tools import ToolInfo, as_meta


def _first_two_edit(right: Right) -> Right:
    """Pass on what the first two hooks of a pass leave."""

    async def rewrite(self: Given, ctx: Context, messages: Given) -> Given:
        for at, (_, one) in enumerate(self.one_by_one()):
            ctx, left = await right(one, ctx, messages)
            messages = left if at < 2 else messages
        return ctx, messages

    return rewrite


def _contexts_of_two(right: Right) -> Right:
    """Pass on the context that the first two hooks of a pass leave."""

    async def rewrite(self: Given, ctx: Context, messages: Given) -> Given:
        for at, (_, one) in enumerate(self.one_by_one()):
            left, messages = await right(one, ctx, messages)
            ctx = left if at < 2 else ctx
        return ctx, messages

    return rewrite


def _except_at(step: str, iteration: int) -> Patch:
    """Leave the after-hooks out in one iteration."""

    def replaced(right: Right) -> Right:
        async def after_model(self: Given, ctx: Context) -> Context:
            if self.iterations == iteration:
                return ctx
            left: Context = await right(self, ctx)
            return left

        return after_model

    return patch(step, replaced)


def _second_agent() -> Sequence[Patch]:
    """Leave the last handler out of the second agent that is built."""
    built: list[Given] = []

    def replaced(right: Right) -> Right:
        def collect(structs: Given, handlers: Sequence[Given], *more: Given) -> Given:
            found = right(structs, handlers, *more)
            built.append(found)
            if len(built) < 2:
                return found
            return replace(found, handlers=found.handlers[:-1])

        return collect

    return (patch("extensions.collect", replaced),)


def _third_missing(found: lists.Found) -> lists.Found:
    return [*found[:2], *found[3:]]


def _own_tools_only(right: Right) -> Right:
    """Let wrappers of the tools configuration wrap the configured tools alone."""

    def tool_layers(self: Given, kind: str, config: Given) -> Given:
        own = {meta.name for meta in map(as_meta, config.tools)}

        def around(layer: ToolLayer) -> ToolLayer:
            factory = layer.factory
            if factory is None or not layer.name.owner.startswith("tool_call"):
                return layer

            def bind(info: ToolInfo, endpoint: Given) -> Given:
                return factory(info, endpoint) if info.name in own else endpoint

            return ToolLayer(layer.name, factory=bind)

        return list(map(around, right(self, kind, config)))

    return tool_layers


def _asked_till_it_speaks(right: Right) -> Right:
    """Ask a model again that answered nothing."""

    def route(self: Given, response: Message) -> Given:
        calls = right(self, response)
        silent = not response.content and not response.tool_calls
        return None if silent and not calls else calls

    return route


def _something_given(right: Right) -> Right:
    """Begin a run that is given nothing with an empty message."""

    def run(self: Given, messages: Given, *more: Given, **how: Given) -> Given:
        return right(self, messages or (Message("user"),), *more, **how)

    return run


def _once_direct(right: Right) -> Right:
    """Run nothing of a message of which the first call is direct but that call."""

    def batch_of(self: Given, calls: Given, ctx: Context) -> Given:
        first = calls[0]
        return right(self, (first,) if first.name in self.plan.direct else calls, ctx)

    return batch_of


def _last_answer_as_limit(right: Right) -> Right:
    """Answer with nothing where calls used up the iterations."""

    def next_iteration(self: Given) -> Given:
        goes_on = right(self)
        answer = self.answer
        if not goes_on and answer is not None and not answer.content:
            self.answer = None
        return goes_on

    return next_iteration


def _edits_of_first_iteration(right: Right) -> Right:
    """Drop what before-hooks leave from the second iteration on, once it was sent."""

    async def before_model(self: Given) -> Given:
        kept = self.history
        ctx = await right(self)
        if self.iterations > 1:
            self.this_call, self.history = self.history, kept
            self.sends_history = False
        return ctx

    return before_model


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "third-hook-edits-nothing",
        "What the third and later hooks of a pass leave is dropped.",
        "MSG-003 MSG-004 MSG-011",
        patch("pipeline.rewrite", _first_two_edit),
    ),
    broken(
        "third-hook-context-lost",
        "The context that the third and later hooks of a pass leave is dropped.",
        "CTX-003 EXT-001",
        patch("pipeline.rewrite", _contexts_of_two),
    ),
    broken(
        "no-after-hooks-in-the-third",
        "The after-model hooks do not run in the third iteration.",
        "ORD-004",
        _except_at("loop.after_model", 3),
    ),
    broken(
        "later-edits-not-kept",
        "What before-model hooks leave is not kept from the second iteration on.",
        "MSG-005",
        patch("loop.before_model", _edits_of_first_iteration),
    ),
    wrong(
        "second-agent-lacks-a-handler",
        "The second agent that an engine builds lacks its last handler.",
        "EXT-002",
        PatchedDoor("second-agent-lacks-a-handler", _second_agent),
    ),
    broken(
        "third-before-agent-missing",
        "The third before_agent hook is never called.",
        "ORD-006",
        lists.hooks(_third_missing, "before_agent"),
    ),
    broken(
        "configured-wrappers-for-configured-tools",
        "Wrappers of the tools configuration are not around tools that are added.",
        "ORD-014 ORD-012",
        patch("extensions.tool_layers", _own_tools_only),
    ),
    broken(
        "silent-model-asked-again",
        "A model that answers nothing is asked again.",
        "MSG-012",
        patch("loop.route", _asked_till_it_speaks),
    ),
    broken(
        "empty-input-filled-in",
        "A run that is given no messages begins with an empty one.",
        "MSG-002",
        patch("agent.run", _something_given),
    ),
    broken(
        "first-direct-call-alone",
        "Where the first call of a message is direct the others do not run.",
        "RD-011 RUN-004",
        patch("loop.batch_of", _once_direct),
    ),
    broken(
        "no-silent-answer-at-the-limit",
        "A run that used up its iterations has no answer if that has no text.",
        "RUN-012",
        patch("loop.next_iteration", _last_answer_as_limit),
    ),
)
