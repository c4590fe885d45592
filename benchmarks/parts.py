"""What both sides of a pair call: the same handlers, the same tool, the same model.

They do as little as can be done, because work of their own would hide what is measured.
None of them reads its clock, counts or keeps anything: counting is the gate's part, and
only before the measuring (``Kit``).
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import cycle
from typing import Final, TypeVar

from refengine import (
    AgentConfig,
    Context,
    Endpoint,
    Message,
    ModelEndpoint,
    ModelRequest,
    Options,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCall,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
)
from refengine.model import MessageStream

T = TypeVar("T")

CALL: Final = ToolCall("call-1", "echo", '{"text": "hello"}')
ASKS: Final = Message("assistant", "", (CALL,))
ANSWERS: Final = Message("assistant", "It said hello.")
INSTRUCTION: Final = "Answer in one sentence."


class Rewriter:
    """A handler that hands the history back as it got it."""

    def __init__(self, at: int) -> None:
        self.name = f"rewriter-{at}"

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Return what was given."""
        return ctx, messages


class ToolWrapper:
    """A handler that hands a tool call on."""

    def __init__(self, at: int) -> None:
        self.name = f"tool-wrapper-{at}"

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Call the tool."""
        return await next(ctx, input)


class ModelWrapper:
    """A handler that hands a model call on."""

    def __init__(self, at: int) -> None:
        self.name = f"model-wrapper-{at}"

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> Message | MessageStream:
        """Call the model."""
        return await next(ctx, request)


class Preparer:
    """A handler that acts when the agent is built, and in no run."""

    def __init__(self, at: int) -> None:
        self.name = f"preparer-{at}"

    async def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Change nothing."""
        del config
        return ctx


class StreamWrapper:
    """A handler that acts on streaming tools only, of which there are none."""

    def __init__(self, at: int) -> None:
        self.name = f"stream-wrapper-{at}"

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Call the tool."""
        return await next(ctx, input)


class EchoTool:
    """A tool that gives its arguments back."""

    def __init__(self) -> None:
        self.info = ToolInfo(CALL.name, "Says what it is told.")

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        """Return the arguments."""
        del ctx, options
        return arguments


class CannedModel:
    """A model that gives premade answers in turn, over and over."""

    def __init__(self, *answers: Message) -> None:
        self._next = cycle(answers).__next__

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        """Return the next answer, whatever it is asked."""
        del ctx, messages, tools, options
        return self._next()


class Kit:
    """Makes the parts of a pair; with a tally every call of one is counted."""

    def __init__(self, tally: Counter[str] | None = None) -> None:
        self._tally = tally

    def handlers(self, kind: Callable[[int], T], number: int) -> list[T]:
        """Return that many handlers of a kind."""
        return [self._watched(kind(at)) for at in range(number)]

    def tool(self) -> EchoTool:
        """Return the tool."""
        return self._watched(EchoTool())

    def model(self, *answers: Message) -> CannedModel:
        """Return a model that gives these answers in turn."""
        return self._watched(CannedModel(*answers))

    def _watched(self, part: T) -> T:
        if self._tally is not None:
            kind = type(part)
            for name, method in inspect.getmembers(part, inspect.iscoroutinefunction):
                key = f"{kind.__name__}.{name}"
                setattr(part, name, _counting(method, key, self._tally))
        return part


def _counting(
    method: Callable[..., Awaitable[object]], key: str, tally: Counter[str]
) -> Callable[..., Awaitable[object]]:
    async def counted(*given: object) -> object:
        tally[key] += 1
        return await method(*given)

    return counted
