"""Our handlers as capabilities of pydantic-ai: a ``Hooks`` for just those of each.

A history is rewritten in place, in ``ctx.messages``, which is how the framework keeps
an edit. What follows a response is the next node, so what hooks behind the model leave
is handed on as the node that it makes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast

from pydantic_ai import CallToolsNode, ModelRequestNode, RunContext
from pydantic_ai.capabilities import AbstractCapability, Hooks
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.result import FinalResult
from pydantic_graph import End

from compat.engines.frame import Shown
from compat.engines.pydantic_ai.values import NOTHING, Deps, Written, infos
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.messages import Message, ToolCall
from refengine.model import ModelRequest as OurRequest
from refengine.testing.blaming import AsyncHook
from refengine.testing.doors import at_call
from refengine.testing.pydantic_ai.messages import (
    our_answer,
    ours,
    their_answer,
    theirs,
    written,
)
from refengine.testing.pydantic_ai.model import system
from refengine.tools import NO_OPTIONS, ToolCallInput, ToolCallResult, ToolInfo

Ctx = RunContext[Deps]
Node = Any
"""A node of the framework's graph, or its end."""


@dataclass(frozen=True, slots=True)
class Around:
    """What hooks are shown beside a history: the configuration, and its tools."""

    config: ChatModelAgentConfig
    tools: Mapping[str, ToolInfo]


@dataclass(frozen=True, slots=True)
class _Hook:
    """One hook of a handler, in an agent."""

    call: AsyncHook
    where: str
    around: Around


def hooks_of(
    owner: str, found: Mapping[str, AsyncHook], around: Around
) -> AbstractCapability[Any]:
    """Return a capability with these hooks and no other."""
    made: dict[str, Any] = {}
    for name, call in found.items():
        place, act = _PLACES[name]
        hook = _Hook(call, f"{name} of handler {owner!r}", around)
        made[place] = partial(act, hook)
    return Hooks(**made)


async def _before_agent(hook: _Hook, ctx: Ctx) -> None:
    shown = Shown(hook.around.config, (ours(ctx.messages), NO_OPTIONS))
    left = await hook.call(Context(), shown.config)
    ctx.deps.unchanged(left, hook.where)
    shown.as_given(ctx.deps, hook.where)


async def _after_agent(
    hook: _Hook,
    ctx: Ctx,
    *,
    result: Any,  # noqa: ANN401  # as the framework has it
) -> Any:  # noqa: ANN401  # as the framework has it
    left = await hook.call(ctx.deps.ctx, ours(result.all_messages()))
    ctx.deps.unchanged(left, hook.where)
    return result


async def _rewritten(
    hook: _Hook, ctx: Ctx, given: tuple[Message, ...]
) -> list[ModelMessage] | None:
    """Return the history that a hook leaves; None if it is the same."""
    left_ctx, left = await hook.call(ctx.deps.ctx, given)
    ctx.deps.unchanged(left_ctx, hook.where)
    return None if tuple(left) == given else theirs(left)


def asks_the_model(node: Node) -> bool:
    """Tell whether it is the node of a model request."""
    return isinstance(node, ModelRequestNode)


async def _before_model(hook: _Hook, ctx: Ctx, *, node: Node) -> Node:
    if not asks_the_model(node):
        return node
    made = await _rewritten(hook, ctx, ours([*ctx.messages, node.request]))
    if made is not None:
        node.request = request_at_the_end_of(made)
        ctx.messages[:] = made[:-1]
    return node


def request_at_the_end_of(messages: list[ModelMessage]) -> ModelRequest:
    """Return the request that ends a history; one of no content is put there."""
    if messages and isinstance(messages[-1], ModelRequest):
        return messages[-1]
    messages.append(ModelRequest([UserPromptPart(NOTHING)]))
    return cast("ModelRequest", messages[-1])


async def _after_model(hook: _Hook, ctx: Ctx, *, node: Node, result: Node) -> Node:
    if not asks_the_model(node):
        return result
    made = await _rewritten(hook, ctx, ours(ctx.messages))
    if made is None:
        return result
    ctx.messages[:] = made
    if made and isinstance(made[-1], ModelResponse):
        return cast("Node", CallToolsNode(made[-1]))
    return End(FinalResult(None))


async def _wrap_model(
    hook: _Hook,
    ctx: Ctx,
    *,
    request_context: ModelRequestContext,
    handler: Callable[[ModelRequestContext], Awaitable[ModelResponse]],
) -> ModelResponse:
    parameters = request_context.model_request_parameters
    shown = infos(hook.around.tools, parameters.declared_function_tools)
    messages = (*system(parameters), *ours(request_context.messages))
    given = OurRequest(messages, shown, NO_OPTIONS)

    async def call(left: Context, passed: OurRequest) -> Message:
        ctx.deps.unchanged(left, hook.where)
        asked = (tuple(passed.messages), tuple(passed.tools))
        same = asked == (given.messages, given.tools)
        changed = (
            request_context if same else _asking(hook, ctx, request_context, passed)
        )
        return our_answer(await handler(changed))

    return their_answer(await hook.call(ctx.deps.ctx, given, call))


def _asking(
    hook: _Hook, ctx: Ctx, asked: ModelRequestContext, passed: OurRequest
) -> ModelRequestContext:
    """Return a request with what a wrapper of ours asks for."""
    messages, parts = tuple(passed.messages), list[InstructionPart]()
    began = system(asked.model_request_parameters)
    if began and messages and messages[0].role == "system":
        parts, messages = [InstructionPart(messages[0].content)], messages[1:]
    known = {each.name: each for each in asked.model_request_parameters.function_tools}
    if not known.keys() >= {info.name for info in passed.tools}:
        ctx.deps.refuse("edited_config", hook.where)
    parameters = replace(
        asked.model_request_parameters,
        instruction_parts=parts,
        function_tools=[known[info.name] for info in passed.tools],
    )
    made = theirs(messages)
    request_at_the_end_of(made)
    return replace(asked, messages=made, model_request_parameters=parameters)


async def _wrap_tool(
    hook: _Hook,
    ctx: Ctx,
    *,
    call: ToolCallPart,
    tool_def: object,
    args: dict[str, Any],
    handler: Callable[[dict[str, Any]], Awaitable[Any]],
) -> str:
    del tool_def
    text = text_of(call, args)

    async def rest(left: Context, value: ToolCallInput) -> ToolCallResult:
        ctx.deps.unchanged(left, hook.where)
        given = args
        if value.arguments != text:
            passed = ToolCall(call.tool_call_id, call.tool_name, value.arguments)
            given = Written(value.arguments, ctx.deps.parsed(passed))
        return ToolCallResult(str(await handler(given)))

    value = ToolCallInput(call.tool_name, text, call.tool_call_id, NO_OPTIONS)
    here = at_call(ctx.deps.ctx, ctx.deps.ctx, call.tool_call_id)
    result: ToolCallResult = await hook.call(here, value, rest)
    return result.result


def text_of(call: ToolCallPart, args: Mapping[str, Any]) -> str:
    """Return a call's arguments as a wrapper wrote them, or else the model."""
    return args.text if isinstance(args, Written) else written(call.args)


_PLACES: Final[Mapping[str, tuple[str, Callable[..., Any]]]] = MappingProxyType(
    {
        "before_agent": ("before_run", _before_agent),
        "before_model_rewrite_history": ("before_node_run", _before_model),
        "after_model_rewrite_history": ("after_node_run", _after_model),
        "after_agent": ("after_run", _after_agent),
        "wrap_model_call": ("model_request", _wrap_model),
        "wrap_invokable_tool_call": ("tool_execute", _wrap_tool),
    }
)
