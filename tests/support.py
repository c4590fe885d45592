"""Fakes and short ways for the engine's tests; each fake's docstring states its lie."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from refengine.agent import Agent, ChatModelAgentConfig, build_agent
from refengine.context import Context
from refengine.events import AgentEvent, Chunk
from refengine.messages import Message, ToolCall
from refengine.model import ModelRequest
from refengine.profile import SEED_001, Profile
from refengine.run import Run, RunResult
from refengine.stream import StreamReader
from refengine.tools import Options, Tool, ToolInfo, ToolMeta, ToolsConfig

T = TypeVar("T")

USER = Message("user", "hi")
DONE = Message("assistant", "done")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run to the end, in an event loop of its own."""
    return asyncio.run(coroutine)


async def each(chunks: Iterable[T]) -> AsyncIterator[T]:
    """Yield the chunks one by one."""
    for chunk in chunks:
        yield chunk


def reader(chunks: Iterable[T]) -> StreamReader[T]:
    return StreamReader(each(chunks))


async def read(stream: StreamReader[T]) -> list[T]:
    return [chunk async for chunk in stream]


def calls(*names: str, arguments: str = "x") -> Message:
    """Return an assistant message that calls these tools; the calls are c0, c1 …."""
    made = tuple(ToolCall(f"c{n}", name, arguments) for n, name in enumerate(names))
    return Message("assistant", tool_calls=made)


class Model:
    """Answers with what it was given, whatever it is asked; keeps the requests."""

    def __init__(self, *answers: Message) -> None:
        self._answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.contexts: list[Context] = []

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        self.contexts.append(ctx)
        self.requests.append(ModelRequest(tuple(messages), tuple(tools), options))
        return self._answers[len(self.requests) - 1]

    @property
    def instruction(self) -> str:
        """The system message of the first request."""
        return self.requests[0].messages[0].content

    @property
    def shown(self) -> list[str]:
        """The names of the tools it was shown first."""
        return [info.name for info in self.requests[0].tools]


class Whole:
    """A tool that returns its name and arguments in one piece, and counts its calls."""

    def __init__(self, name: str = "t", *, fails: BaseException | None = None) -> None:
        self.info = ToolInfo(name)
        self.count = 0
        self.contexts: list[Context] = []
        self.options: list[Options] = []
        self._fails = fails

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        self.count += 1
        self.contexts.append(ctx)
        self.options.append(options)
        if self._fails is not None:
            raise self._fails
        return f"{self.info.name}({arguments})"


class Pieces:
    """A tool that streams ``chunks``; then raises ``fails``, if there is one."""

    def __init__(
        self,
        name: str = "t",
        chunks: Sequence[Any] = ("a", "b", "c"),
        *,
        fails: Exception | None = None,
    ) -> None:
        self.info = ToolInfo(name)
        self.count = 0
        self._chunks = chunks
        self._fails = fails

    async def stream(
        self, ctx: Context, arguments: str, options: Options
    ) -> StreamReader[str]:
        self.count += 1
        return StreamReader(self._read())

    async def _read(self) -> AsyncIterator[str]:
        for chunk in self._chunks:
            yield chunk
        if self._fails is not None:
            raise self._fails


async def build(
    *handlers: object,
    model: Any = None,
    tools: Sequence[Tool | ToolMeta] = (),
    profile: Profile = SEED_001,
    **more: Any,
) -> Agent:
    """Build an agent whose model only says "done", unless another one is given."""
    made_of: dict[str, Any] = {"tools_config": ToolsConfig(tools), **more}
    model = Model(DONE) if model is None else model
    config = ChatModelAgentConfig("agent", "", model, handlers=handlers, **made_of)
    return await build_agent(config, profile)


async def finish(
    agent: Agent, messages: Sequence[Message] = (USER,), **how: Any
) -> RunResult:
    """Run the agent to its end; raises what the run raises."""
    async with agent.run(messages, **how) as started:
        return await started.result()


def play(*handlers: object, stream: bool = False, **made_of: Any) -> RunResult:
    """Build an agent of these handlers and run it once."""

    async def play_it() -> RunResult:
        return await finish(await build(*handlers, **made_of), stream=stream)

    return run(play_it())


def tool_texts(result: RunResult) -> list[str]:
    """Return the contents of the tool messages."""
    return [each.content for each in result.messages if each.role == "tool"]


def stream_of(event: AgentEvent) -> StreamReader[Chunk]:
    """Return the stream of an event that has one."""
    assert event.stream is not None
    return event.stream


def outcome_of(started: Run) -> RunResult:
    """Return how a run ended that is over."""
    assert started.outcome is not None
    return started.outcome
