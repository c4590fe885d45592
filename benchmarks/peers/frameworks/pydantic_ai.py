"""pydantic-ai: capabilities, one a handler, and one ``Hooks`` with all as functions.

A run is one ``agent.run`` on a new history. Its instrumentation is off, as it is unless
somebody asks for it.

Each hook stands in a class that does nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability, Hooks
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)
from pydantic_ai.tools import Tool, ToolDefinition
from pydantic_ai.usage import RequestUsage

from benchmarks.measure import Work
from benchmarks.parts import CALL, INSTRUCTION
from benchmarks.peers.peer import (
    ANSWER,
    BEFORE_MODEL,
    QUESTION,
    WRAP_MODEL,
    WRAP_TOOL,
    Build,
    PeerCounts,
    Variant,
    counted,
    echo,
    watched,
)

BeforeFunction: TypeAlias = Callable[
    [RunContext[Any], ModelRequestContext], Awaitable[ModelRequestContext]
]


class BeforeModelCapability(AbstractCapability[Any]):
    """Changes nothing before the model."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Return what was given."""
        del ctx
        return request_context


class WrapModelCapability(AbstractCapability[Any]):
    """Hands a model call on."""

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        handler: Callable[..., Any],
    ) -> ModelResponse:
        """Call the model."""
        del ctx
        response: ModelResponse = await handler(request_context)
        return response


class WrapToolCapability(AbstractCapability[Any]):
    """Hands a tool call on."""

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[..., Any],
    ) -> Any:  # noqa: ANN401  # whatever the tool gives
        """Call the tool."""
        del ctx, call, tool_def
        return await handler(args)


async def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Ask for the tool, and answer once it has spoken.

    It tells a usage as real models do: the framework would count words without one.
    """
    del info
    usage = RequestUsage(input_tokens=1, output_tokens=1)
    if any(isinstance(each, ToolReturnPart) for each in messages[-1].parts):
        return ModelResponse([TextPart(ANSWER)], usage=usage)
    call = ToolCallPart(CALL.name, CALL.arguments, CALL.id)
    return ModelResponse([call], usage=usage)


def run_of(
    seen: PeerCounts | None, capabilities: Sequence[AbstractCapability[Any]]
) -> Work:
    """Build an agent and return one run of it, which begins with no history."""
    agent = Agent(
        FunctionModel(counted(say, seen, "model"), model_name="scripted"),
        instructions=INSTRUCTION,
        tools=[Tool(counted(echo, seen, "tool"), takes_ctx=False)],
        capabilities=capabilities,
    )

    async def work() -> str:
        return (await agent.run(QUESTION)).output

    return work


def streamed(n: int, seen: PeerCounts | None) -> Work:
    """Build a run whose answer comes in ``n`` chunks, and is read to its end."""

    async def say_on(
        messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        if seen is not None:
            seen.model += 1
        part = (await say(messages, info)).parts[0]
        if isinstance(part, ToolCallPart):
            yield {
                0: DeltaToolCall(
                    name=part.tool_name,
                    json_args=CALL.arguments,
                    tool_call_id=part.tool_call_id,
                )
            }
            return
        yield ANSWER
        for _ in range(n - 1):
            yield " "

    agent = Agent(
        FunctionModel(stream_function=say_on, model_name="scripted"),
        instructions=INSTRUCTION,
        tools=[Tool(counted(echo, seen, "tool"), takes_ctx=False)],
    )

    async def work() -> str:
        answer = ""
        async with agent.run_stream(QUESTION) as run:
            async for text in run.stream_text(delta=True, debounce_by=None):
                answer += text
                if seen is not None:
                    seen.hooks += 1
        return answer.strip()

    return work


def each_in_a(kind: Callable[[], AbstractCapability[Any]], hook: str) -> Build:
    """Return what builds a run with a capability for each handler."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        return run_of(seen, [watched(kind(), hook, seen) for _ in range(n)])

    return build


def same_request() -> BeforeFunction:
    """Return a function of its own that changes nothing before the model."""

    async def keep(
        ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        del ctx
        return request_context

    return keep


def all_in_one(n: int, seen: PeerCounts | None) -> Work:
    """Build a run with one ``Hooks`` that has a function for each handler."""
    hooks = Hooks[Any]()
    for _ in range(n):
        hooks.on.before_model_request(counted(same_request(), seen, "hooks"))
    return run_of(seen, [hooks])


BEFORE: Final = "before_model_request"
MODEL: Final = "wrap_model_request"
TOOL: Final = "wrap_tool_execute"
VARIANTS: Final = (
    Variant(BEFORE, BEFORE_MODEL, each_in_a(BeforeModelCapability, BEFORE)),
    Variant(f"Hooks.on.{BEFORE}", BEFORE_MODEL, all_in_one),
    Variant(MODEL, WRAP_MODEL, each_in_a(WrapModelCapability, MODEL)),
    Variant(TOOL, WRAP_TOOL, each_in_a(WrapToolCapability, TOOL)),
)
STREAMS: Final = (Variant("run_stream", "", streamed),)
