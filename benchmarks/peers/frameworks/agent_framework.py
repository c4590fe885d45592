"""Microsoft's agent-framework: its three kinds of middleware.

A run is one ``agent.run`` without a session, so on a new history. The framework's own
instrumentation is switched off for the whole process: it is on from the start.

Each kind is a class that calls on, and not a function: the framework puts a frame of
its own around a function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from agent_framework import (
    Agent,
    AgentContext,
    AgentMiddleware,
    BaseChatClient,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    FunctionMiddleware,
    Message,
    tool,
)
from agent_framework.observability import ChatTelemetryLayer, disable_instrumentation

from benchmarks.measure import Work
from benchmarks.parts import CALL, INSTRUCTION
from benchmarks.peers.peer import (
    ANSWER,
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

HOOK: Final = "process"


class WrapAgent(AgentMiddleware):
    """Hands a run on."""

    async def process(
        self, context: AgentContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Run the agent."""
        del context
        await call_next()


class WrapChat(ChatMiddleware):
    """Hands a model call on."""

    async def process(
        self, context: ChatContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Call the model."""
        del context
        await call_next()


class WrapFunction(FunctionMiddleware):
    """Hands a tool call on."""

    async def process(
        self,
        context: FunctionInvocationContext,
        call_next: Callable[[], Awaitable[None]],
    ) -> None:
        """Call the tool."""
        del context
        await call_next()


async def say(messages: Sequence[Message]) -> ChatResponse:
    """Ask for the tool, or answer once it has spoken."""
    if messages[-1].role == "tool":
        return ChatResponse(messages=Message("assistant", [ANSWER]))
    call = Content.from_function_call(CALL.id, CALL.name, arguments=CALL.arguments)
    return ChatResponse(messages=Message("assistant", [call]))


class ScriptedClient(
    FunctionInvocationLayer[Any],
    ChatMiddlewareLayer[Any],
    ChatTelemetryLayer[Any],
    BaseChatClient[Any],
):
    """A model in the layers, and in their order, that the vendors' clients have."""

    def __init__(self, seen: PeerCounts | None) -> None:
        super().__init__()
        self._say = counted(say, seen, "model")

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,  # noqa: ANN401  # of which it needs nothing
    ) -> Awaitable[ChatResponse]:
        del stream, options, kwargs
        return self._say(messages)


def wrapped(
    kind: Callable[[], AgentMiddleware | ChatMiddleware | FunctionMiddleware],
) -> Build:
    """Return what builds a run in that many middlewares of a kind."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        agent = Agent(
            ScriptedClient(seen),
            INSTRUCTION,
            tools=[tool(counted(echo, seen, "tool"))],
            middleware=[watched(kind(), HOOK, seen) for _ in range(n)],
        )

        async def work() -> str:
            return (await agent.run(QUESTION)).text

        return work

    return build


disable_instrumentation()
VARIANTS: Final = (
    # No hook of ours wraps a whole run: ``after_agent`` is the one that is called once
    # in it as well, on its way out.
    Variant("AgentMiddleware", "after_agent", wrapped(WrapAgent)),
    Variant("ChatMiddleware", WRAP_MODEL, wrapped(WrapChat)),
    Variant("FunctionMiddleware", WRAP_TOOL, wrapped(WrapFunction)),
)
