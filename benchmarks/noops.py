"""Extensions that do nothing, one class a hook: what is measured is what carries them.

They do as little as can be done, because work of their own would hide it. Handlers are
told apart by their names, as those of a real agent are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from benchmarks.parts import Count
from refengine import (
    AgentConfig,
    ChatModelAgentState,
    Context,
    Endpoint,
    Message,
    ModelEndpoint,
    ModelRequest,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
)
from refengine.model import MessageStream


class IdleHandler:
    """A handler with a name of its own: that of its class, and a number."""

    def __init__(self, at: int) -> None:
        kind = re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()
        self.name = f"{kind}-{at}"


class Rewriter(IdleHandler):
    """A handler that hands the history back as it got it."""

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return what was given."""
        return ctx, messages


class AfterRewriter(IdleHandler):
    """A handler that hands the history back as it got it, after the model."""

    async def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return what was given."""
        return ctx, messages


class ToolWrapper(IdleHandler):
    """A handler that hands a tool call on."""

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Call the tool."""
        return await next(ctx, input)


class ModelWrapper(IdleHandler):
    """A handler that hands a model call on."""

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> Message | MessageStream:
        """Call the model."""
        return await next(ctx, request)


class StreamWrapper(IdleHandler):
    """A handler that acts on streaming tools only, of which there are none."""

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Call the tool."""
        return await next(ctx, input)


class Preparer(IdleHandler):
    """A handler that acts when the agent is built, and in no run."""

    async def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Change nothing."""
        del config
        return ctx


class Finisher(IdleHandler):
    """A handler that looks at a run that succeeded."""

    async def after_agent(self, ctx: Context, messages: Sequence[Message]) -> Context:
        """Change nothing."""
        del messages
        return ctx


class PlainRewriter(IdleHandler):
    """As Rewriter, by a plain function."""

    def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return what was given."""
        return ctx, messages


class PlainAfterRewriter(IdleHandler):
    """As AfterRewriter, by a plain function."""

    def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return what was given."""
        return ctx, messages


class PlainPreparer(IdleHandler):
    """As Preparer, by a plain function."""

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Change nothing."""
        del config
        return ctx


class PlainFinisher(IdleHandler):
    """As Finisher, by a plain function."""

    def after_agent(self, ctx: Context, messages: Sequence[Message]) -> Context:
        """Change nothing."""
        del messages
        return ctx


async def leave(ctx: Context, state: ChatModelAgentState) -> None:
    """Be a callback of a struct middleware that leaves the state as it is."""
    del ctx, state


def wrapping(count: Count, key: str) -> Callable[[Endpoint], Endpoint]:
    """Return a factory of a struct middleware whose layer hands a tool call on."""

    def factory(inner: Endpoint) -> Endpoint:
        async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
            return await inner(ctx, input)

        return count(call, key)

    return factory
