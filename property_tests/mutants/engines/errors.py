"""Engines that are wrong about where errors go (ERR)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import handing_back
from property_tests.mutants.engines.tools import null_taken
from property_tests.mutants.engines.wrapping import error_as_result
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.chain import INNERMOST
from refengine.context import Context
from refengine.errors import HookError, ToolError
from refengine.messages import Message
from refengine.run import RunResult


def _goes_on(right: Right) -> Right:
    """Run all hooks of a pipeline, and raise the first error at its end."""

    async def rewrite(
        self: Given, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        first: HookError | None = None
        for _, one in self.one_by_one():
            try:
                ctx, messages = await right(one, ctx, messages)
            except HookError as error:
                first = first or error
        if first is not None:
            raise first
        return ctx, messages

    return rewrite


def _twice(error: HookError) -> HookError:
    """Return an error of a hook, wrapped once more."""
    who = error.handler, error.position, error.hook
    return HookError(*who, error, tool=error.tool, call_id=error.call_id)


def _hook_twice(right: Right) -> Right:
    async def entered(*given: Given) -> Given:
        try:
            return await right(*given)
        except HookError as error:
            raise _twice(error) from error

    return entered


def _skipped(right: Right) -> Right:
    """Build the agent without the before_agent that raised."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Context, *rest: Given
    ) -> Context:
        with suppress(HookError):
            ctx = await right(self, name, hook, ctx, *rest)
        return ctx

    return enter


def _none_failed(_: Right) -> Right:
    """Go on with an empty result where a call failed."""

    def error(_: Given) -> None:
        return None

    return error


def _completed(left: RunResult) -> RunResult:
    return replace(left, status="completed") if left.status == "error" else left


def _caught_in_vain(right: Right) -> Right:
    """End the run with an error that a wrapper has caught."""

    async def opened(self: Given, ctx: Context, streaming: bool) -> None:
        await right(self, ctx, streaming)
        faults = self.scope.faults
        if faults and self.error is None:
            error = next(iter(faults.values()))[0]
            if isinstance(error, Exception):
                self.error = ToolError(self.call.name, self.call.id, error)

    return opened


def _wrapper_as_answer(right: Right) -> Right:
    """Take what a wrapper around the model raised for an answer."""

    async def ask_model(self: Given, ctx: Context) -> Given:
        try:
            return await right(self, ctx)
        except HookError as error:
            return Message("assistant", f"error: {error.cause}")

    return ask_model


def _swallowed(right: Right) -> Right:
    """Leave out the rest of a pipeline whose hook raised, and say nothing."""

    async def rewrite(
        self: Given, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        with suppress(HookError):
            ctx, messages = await right(self, ctx, messages)
        return ctx, messages

    return rewrite


def _of_the_tool(right: Right) -> Right:
    async def drain(self: Given) -> Given:
        try:
            return await right(self)
        except Exception as error:
            self.scope.faults = {id(error): (error, INNERMOST)}
            raise

    return drain


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "pipeline-goes-on",
        "Hooks after one that raised still run; the error is raised at the end.",
        "ERR-001",
        patch("pipeline.rewrite", _goes_on),
    ),
    broken(
        "build-error-swallowed",
        "An agent is built although a before_agent raised.",
        "ERR-003",
        patch("planner.enter", _skipped),
    ),
    broken(
        "run-start-error-wrapped-twice",
        "An error of before_agent comes out wrapped twice.",
        "ERR-004",
        patch("planner.enter", _hook_twice),
        under="eino-0.9",
    ),
    broken(
        "failing-call-forgotten",
        "A call that failed has an empty result, and the run goes on.",
        "ERR-007 ERR-008",
        patch("batch.error", _none_failed),
    ),
    broken(
        "errors-as-text",
        "What a tool raised is a result before any wrapper could catch it.",
        "ERR-010",
        patch("tool.invoke", error_as_result),
    ),
    wrong(
        "failed-run-completed",
        "A run that ended with an error has the status of one that completed.",
        "ERR-012",
        handing_back(_completed),
    ),
    broken(
        "caught-in-vain",
        "An error ends the run although a wrapper caught it.",
        "ERR-013",
        patch("call.open", _caught_in_vain),
    ),
    broken(
        "null-taken-for-no-tools",
        "A handler that leaves null leaves no tools, and nobody is told.",
        "ERR-016",
        patch("planner.enter", null_taken),
    ),
    broken(
        "wrapper-error-as-answer",
        "What a wrapper around the model raised is the answer of an invoked run.",
        "ERR-024 ERR-025",
        patch("loop.ask_model", _wrapper_as_answer),
    ),
    broken(
        "hook-error-swallowed",
        "An error of a model hook ends its pipeline, and nobody is told.",
        "ERR-001 ERR-002",
        patch("pipeline.rewrite", _swallowed),
    ),
    broken(
        "broken-stream-is-the-tools",
        "What a wrapper raised in a stream is told as an error of the tool.",
        "ERR-023",
        patch("stream.drain", _of_the_tool),
    ),
)
