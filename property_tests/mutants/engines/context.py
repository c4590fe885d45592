"""Engines that are wrong about how far a context reaches (CTX)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

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
from refengine.context import Context, at_point, at_point_of
from refengine.messages import Message
from refengine.tools import ToolCallInput

_SIBLING: Final = "the context of the last call"
"""Not a key that a scenario uses."""


def _each_anew(right: Right) -> Right:
    """Give every hook of a pipeline the context that the first one was given."""

    async def rewrite(
        self: Given, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        left = ctx
        for _, one in self.one_by_one():
            left, messages = await right(one, ctx, messages)
        return left, messages

    return rewrite


def _build_forgotten(right: Right) -> Right:
    """Start every run with the context that the build was given."""

    async def plan(self: Given, ctx: Context, *run: Given) -> Given:
        return replace(await right(self, ctx, *run), ctx=ctx)

    return plan


def _outside(right: Right) -> Right:
    """Call the model, or start the after-hooks, with the context of the run."""

    async def step(self: Given, _: Context) -> Given:
        return await right(self, self.ctx)

    return step


def _carried_over(right: Right) -> Right:
    """Keep what the before-hooks left for the iterations that follow."""

    async def before_model(self: Given) -> Given:
        self.ctx = await right(self)
        return self.ctx

    return before_model


def _not_inwards(right: Right) -> Right:
    """Call what stands inside a wrapper with the context that the wrapper was given."""

    def layer(self: Given, each: Given, at: int, inner: Given) -> Given:
        async def enter(ctx: Context, value: object) -> object:
            def same(_: Context, given: object) -> object:
                return inner(ctx, given)

            return await right(self, each, at, same)(ctx, value)

        return enter

    return layer


def _remembers(right: Right) -> Right:
    """Keep the context that the innermost point of a call was reached with."""

    def arrive(ctx: Context, value: ToolCallInput) -> Given:
        scope, tool, at = right(ctx, value)
        scope.locals[_SIBLING] = ctx
        return scope, tool, at

    return arrive


def _goes_on_from(right: Right) -> Right:
    """Start a call with the context that the one before it ended with."""

    async def opened(self: Given, ctx: Context, streaming: bool) -> None:
        last = self.scope.locals.get(_SIBLING, ctx)
        await right(self, last, streaming)

    return opened


def _empty_at_end(right: Right) -> Right:
    """Show after_agent hooks an empty context."""

    async def observe(self: Given, ctx: Context, value: object) -> Given:
        return await right(self, at_point_of(Context(), ctx), value)

    return observe


def _shared_locals() -> Sequence[Patch]:
    """Start a run of an agent with the run-local values of the one before it."""
    before: dict[int, tuple[Given, Given]] = {}

    def replaced(right: Right) -> Right:
        def start(self: Given) -> Given:
            machine = self.machine
            _, values = before.get(id(machine), (machine, {}))
            self.locals.update(values)
            before[id(machine)] = machine, self.locals
            return right(self)

        return start

    return (patch("loop.start", replaced),)


def _locals_at_build(right: Right) -> Right:
    """Run before_agent with run-local values, which nobody sees again."""

    async def plan(self: Given, ctx: Context, *run: Given) -> Given:
        at = at_point(ctx, ctx.run_path, ctx.tool_call_id, {})
        return await right(self, at, *run)

    return plan


def _no_path(right: Right) -> Right:
    """Lose the path where the tool is called."""

    def arrive(ctx: Context, value: ToolCallInput) -> Given:
        scope, tool, at = right(ctx, value)
        return scope, tool, at_point(at, (), scope.call_id, scope.locals)

    return arrive


def _as_handed_on(right: Right) -> Right:
    def arrive(ctx: Context, value: Given) -> Given:
        return *right(ctx, value)[:2], ctx

    return arrive


def _alone(right: Right) -> Right:
    def start(loop: Given) -> None:
        loop.run_path = loop.run_path[-1:]
        loop.ctx = at_point(loop.ctx, loop.run_path, None, loop.locals)
        right(loop)

    return start


def _counted_apart(right: Right) -> Right:
    def collect(*given: Given) -> Given:
        found = right(*given)
        own = [replace(each, position=at) for at, each in enumerate(found.handlers)]
        return replace(found, handlers=tuple(own))

    return collect


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "context-each-anew",
        "Every hook of a pipeline gets the context that the first one got.",
        "CTX-001",
        patch("pipeline.rewrite", _each_anew),
    ),
    broken(
        "context-of-build-forgotten",
        "What before_agent put into the context reaches no run.",
        "CTX-002",
        patch("planner.plan", _build_forgotten),
    ),
    broken(
        "context-not-to-after-hooks",
        "The after-hooks start with the context of the run.",
        "CTX-004",
        patch("loop.after_model", _outside),
    ),
    broken(
        "context-carried-over",
        "What before-hooks put into the context stays for later iterations.",
        "CTX-005",
        patch("loop.before_model", _carried_over),
    ),
    broken(
        "context-not-inwards",
        "What a wrapper puts into the context does not reach what it wraps.",
        "CTX-007",
        patch("onion.layer", _not_inwards),
    ),
    broken(
        "context-to-siblings",
        "What wrappers put into the context reaches the next call too.",
        "CTX-008",
        patch("tool.arrive", _remembers),
        patch("call.open", _goes_on_from),
    ),
    broken(
        "context-empty-after-agent",
        "after_agent hooks start with an empty context.",
        "CTX-009",
        patch("pipeline.observe", _empty_at_end),
    ),
    wrong(
        "run-locals-shared",
        "A run finds the run-local values of the runs before it.",
        "CTX-014",
        PatchedDoor("run-locals-shared", _shared_locals),
    ),
    broken(
        "run-locals-before-agent",
        "before_agent can set run-local values, which are then lost.",
        "CTX-015",
        patch("planner.plan", _locals_at_build),
    ),
    broken(
        "context-not-to-model",
        "The model is called with the context of the run.",
        "CTX-003",
        patch("loop.ask_model", _outside),
        patch("loop.open_answer", _outside),
    ),
    broken(
        "run-path-lost",
        "A tool finds an empty run path.",
        "CTX-011",
        patch("tool.arrive", _no_path),
    ),
    broken(
        "context-as-handed-on",
        "A tool finds path and call id in what the innermost wrapper handed on.",
        "CTX-018",
        patch("tool.arrive", _as_handed_on),
    ),
    broken(
        "inner-agent-alone",
        "An agent inside another one's tool has a run path of its own.",
        "EVT-015",
        patch("loop.start", _alone),
    ),
    broken(
        "positions-without-structs",
        "The position of a handler does not count the struct middlewares before it.",
        "ERR-021",
        patch("extensions.collect", _counted_apart),
    ),
)
"""Engines in which a context reaches less far, or farther."""
