"""LangChain: the middleware of ``create_agent``.

A run is one call of the compiled graph without a checkpointer. The wraps are measured
by both ways of calling it, since only the sync one grows the stack with each layer.

Each hook stands in a class that does nothing else. Every handler has a name of its own,
because the framework refuses two of one name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessageChunk

from benchmarks.measure import Work
from benchmarks.peers.frameworks.graphs import (
    ScriptedChatModel,
    answer_of,
    echo_tool,
    question,
    scripted_model,
    streamed_model,
)
from benchmarks.peers.peer import (
    AFTER_MODEL,
    BEFORE_MODEL,
    WRAP_MODEL,
    WRAP_TOOL,
    Build,
    PeerCounts,
    Variant,
)


class UniquelyNamed(AgentMiddleware[Any, Any]):
    """A middleware with a name of its own."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._name = f"{type(self).__name__}-{at}"

    @property
    def name(self) -> str:
        """Return what tells it from its equals."""
        return self._name


class BeforeModelMiddleware(UniquelyNamed):
    """Changes nothing before the model."""

    async def abefore_model(self, state: Any, runtime: Any) -> None:  # noqa: ANN401  # unused
        """Return no update."""


class AfterModel(UniquelyNamed):
    """Changes nothing after the model."""

    async def aafter_model(self, state: Any, runtime: Any) -> None:  # noqa: ANN401  # unused
        """Return no update."""


class WrapModelMiddleware(UniquelyNamed):
    """Hands a model call on."""

    async def awrap_model_call(
        self,
        request: Any,  # noqa: ANN401  # handed on
        handler: Callable[[Any], Awaitable[Any]],
    ) -> Any:  # noqa: ANN401  # handed on
        """Call the model."""
        return await handler(request)


class WrapToolMiddleware(UniquelyNamed):
    """Hands a tool call on."""

    async def awrap_tool_call(
        self,
        request: Any,  # noqa: ANN401  # handed on
        handler: Callable[[Any], Awaitable[Any]],
    ) -> Any:  # noqa: ANN401  # handed on
        """Call the tool."""
        return await handler(request)


class WrapModelSync(UniquelyNamed):
    """Hands a model call on, in a sync run."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401  # handed on
        """Call the model."""
        return handler(request)


class WrapToolSync(UniquelyNamed):
    """Hands a tool call on, in a sync run."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401  # handed on
        """Call the tool."""
        return handler(request)


def counting_hook(seen: PeerCounts) -> Callable[..., Any]:
    """Return what counts in the place of a hook before or after the model."""

    async def call(state: Any, runtime: Any) -> None:  # noqa: ANN401  # unused
        del state, runtime
        seen.hooks += 1

    return call


def counting_wrap(seen: PeerCounts) -> Callable[..., Any]:
    """Return what counts in the place of an async wrap."""

    async def call(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401  # handed on
        seen.hooks += 1
        return await handler(request)

    return call


def counting_wrap_sync(seen: PeerCounts) -> Callable[..., Any]:
    """Return what counts in the place of a sync wrap."""

    def call(request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401  # handed on
        seen.hooks += 1
        return handler(request)

    return call


@dataclass(frozen=True, slots=True)
class MiddlewareKind:
    """A class of middlewares, its hook, and what counts in the hook's place.

    That has to be a function of the same sort: the framework treats a coroutine
    function otherwise than one that returns a coroutine, and runs it five times slower.
    """

    middleware: type[UniquelyNamed]
    hook: str
    counting: Callable[[PeerCounts], Callable[..., Any]]

    def made(self, n: int, seen: PeerCounts | None) -> list[UniquelyNamed]:
        """Return that many; with ``PeerCounts`` their calls are counted."""
        made = [self.middleware(at) for at in range(n)]
        if seen is not None:
            for each in made:
                setattr(each, self.hook, self.counting(seen))
        return made


def awaited(kind: MiddlewareKind) -> Build:
    """Return what builds a run by ``ainvoke``."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        call = agent_of(kind.made(n, seen), seen).ainvoke

        async def work() -> str:
            return answer_of(await call(question()))

        return work

    return build


def called(kind: MiddlewareKind) -> Build:
    """Return what builds a run by ``invoke``."""

    def build(n: int, seen: PeerCounts | None) -> Work:
        call = agent_of(kind.made(n, seen), seen).invoke

        async def work() -> str:
            return answer_of(call(question()))

        return work

    return build


def agent_of(
    middlewares: list[UniquelyNamed],
    seen: PeerCounts | None,
    model: ScriptedChatModel | None = None,
) -> Any:  # noqa: ANN401  # a graph
    """Build the agent."""
    create: Any = import_module("langchain.agents").create_agent
    model = model or scripted_model(seen)
    return create(model, [echo_tool(seen)], middleware=middlewares)


def streamed(n: int, seen: PeerCounts | None) -> Work:
    """Build a run whose answer comes in ``n`` chunks, and is read to its end."""
    stream = agent_of([], seen, streamed_model(n, seen)).astream

    async def work() -> str:
        answer = ""
        async for chunk, _ in stream(question(), stream_mode="messages"):
            if isinstance(chunk, AIMessageChunk) and chunk.text:
                answer += chunk.text
                if seen is not None:
                    seen.hooks += 1
        return answer.strip()

    return work


_BEFORE: Final = MiddlewareKind(BeforeModelMiddleware, "abefore_model", counting_hook)
_AFTER: Final = MiddlewareKind(AfterModel, "aafter_model", counting_hook)
_MODEL: Final = MiddlewareKind(WrapModelMiddleware, "awrap_model_call", counting_wrap)
_TOOL: Final = MiddlewareKind(WrapToolMiddleware, "awrap_tool_call", counting_wrap)
_MODEL_SYNC: Final = MiddlewareKind(
    WrapModelSync, "wrap_model_call", counting_wrap_sync
)
_TOOL_SYNC: Final = MiddlewareKind(WrapToolSync, "wrap_tool_call", counting_wrap_sync)

VARIANTS: Final = (
    Variant("before_model", BEFORE_MODEL, awaited(_BEFORE)),
    Variant("after_model", AFTER_MODEL, awaited(_AFTER)),
    Variant("wrap_model_call", WRAP_MODEL, awaited(_MODEL)),
    Variant("wrap_tool_call", WRAP_TOOL, awaited(_TOOL)),
    Variant("wrap_model_call, sync", WRAP_MODEL, called(_MODEL_SYNC)),
    Variant("wrap_tool_call, sync", WRAP_TOOL, called(_TOOL_SYNC)),
)
STREAMS: Final = (Variant("astream", "", streamed),)
