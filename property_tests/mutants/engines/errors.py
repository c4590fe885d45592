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
    Patch,
    Replace,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.errors import HookError, ModelError, ToolError
from refengine.messages import Message
from refengine.run import RunResult
from refengine.testing.wrapping import FactoryError


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


def _swallowed(right: Right) -> Right:
    """Leave out the rest of a pipeline whose hook raised, and say nothing."""

    async def rewrite(
        self: Given, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        with suppress(HookError):
            ctx, messages = await right(self, ctx, messages)
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


def _anonymous(right: Right) -> Right:
    async def entered(*given: Given) -> Given:
        try:
            return await right(*given)
        except HookError as error:
            position, hook, cause = error.position, error.hook, error.cause
            raise HookError("handler", position, hook, cause) from cause

    return entered


def _pipelines(change: Replace) -> tuple[Patch, Patch]:
    """Change what is raised by the hooks of a run."""
    return patch("pipeline.rewrite", change), patch("pipeline.observe", change)


def _skipped(right: Right) -> Right:
    """Build the agent without the before_agent that raised."""

    async def enter(
        self: Given, name: Given, hook: Given, ctx: Context, *rest: Given
    ) -> Context:
        with suppress(HookError):
            ctx = await right(self, name, hook, ctx, *rest)
        return ctx

    return enter


def _model_twice(right: Right) -> Right:
    """Wrap an error of a model that nobody wraps in what it became."""

    async def bare(*given: Given) -> Given:
        try:
            return await right(*given)
        except ModelError as error:
            raise ModelError(error) from error

    return bare


def _leaving_twice(*kinds: type[Exception]) -> Replace:
    """Wrap an error once more that leaves a call as one of these kinds."""

    def replaced(right: Right) -> Right:
        def leaving(self: Given, error: Exception, *more: Given) -> Exception:
            made: Exception = right(self, error, *more)
            again: Exception = made
            if made is error or not isinstance(made, kinds):
                return made
            if isinstance(made, HookError):
                again = _twice(made)
            elif isinstance(made, ModelError):
                again = ModelError(made)
            elif isinstance(made, ToolError):
                again = ToolError(made.tool, made.call_id, made)
            again.__cause__ = made
            return again

        return leaving

    return replaced


def _asked_again(right: Right) -> Right:
    """Ask the model once more after an error of its."""

    async def bare(*given: Given) -> Given:
        try:
            return await right(*given)
        except ModelError:
            return await right(*given)

    return bare


def _none_failed(_: Right) -> Right:
    """Go on with an empty result where a call failed."""

    def error(_: Given) -> None:
        return None

    return error


def _translated(right: Right) -> Right:
    """Wrap an error anew at each layer that it leaves."""

    def layer(self: Given, each: Given, at: int, inner: Given) -> Given:
        entered = right(self, each, at, inner)

        async def enter(ctx: Context, value: Given) -> Given:
            try:
                return await entered(ctx, value)
            except Exception as error:
                raise RuntimeError(f"a wrapper failed: {error}") from error

        return enter

    return layer


def _all_of_tool(_: Right) -> Right:
    """Take everything that leaves a call for the tool's own error."""

    def leaving(self: Given, error: Exception) -> Exception:
        return ToolError(self.call.name, self.call.id, error)

    return leaving


def _bare(right: Right) -> Right:
    """Let a tool's error out as the tool raised it."""

    def leaving(self: Given, error: Exception) -> Exception:
        made: Exception = right(self, error)
        return error if isinstance(made, ToolError) else made

    return leaving


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


def _one_more(right: Right) -> Right:
    """Check the limit after the iteration that goes beyond it."""

    def next_iteration(self: Given) -> Given:
        self.iterations -= 1
        going = right(self)
        self.iterations += 1
        return going

    return next_iteration


def _wrapper_as_text(right: Right) -> Right:
    """Make a result of what a wrapper raised, once it has left the onion."""

    async def opened(self: Given, ctx: Context, streaming: bool) -> None:
        await right(self, ctx, streaming)
        if isinstance(self.error, HookError):
            self.text, self.error = f"error: {self.error.cause}", None

    return opened


def _wrapper_as_tool(right: Right) -> Right:
    """Take what a wrapper raised when it was called for the tool's own error."""

    def leaving(self: Given, error: Exception) -> Exception:
        found: Exception = right(self, error)
        if isinstance(found, HookError) and not isinstance(error, FactoryError):
            return ToolError(self.call.name, self.call.id, error)
        return found

    return leaving


def _wrapper_as_model(right: Right) -> Right:
    """Take what a wrapper around the model raised for the model's own error."""

    def leaving(self: Given, error: Exception, scope: Given) -> Exception:
        found: Exception = right(self, error, scope)
        return ModelError(error) if isinstance(found, HookError) else found

    return leaving


def _wrapper_as_answer(right: Right) -> Right:
    """Take what a wrapper around the model raised for an answer."""

    async def ask_model(self: Given, ctx: Context) -> Given:
        try:
            return await right(self, ctx)
        except HookError as error:
            return Message("assistant", f"error: {error.cause}")

    return ask_model


def _wrapper_again(right: Right) -> Right:
    """Go through the onion around the model once more after a wrapper raised."""

    async def again(self: Given, ctx: Context) -> Given:
        try:
            return await right(self, ctx)
        except HookError:
            return await right(self, ctx)

    return again


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "pipeline-goes-on",
        "Hooks after one that raised still run; the error is raised at the end.",
        "ERR-001",
        patch("pipeline.rewrite", _goes_on),
    ),
    broken(
        "hook-error-swallowed",
        "An error of a model hook ends its pipeline, and nobody is told.",
        "ERR-001 ERR-002",
        patch("pipeline.rewrite", _swallowed),
    ),
    broken(
        "hook-error-wrapped-twice",
        "An error of a hook comes out wrapped twice.",
        "ERR-002",
        *_pipelines(_hook_twice),
    ),
    broken(
        "hook-error-anonymous",
        "An error of a hook does not name its handler.",
        "ERR-002",
        *_pipelines(_anonymous),
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
        "model-error-wrapped-twice",
        "An error of the model comes out wrapped twice.",
        "ERR-005",
        patch("model.bare", _model_twice),
        patch("model.leaving", _leaving_twice(ModelError)),
    ),
    broken(
        "model-asked-again",
        "A model that failed is asked once more.",
        "ERR-006",
        patch("model.bare", _asked_again),
    ),
    broken(
        "tool-error-wrapped-twice",
        "An error of a tool comes out wrapped twice.",
        "ERR-007",
        patch("call.leaving", _leaving_twice(ToolError)),
    ),
    broken(
        "failing-call-forgotten",
        "A call that failed has an empty result, and the run goes on.",
        "ERR-007 ERR-008",
        patch("batch.error", _none_failed),
    ),
    broken(
        "errors-translated",
        "A wrapper that catches gets an exception of the chain's own.",
        "ERR-009",
        patch("onion.layer", _translated),
    ),
    broken(
        "errors-as-text",
        "What a tool raised is a result before any wrapper could catch it.",
        "ERR-010",
        patch("tool.invoke", error_as_result),
    ),
    broken(
        "factory-error-of-tool",
        "A wrapper that cannot be made is told as an error of the tool.",
        "ERR-011",
        patch("call.leaving", _all_of_tool),
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
        "tool-error-bare",
        "What a tool raised comes out as it is, naming neither tool nor call.",
        "ERR-014",
        patch("call.leaving", _bare),
    ),
    broken(
        "one-iteration-more",
        "A run has one iteration more than max_iterations.",
        "ERR-015",
        patch("loop.next_iteration", _one_more),
    ),
    broken(
        "null-taken-for-no-tools",
        "A handler that leaves null leaves no tools, and nobody is told.",
        "ERR-016",
        patch("planner.enter", null_taken),
    ),
    broken(
        "wrapper-error-wrapped-twice",
        "What a wrapper around tool or model raised comes out wrapped twice.",
        "ERR-023 ERR-024",
        patch("call.leaving", _leaving_twice(HookError)),
        patch("model.leaving", _leaving_twice(HookError)),
    ),
    broken(
        "wrapper-error-as-text",
        "What a wrapper around a tool raised is the result of the call.",
        "ERR-023",
        patch("call.open", _wrapper_as_text),
    ),
    broken(
        "wrapper-error-of-tool",
        "What a wrapper raised when it was called is told as the tool's error.",
        "ERR-023",
        patch("call.leaving", _wrapper_as_tool),
    ),
    broken(
        "wrapper-error-of-model",
        "What a wrapper around the model raised is told as the model's error.",
        "ERR-024",
        patch("model.leaving", _wrapper_as_model),
    ),
    broken(
        "wrapper-error-as-answer",
        "What a wrapper around the model raised is the answer of an invoked run.",
        "ERR-024 ERR-025",
        patch("loop.ask_model", _wrapper_as_answer),
    ),
    broken(
        "model-wrapper-again",
        "A wrapper around the model that raised is called once more.",
        "ERR-025",
        patch("loop.ask_model", _wrapper_again),
        patch("loop.open_answer", _wrapper_again),
    ),
)
