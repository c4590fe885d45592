"""What all sides call: the same tool, the same model, handlers of the same kind.

They do as little as can be done, because work of their own would hide what is measured.
None of them reads its clock, counts or keeps anything: counting is the gate's part, and
only before the measuring (``SharedParts``).
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import cycle
from typing import Any, Final, TypeAlias, TypeVar, cast

from refengine import (
    AgentMiddleware,
    Context,
    Message,
    Options,
    StreamReader,
    ToolCall,
    ToolInfo,
)
from refengine.messages import MessageChunk, chunk_of
from refengine.model import MessageStream

T = TypeVar("T")

CALL: Final = ToolCall("call-1", "echo", '{"text": "hello"}')
ASKS: Final = Message("assistant", "", (CALL,))
ANSWERS: Final = Message("assistant", "It said hello.")
INSTRUCTION: Final = "Answer in one sentence."


class EchoTool:
    """A tool that gives its arguments back."""

    def __init__(self, name: str = CALL.name) -> None:
        self.info = ToolInfo(name, "Says what it is told.")

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        """Return the arguments."""
        del ctx, options
        return arguments


class StreamedTool:
    """A tool that gives its arguments back in a stream."""

    def __init__(self, name: str = CALL.name) -> None:
        self.info = ToolInfo(name, "Says what it is told, bit by bit.")

    async def stream(
        self, ctx: Context, arguments: str, options: Options
    ) -> StreamReader[str]:
        """Return the arguments as a stream of one chunk."""
        del ctx, options
        return StreamReader(_one(arguments))


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


class StreamedModel:
    """A model that streams premade answers in turn, over and over."""

    def __init__(self, *answers: Message) -> None:
        self._next = cycle([chunk_of(answer) for answer in answers]).__next__

    async def stream(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> MessageStream:
        """Return the next answer as a stream of one chunk."""
        del ctx, messages, tools, options
        return StreamReader[MessageChunk](_one(self._next()))


class SharedParts:
    """Makes the parts of a side; with a tally every call of one is counted.

    A call counts under the class and the method, ``EchoTool.invoke``; that of a
    callback of a struct under its field, ``AgentMiddleware.before_chat_model``.
    """

    def __init__(self, tally: Counter[str] | None = None) -> None:
        self._tally = tally

    def handlers(self, kind: Callable[[int], T], number: int) -> list[T]:
        """Return that many handlers of a kind."""
        return [self._watched(kind(at)) for at in range(number)]

    def structs(
        self, kind: Callable[[Count], AgentMiddleware], number: int
    ) -> list[AgentMiddleware]:
        """Return that many struct middlewares, which count by the function given."""
        return [kind(self.counted) for _ in range(number)]

    def tool(self, name: str = CALL.name) -> EchoTool:
        """Return a tool; the model calls the one of the default name."""
        return self._watched(EchoTool(name))

    def streamed_tool(self, name: str = CALL.name) -> StreamedTool:
        """Return a tool that streams."""
        return self._watched(StreamedTool(name))

    def model(self, *answers: Message) -> CannedModel:
        """Return a model that gives these answers in turn."""
        return self._watched(CannedModel(*answers))

    def streamed_model(self, *answers: Message) -> StreamedModel:
        """Return a model that streams these answers in turn."""
        return self._watched(StreamedModel(*answers))

    def counted(self, method: Callable[..., T], key: str) -> Callable[..., T]:
        """Return a function, counted under a key if there is a tally."""
        tally = self._tally
        return method if tally is None else _counting(method, key, tally)

    def _watched(self, part: T) -> T:
        if self._tally is not None:
            kind = type(part).__name__
            for name, method in inspect.getmembers(part, inspect.ismethod):
                if not name.startswith("_"):
                    setattr(part, name, self.counted(method, f"{kind}.{name}"))
        return part


Count: TypeAlias = Callable[[Callable[..., Any], str], Callable[..., Any]]


def _counting(
    method: Callable[..., T], key: str, tally: Counter[str]
) -> Callable[..., T]:
    """Return the function counted; one that is async stays so, engines look at it."""
    if inspect.iscoroutinefunction(method):

        async def called(*given: object) -> object:
            tally[key] += 1
            return await method(*given)

        return cast("Callable[..., T]", called)

    def call(*given: object) -> T:
        tally[key] += 1
        return method(*given)

    return call


async def _one(chunk: T) -> AsyncIterator[T]:
    yield chunk
