"""Engines that are wrong about wrappers that raise when they are called (ERR)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine.chain import CallScope
from refengine.context import Context
from refengine.errors import HookError, ModelError, ToolError
from refengine.messages import Message
from refengine.model_calls import ModelCall, ModelOnion
from refengine.testing.wrapping import FactoryError
from refengine.tool_calls import ToolCallRun


def _wrapper_as_text(right: Callable[..., Any]) -> Callable[..., Any]:
    """Make a result of what a wrapper raised, once it has left the onion."""

    async def made(self: ToolCallRun, ctx: Context, streaming: bool) -> None:
        await right(self, ctx, streaming)
        if isinstance(self.error, HookError):
            self.text, self.error = f"error: {self.error.cause}", None

    return made


def _wrapper_as_tool(right: Callable[..., Exception]) -> Callable[..., Exception]:
    """Take what a wrapper raised when it was called for the tool's own error."""

    def made(self: ToolCallRun, error: Exception) -> Exception:
        found = right(self, error)
        if isinstance(found, HookError) and not isinstance(error, FactoryError):
            return ToolError(self.call.name, self.call.id, error)
        return found

    return made


def _wrapper_as_answer(right: Callable[..., Any]) -> Callable[..., Any]:
    """Take what a wrapper around the model raised for an answer."""

    async def made(self: ModelCall, ctx: Context) -> Message:
        answer: Message
        try:
            answer = await right(self, ctx)
        except HookError as error:
            answer = Message("assistant", f"error: {error.cause}")
        return answer

    return made


def _wrapper_as_model(right: Callable[..., Exception]) -> Callable[..., Exception]:
    """Take what a wrapper around the model raised for the model's own error."""

    def made(self: ModelOnion, error: Exception, scope: CallScope) -> Exception:
        found = right(self, error, scope)
        return ModelError(error) if isinstance(found, HookError) else found

    return made


def _wrapper_again(right: Callable[..., Any]) -> Callable[..., Any]:
    """Go through the onion around the model once more after a wrapper raised."""

    async def made(self: ModelCall, ctx: Context) -> Any:  # noqa: ANN401  # as the right one
        try:
            return await right(self, ctx)
        except HookError:
            return await right(self, ctx)

    return made


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        id="wrapper-error-as-text",
        about="What a wrapper around a tool raised is the result of the call.",
        violates=("ERR-023",),
        wrong=patched("wrapper text", Patch(ToolCallRun, "open", _wrapper_as_text)),
    ),
    Mutant(
        id="wrapper-error-of-tool",
        about="What a wrapper raised when it was called is told as the tool's error.",
        violates=("ERR-023",),
        wrong=patched("wrapper tool", Patch(ToolCallRun, "leaving", _wrapper_as_tool)),
    ),
    Mutant(
        id="wrapper-error-of-model",
        about="What a wrapper around the model raised is told as the model's error.",
        violates=("ERR-024",),
        wrong=patched("wrapper model", Patch(ModelOnion, "leaving", _wrapper_as_model)),
    ),
    Mutant(
        id="wrapper-error-as-answer",
        about="What a wrapper around the model raised is the answer of an invoked run.",
        violates=("ERR-024", "ERR-025"),
        wrong=patched("wrapper answer", Patch(ModelCall, "invoke", _wrapper_as_answer)),
    ),
    Mutant(
        id="model-wrapper-again",
        about="A wrapper around the model that raised is called once more.",
        violates=("ERR-025",),
        wrong=patched(
            "wrapper again",
            Patch(ModelCall, "invoke", _wrapper_again),
            Patch(ModelCall, "stream", _wrapper_again),
        ),
    ),
)
"""Engines that take what a wrapper raised for something else."""
