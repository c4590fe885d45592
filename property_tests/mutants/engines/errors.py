"""Engines that are wrong about where errors go (ERR)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from property_tests.mutants.engines.raising_wrappers import (
    MUTANTS as WRAPPER_MUTANTS,
)
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import chain, model_calls, plan, tool_calls, tool_onion
from refengine.chain import CallScope, Layer, Onion, Pipeline
from refengine.context import Context
from refengine.errors import HookError, ModelError, ToolError
from refengine.events import AgentEvent
from refengine.hooks import AgentConfig
from refengine.loop import Loop
from refengine.messages import Message
from refengine.model_calls import ModelOnion
from refengine.plan import Planner
from refengine.run import Run
from refengine.tool_calls import CallBatch, ToolCallRun
from refengine.tools import ToolCallInput, ToolCallResult


def _goes_on(right: Callable[..., Any]) -> Callable[..., Any]:
    """Run all hooks of a pipeline, and raise the first error at its end."""

    async def made(
        self: Any,  # noqa: ANN401  # a Pipeline
        ctx: Context,
        messages: Sequence[Message],
    ) -> tuple[Context, Sequence[Message]]:
        first: HookError | None = None
        for hook, _, name in self._steps:
            try:
                ctx, messages = await right(Pipeline([(name, hook)]), ctx, messages)
            except HookError as error:
                first = first or error
        if first is not None:
            raise first
        return ctx, messages

    return made


def _swallowed(right: Callable[..., Any]) -> Callable[..., Any]:
    """Leave out the rest of a pipeline whose hook raised, and say nothing."""

    async def made(
        self: Pipeline, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        with suppress(HookError):
            ctx, messages = await right(self, ctx, messages)
        return ctx, messages

    return made


def _wrapped_twice(right: Callable[..., HookError]) -> Callable[..., HookError]:
    """Wrap an error of a hook in what it became."""

    def made(*given: Any, **more: Any) -> HookError:  # noqa: ANN401  # as the right one
        *who, cause = given
        return right(*who, right(*who, cause, **more), **more)

    return made


def _anonymous(right: Callable[..., HookError]) -> Callable[..., HookError]:
    def made(_: str, *given: Any, **more: Any) -> HookError:  # noqa: ANN401  # as the right one
        return right("handler", *given, **more)

    return made


def _skipped(right: Callable[..., Any]) -> Callable[..., Any]:
    """Build the agent without the before_agent that raised."""

    async def made(
        self: Planner,
        name: object,
        hook: object,
        ctx: Context,
        *rest: object,
    ) -> Context:
        with suppress(HookError):
            ctx = await right(self, name, hook, ctx, *rest)
        return ctx

    return made


def _tool_wrapped_twice(right: Callable[..., ToolError]) -> Callable[..., ToolError]:
    def made(tool: str, call_id: str, cause: Exception) -> ToolError:
        return right(tool, call_id, right(tool, call_id, cause))

    return made


def _model_wrapped_twice(right: Callable[..., ModelError]) -> Callable[..., ModelError]:
    """Wrap an error of the model in what it became."""

    def made(cause: Exception) -> ModelError:
        return right(right(cause))

    return made


def _asked_again(right: Callable[..., Any]) -> Callable[..., Any]:
    """Ask the model once more after an error of its."""

    async def made(self: ModelOnion, *given: object) -> Message:
        answer: Message
        try:
            answer = await right(self, *given)
        except ModelError:
            answer = await right(self, *given)
        return answer

    return made


def _empty_result(right: Callable[..., Any]) -> Callable[..., Any]:
    """Go on with an empty result where a call failed."""
    del right

    def made(_: CallBatch) -> None:
        return None

    return made


def _translated(right: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an error anew at each layer that it leaves."""

    def made(self: Onion, layer: Layer, at: int, inner: Any) -> Any:  # noqa: ANN401  # as the right one
        entered = right(self, layer, at, inner)

        async def enter(ctx: Context, value: Any) -> Any:  # noqa: ANN401  # as the right one
            try:
                return await entered(ctx, value)
            except Exception as error:
                raise RuntimeError(f"a wrapper failed: {error}") from error

        return enter

    return made


def _as_text(right: Callable[..., Any]) -> Callable[..., Any]:
    """Make a result of what a tool raised, before any wrapper could see it."""

    async def made(ctx: Context, value: ToolCallInput) -> ToolCallResult:
        result: ToolCallResult
        try:
            result = await right(ctx, value)
        except Exception as error:  # noqa: BLE001  # that is what is wrong
            result = ToolCallResult(f"error: {error}")
        return result

    return made


def _all_tool_errors(right: Callable[..., Exception]) -> Callable[..., Exception]:
    """Take everything that leaves a call for the tool's own error."""
    del right

    def made(self: ToolCallRun, error: Exception) -> Exception:
        return ToolError(self.call.name, self.call.id, error)

    return made


def _told_twice(right: Callable[..., Any]) -> Callable[..., Any]:
    """Count a failed run as completed, for all that its last event says."""

    def made(self: Run, status: Any = None, *more: AgentEvent) -> None:  # noqa: ANN401  # as the right one
        right(self, "completed" if status == "error" else status, *more)

    return made


def _caught_in_vain(right: Callable[..., Any]) -> Callable[..., Any]:
    """End the run with an error that a wrapper has caught."""

    async def made(self: Any, ctx: Context, streaming: bool) -> None:  # noqa: ANN401  # as the right one
        await right(self, ctx, streaming)
        scope: CallScope = self.scope
        if scope.faults and self.error is None:
            error = next(iter(scope.faults.values()))[0]
            if isinstance(error, Exception):
                self.error = ToolError(self.call.name, self.call.id, error)

    return made


def _bare(right: Callable[..., ToolError]) -> Callable[..., Exception]:
    """Let a tool's error out as the tool raised it."""
    del right

    def made(_: str, __: str, cause: Exception) -> Exception:
        return cause

    return made


def _one_more(right: Callable[..., bool]) -> Callable[..., bool]:
    """Check the limit after the iteration that goes beyond it."""

    def made(self: Any) -> bool:  # noqa: ANN401  # a Loop
        self.iterations -= 1
        going: bool = right(self)
        self.iterations += 1
        return going

    return made


def _null_as_none(right: Callable[..., None]) -> Callable[..., None]:
    """Take null for a list without tools."""

    def made(self: Planner, name: Any, config: AgentConfig, fold: Any) -> None:  # noqa: ANN401  # as the right one
        if getattr(config, "tools", None) is None:
            config.tools = []
        right(self, name, config, fold)

    return made


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        id="pipeline-goes-on",
        about="Hooks after one that raised still run; the error is raised at the end.",
        violates=("ERR-001",),
        wrong=patched("goes on", Patch(Pipeline, "rewrite", _goes_on)),
    ),
    Mutant(
        id="hook-error-swallowed",
        about="An error of a model hook ends its pipeline, and nobody is told.",
        violates=("ERR-001", "ERR-002"),
        wrong=patched("swallowed", Patch(Pipeline, "rewrite", _swallowed)),
    ),
    Mutant(
        id="hook-error-wrapped-twice",
        about="An error of a hook comes out wrapped twice.",
        violates=("ERR-002",),
        wrong=patched("twice", Patch(chain, "hook_error", _wrapped_twice)),
    ),
    Mutant(
        id="hook-error-anonymous",
        about="An error of a hook does not name its handler.",
        violates=("ERR-002",),
        wrong=patched("anonymous", Patch(chain, "hook_error", _anonymous)),
    ),
    Mutant(
        id="build-error-swallowed",
        about="An agent is built although a before_agent raised.",
        violates=("ERR-003",),
        wrong=patched("built anyway", Patch(Planner, "enter", _skipped)),
    ),
    Mutant(
        id="run-start-error-wrapped-twice",
        about="An error of before_agent comes out wrapped twice.",
        violates=("ERR-004",),
        wrong=patched("start twice", Patch(plan, "HookError", _wrapped_twice)),
        under="eino-0.9",
    ),
    Mutant(
        id="model-error-wrapped-twice",
        about="An error of the model comes out wrapped twice.",
        violates=("ERR-005",),
        wrong=patched(
            "model twice", Patch(model_calls, "model_error", _model_wrapped_twice)
        ),
    ),
    Mutant(
        id="model-asked-again",
        about="A model that failed is asked once more.",
        violates=("ERR-006",),
        wrong=patched("asked again", Patch(ModelOnion, "bare", _asked_again)),
    ),
    Mutant(
        id="tool-error-wrapped-twice",
        about="An error of a tool comes out wrapped twice.",
        violates=("ERR-007",),
        wrong=patched(
            "tool twice", Patch(tool_calls, "tool_error", _tool_wrapped_twice)
        ),
    ),
    Mutant(
        id="failing-call-forgotten",
        about="A call that failed has an empty result, and the run goes on.",
        violates=("ERR-007", "ERR-008"),
        wrong=patched("forgotten", Patch(CallBatch, "error", _empty_result)),
    ),
    Mutant(
        id="errors-translated",
        about="A wrapper that catches gets an exception of the chain's own.",
        violates=("ERR-009",),
        wrong=patched("translated", Patch(Onion, "layer", _translated)),
    ),
    Mutant(
        id="errors-as-text",
        about="What a tool raised is a result before any wrapper could catch it.",
        violates=("ERR-010",),
        wrong=patched("as text", Patch(tool_onion, "invoke_tool", _as_text)),
    ),
    Mutant(
        id="factory-error-of-tool",
        about="A wrapper that cannot be made is told as an error of the tool.",
        violates=("ERR-011",),
        wrong=patched("the tool's", Patch(ToolCallRun, "leaving", _all_tool_errors)),
    ),
    Mutant(
        id="failed-run-completed",
        about="A run that ended with an error has the status of one that completed.",
        violates=("ERR-012",),
        wrong=patched("completed", Patch(Run, "_end", _told_twice)),
    ),
    Mutant(
        id="caught-in-vain",
        about="An error ends the run although a wrapper caught it.",
        violates=("ERR-013",),
        wrong=patched("in vain", Patch(ToolCallRun, "open", _caught_in_vain)),
    ),
    Mutant(
        id="tool-error-bare",
        about="What a tool raised comes out as it is, naming neither tool nor call.",
        violates=("ERR-014",),
        wrong=patched("bare", Patch(tool_calls, "tool_error", _bare)),
    ),
    Mutant(
        id="one-iteration-more",
        about="A run has one iteration more than max_iterations.",
        violates=("ERR-015",),
        wrong=patched("one more", Patch(Loop, "next_iteration", _one_more)),
    ),
    Mutant(
        id="null-taken-for-no-tools",
        about="A handler that leaves null leaves no tools, and nobody is told.",
        violates=("ERR-016",),
        wrong=patched("null", Patch(Planner, "settle", _null_as_none)),
    ),
    Mutant(
        id="wrapper-error-wrapped-twice",
        about="What a wrapper around tool or model raised comes out wrapped twice.",
        violates=("ERR-023", "ERR-024"),
        wrong=patched("wrapper twice", Patch(chain, "wrapper_error", _wrapped_twice)),
    ),
    *WRAPPER_MUTANTS,
)
"""Engines from which errors come out otherwise."""
