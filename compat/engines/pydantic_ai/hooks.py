"""Our handlers as capabilities of pydantic-ai: a ``Hooks`` for just those of each.

A history is rewritten in place, in ``ctx.messages``, which is how the framework keeps
an edit. What follows a response is the next node, so what hooks behind the model leave
is handed on as the node that it makes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from pydantic_ai import CallToolsNode, ModelRequestNode, RunContext
from pydantic_ai.capabilities import AbstractCapability, Hooks
from pydantic_ai.messages import (
    InstructionPart,
    ModelRequest,
    ModelResponse,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.result import FinalResult
from pydantic_graph import End

from compat.engines.pydantic_ai.values import (
    NOTHING,
    Deps,
    Written,
    infos,
    our_answer,
    ours,
    system,
    their_answer,
    theirs,
    written,
)
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.hooks import AgentConfig
from refengine.messages import Message
from refengine.model import ModelRequest as OurRequest
from refengine.testing.blaming import AsyncHook
from refengine.testing.doors import at_call
from refengine.tools import (
    NO_OPTIONS,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
    as_meta,
    normalise,
)

Ctx = RunContext[Deps]
Node = Any
"""A node of the framework's graph, or its end."""


@dataclass(frozen=True, slots=True)
class Around:
    """What hooks are shown beside a history: the configuration, and its tools."""

    config: ChatModelAgentConfig
    tools: Mapping[str, ToolInfo]


def hooks_of(found: Mapping[str, AsyncHook], around: Around) -> AbstractCapability[Any]:
    """Return a capability with these hooks and no other."""
    made: dict[str, Any] = {}
    for hook, call in found.items():
        name, act = _PLACES[hook]
        made[name] = partial(act, call, around)
    return Hooks(**made)


async def _before_agent(hook: AsyncHook, around: Around, ctx: Ctx) -> None:
    metas = normalise(as_meta(tool) for tool in around.config.tools_config.tools)
    run = ours(ctx.messages), NO_OPTIONS
    await hook(Context(), AgentConfig(around.config.instruction, list(metas), run))


async def _after_agent(
    hook: AsyncHook,
    around: Around,
    ctx: Ctx,
    *,
    result: Any,  # noqa: ANN401  # as the framework has it
) -> Any:  # noqa: ANN401  # as the framework has it
    del around
    await hook(ctx.deps.ctx, ours(result.all_messages()))
    return result


async def _before_model(hook: AsyncHook, around: Around, ctx: Ctx, *, node: Node) -> Node:
    del around
    if not isinstance(node, ModelRequestNode):
        return node
    given = ours([*ctx.messages, node.request])
    _, left = await hook(ctx.deps.ctx, given)
    if tuple(left) != given:
        made = theirs(left)
        asked = made.pop() if made and isinstance(made[-1], ModelRequest) else None
        ctx.messages[:] = made
        node.request = asked or ModelRequest([UserPromptPart(NOTHING)])
    return node


async def _after_model(
    hook: AsyncHook, around: Around, ctx: Ctx, *, node: Node, result: Node
) -> Node:
    del around
    if not isinstance(node, ModelRequestNode):
        return result
    given = ours(ctx.messages)
    _, left = await hook(ctx.deps.ctx, given)
    if tuple(left) == given:
        return result
    ctx.messages[:] = made = theirs(left)
    if made and isinstance(made[-1], ModelResponse):
        return CallToolsNode(made[-1])
    return End(FinalResult(None))


async def _wrap_model(
    hook: AsyncHook,
    around: Around,
    ctx: Ctx,
    *,
    request_context: ModelRequestContext,
    handler: Callable[[ModelRequestContext], Awaitable[ModelResponse]],
) -> ModelResponse:
    parameters = request_context.model_request_parameters
    shown = infos(around.tools, parameters.declared_function_tools)
    messages = (*system(parameters), *ours(request_context.messages))
    given = OurRequest(messages, shown, NO_OPTIONS)

    async def call(_: Context, passed: OurRequest) -> Message:
        asked = (tuple(passed.messages), tuple(passed.tools))
        same = asked == (given.messages, given.tools)
        changed = request_context if same else _asking(request_context, passed)
        return our_answer(await handler(changed))

    return their_answer(await hook(ctx.deps.ctx, given, call))


def _asking(asked: ModelRequestContext, passed: OurRequest) -> ModelRequestContext:
    """Return a request with what a wrapper of ours asks for."""
    messages, parts = tuple(passed.messages), list[InstructionPart]()
    if system(asked.model_request_parameters) and messages[:1]:
        if messages[0].role == "system":
            parts = [InstructionPart(messages[0].content)]
            messages = messages[1:]
    known = {each.name: each for each in asked.model_request_parameters.function_tools}
    parameters = replace(
        asked.model_request_parameters,
        instruction_parts=parts,
        function_tools=[known[info.name] for info in passed.tools],
    )
    made = theirs(messages)
    if not made or not isinstance(made[-1], ModelRequest):
        made.append(ModelRequest([UserPromptPart(NOTHING)]))
    return replace(asked, messages=made, model_request_parameters=parameters)


async def _wrap_tool(
    hook: AsyncHook,
    around: Around,
    ctx: Ctx,
    *,
    call: Any,  # noqa: ANN401  # as the framework has it
    tool_def: object,
    args: dict[str, Any],
    handler: Callable[[dict[str, Any]], Awaitable[Any]],
) -> str:
    del around, tool_def
    text = text_of(call, args)

    async def rest(_: Context, value: ToolCallInput) -> ToolCallResult:
        same = value.arguments == text
        given = args if same else Written(value.arguments)
        return ToolCallResult(str(await handler(given)))

    value = ToolCallInput(call.tool_name, text, call.tool_call_id, NO_OPTIONS)
    here = at_call(ctx.deps.ctx, ctx.deps.ctx, call.tool_call_id)
    result = await hook(here, value, rest)
    return cast("str", result.result)


def text_of(call: Any, args: Mapping[str, Any]) -> str:  # noqa: ANN401  # a call of the framework's
    """Return a call's arguments as a wrapper wrote them, or else the model."""
    return args.text if isinstance(args, Written) else written(call.args)


_PLACES: Final[Mapping[str, tuple[str, Callable[..., Any]]]] = {
    "before_agent": ("before_run", _before_agent),
    "before_model_rewrite_history": ("before_node_run", _before_model),
    "after_model_rewrite_history": ("after_node_run", _after_model),
    "after_agent": ("after_run", _after_agent),
    "wrap_model_call": ("model_request", _wrap_model),
    "wrap_invokable_tool_call": ("tool_execute", _wrap_tool),
}

