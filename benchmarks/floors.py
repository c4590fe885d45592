"""The floors: what one would write by hand, for one purpose and without an engine.

No floor checks a result, names who raised, survives a deep stack or tells events. They
are what the engine's own cost is measured against, so each makes the calls that the
engine makes, on the same objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.noops import ModelWrapper, Rewriter, ToolWrapper
from benchmarks.parts import CannedModel, EchoTool
from refengine import (
    Context,
    Endpoint,
    Message,
    ModelEndpoint,
    ModelRequest,
    Options,
    ToolCallInput,
    ToolCallResult,
)
from refengine.model import MessageStream


async def await_hooks(
    handlers: Sequence[Rewriter], ctx: Context, messages: Sequence[Message]
) -> tuple[Context, Sequence[Message]]:
    """Send a history through the handlers: a bare loop of awaits."""
    for each in handlers:
        ctx, messages = await each.before_model_rewrite_history(ctx, messages)
    return ctx, messages


def tool_onion(handlers: Sequence[ToolWrapper], tool: EchoTool) -> Endpoint:
    """Nest the handlers around the tool, one function a handler."""

    async def innermost(ctx: Context, value: ToolCallInput) -> ToolCallResult:
        return ToolCallResult(
            await tool.invoke(ctx, value.arguments, value.call_options)
        )

    call: Endpoint = innermost
    for each in reversed(handlers):
        call = _around_tool(each, call)
    return call


def thin_tool_onion(handlers: Sequence[ToolWrapper], tool: EchoTool) -> Endpoint:
    """Nest the handlers without a coroutine of the onion's own.

    The least that Python allows, and less than a hand-written onion that does anything
    at all between two handlers.
    """
    call = tool_onion((), tool)
    for each in reversed(handlers):
        call = _thin_around_tool(each, call)
    return call


def model_onion(handlers: Sequence[ModelWrapper], model: CannedModel) -> ModelEndpoint:
    """Nest the handlers around the model, one function a handler."""

    async def innermost(ctx: Context, request: ModelRequest) -> Message:
        return await model.invoke(ctx, request.messages, request.tools, request.options)

    call: ModelEndpoint = innermost
    for each in reversed(handlers):
        call = _around_model(each, call)
    return call


async def run_by_hand(
    model: CannedModel,
    tools: Mapping[str, EchoTool],
    instruction: str,
    messages: Sequence[Message],
    options: Options,
) -> Message:
    """Run until the model answers: model, tools, model again."""
    ctx = Context()
    shown = [tool.info for tool in tools.values()]
    history = [Message("system", instruction), *messages]
    while True:
        answer = await model.invoke(ctx, history, shown, options)
        history.append(answer)
        if not answer.tool_calls:
            return answer
        for call in answer.tool_calls:
            tool = tools[call.name]
            text = await tool.invoke(ctx, call.arguments, options)
            result = Message("tool", text, tool_call_id=call.id, name=call.name)
            history.append(result)


def _around_tool(handler: ToolWrapper, inner: Endpoint) -> Endpoint:
    async def call(ctx: Context, value: ToolCallInput) -> ToolCallResult:
        return await handler.wrap_invokable_tool_call(ctx, value, inner)

    return call


def _thin_around_tool(handler: ToolWrapper, inner: Endpoint) -> Endpoint:
    wrap = handler.wrap_invokable_tool_call
    return lambda ctx, value: wrap(ctx, value, inner)


def _around_model(handler: ModelWrapper, inner: ModelEndpoint) -> ModelEndpoint:
    async def call(ctx: Context, request: ModelRequest) -> Message | MessageStream:
        return await handler.wrap_model_call(ctx, request, inner)

    return call
