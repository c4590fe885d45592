"""A run that is cancelled at a named point, and the laws that hold wherever it was."""

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from refengine.messages import Message, MessageChunk, ToolCallChunk, join_chunks
from refengine.run import Run, RunResult
from refengine.stream import StreamReader
from refengine.struct_middleware import AgentMiddleware
from refengine.tools import (
    StreamToolCallResult,
    ToolInfo,
    ToolMiddleware,
    ToolsConfig,
)
from tests.support import DONE, USER, build

How = Literal["waiting", "at once"]
HOOK_POINTS = (
    "before_chat_model",
    "before_model",
    "wrap_model before",
    "wrap_model after",
    "model",
    "after_chat_model",
    "after_model",
    "struct t before",
    "wrap t before",
    "t",
    "wrap t after",
    "struct t after",
    "struct u before",
    "wrap u before",
    "u",
    "wrap u after",
    "struct u after",
    "after_agent",
)
"""Where every run comes by, in the order of a run whose tools do not overlap."""
TOOL_STREAM = ("u chunk 0", "u chunk 1", "u rebuilt", "u closing")
MODEL_STREAM = (
    "model chunk 0",  # before the first text
    "model chunk 1",  # mid text
    "model chunk 3",  # mid arguments
    "model rebuilt",
    "model closing",
)
CHUNKS = (
    MessageChunk("te"),
    MessageChunk("xt"),
    MessageChunk(tool_calls=(ToolCallChunk(0, "c0", "t", '{"x"'),)),
    MessageChunk(tool_calls=(ToolCallChunk(0, arguments=": 1}"),)),
    MessageChunk(tool_calls=(ToolCallChunk(1, "c1", "u", "{}"),)),
)
"""An answer that calls both tools; its third piece breaks off within arguments."""


@dataclass
class Point:
    """Tells the test that the run came to where it is to be cancelled.

    ``waiting``: who comes there waits until he is cancelled. ``at once``: he cancels
    the run himself and goes on, so that it is told at the next place that waits.
    """

    name: str
    how: How = "waiting"
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[Any] | None = None
    entered: Counter[str] = field(default_factory=Counter[str])
    left: Counter[str] = field(default_factory=Counter[str])
    opened: Counter[str] = field(default_factory=Counter[str])
    closed: Counter[str] = field(default_factory=Counter[str])

    async def at(self, name: str) -> None:
        """Pass by, or wait here if this is the point."""
        if name == self.name and not self.reached.is_set():
            self.reached.set()
            if self.how == "waiting":
                await asyncio.Event().wait()
            assert self.task is not None
            self.task.cancel()

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """Count who comes in and who goes out."""
        self.entered[name] += 1
        try:
            yield
        finally:
            self.left[name] += 1


class Source:
    """A stream's source, which takes a moment to close, and counts that."""

    def __init__(self, point: Point, name: str, chunks: Sequence[Any]) -> None:
        self.point = point
        self._name = name
        self._chunks = chunks
        self._at = 0
        point.opened[name] += 1

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await self.point.at(f"{self._name} chunk {self._at}")
        if self._at == len(self._chunks):
            raise StopAsyncIteration
        self._at += 1
        return self._chunks[self._at - 1]

    async def aclose(self) -> None:
        self.point.closed[self._name] += 1
        await self.point.at(f"{self._name} closing")
        await asyncio.sleep(1)


class Model:
    """Calls both tools once, then says that it is done."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self._calls = 0

    def _answer(self) -> tuple[MessageChunk, ...]:
        self._calls += 1
        return CHUNKS if self._calls == 1 else (MessageChunk(DONE.content),)

    async def invoke(self, *_: object) -> Message:
        with self.point.inside("model"):
            await self.point.at("model")
            return join_chunks(self._answer())

    async def stream(self, *_: object) -> StreamReader[MessageChunk]:
        with self.point.inside("model"):
            await self.point.at("model")
            return StreamReader(Source(self.point, "model", self._answer()))


class T:
    """A tool that answers in one piece."""

    info = ToolInfo("t")

    def __init__(self, point: Point) -> None:
        self.point = point

    async def invoke(self, *_: object) -> str:
        with self.point.inside("t"):
            await self.point.at("t")
            return "T"


class U:
    """A tool that answers in two pieces."""

    info = ToolInfo("u")

    def __init__(self, point: Point) -> None:
        self.point = point

    async def stream(self, *_: object) -> StreamReader[str]:
        with self.point.inside("u"):
            await self.point.at("u")
            return StreamReader(Source(self.point, "u", "UV"))


class Handler:
    """A handler with all hooks, which rebuilds every stream it wraps."""

    name = "handler"

    def __init__(self, point: Point) -> None:
        self.point = point

    async def before_model_rewrite_history(self, ctx: Any, messages: Any) -> Any:
        with self.point.inside("before_model"):
            await self.point.at("before_model")
        return ctx, messages

    async def after_model_rewrite_history(self, ctx: Any, messages: Any) -> Any:
        with self.point.inside("after_model"):
            await self.point.at("after_model")
        return ctx, messages

    async def after_agent(self, ctx: Any, messages: Any) -> Any:
        with self.point.inside("after_agent"):
            await self.point.at("after_agent")
        return ctx

    async def wrap_model_call(self, ctx: Any, request: Any, next: Any) -> Any:
        with self.point.inside("wrap_model"):
            await self.point.at("wrap_model before")
            got = await next(ctx, request)
            await self.point.at("wrap_model after")
        return self._rebuilt("model", got) if request.streaming else got

    async def wrap_invokable_tool_call(self, ctx: Any, input: Any, next: Any) -> Any:
        with self.point.inside("wrap t"):
            await self.point.at("wrap t before")
            got = await next(ctx, input)
            await self.point.at("wrap t after")
        return got

    async def wrap_streamable_tool_call(self, ctx: Any, input: Any, next: Any) -> Any:
        with self.point.inside("wrap u"):
            await self.point.at("wrap u before")
            got = await next(ctx, input)
            await self.point.at("wrap u after")
        return StreamToolCallResult(self._rebuilt("u", got.result))

    def _rebuilt(self, name: str, reader: StreamReader[Any]) -> StreamReader[Any]:
        async def rebuilt() -> AsyncIterator[Any]:
            with self.point.inside(f"{name} rebuilt"):
                async for chunk in reader:
                    await self.point.at(f"{name} rebuilt")
                    yield chunk

        return StreamReader(rebuilt())


def struct(point: Point) -> AgentMiddleware:
    """Return a struct middleware with all callbacks."""

    def hook(name: str) -> Callable[..., Any]:
        async def enter(ctx: Any, state: Any) -> None:
            with point.inside(name):
                await point.at(name)

        return enter

    def factory(name: str) -> Callable[[Any], Any]:
        def made(inner: Any) -> Any:
            async def enter(ctx: Any, input: Any) -> Any:
                with point.inside(f"struct {name}"):
                    await point.at(f"struct {name} before")
                    got = await inner(ctx, input)
                    await point.at(f"struct {name} after")
                return got

            return enter

        return made

    return AgentMiddleware(
        before_chat_model=hook("before_chat_model"),
        after_chat_model=hook("after_chat_model"),
        wrap_tool_call=ToolMiddleware(factory("t"), factory("u")),
    )


@dataclass
class Cancelled:
    """What is left of a run that was cancelled."""

    point: Point
    run: Run
    error: BaseException
    tasks: int
    faults: list[dict[str, Any]]

    @property
    def outcome(self) -> RunResult:
        assert self.run.outcome is not None
        return self.run.outcome

    @property
    def results(self) -> list[tuple[str, bool]]:
        """The tool messages: their text, and whether they are marked as errors."""
        return [
            (each.content, bool(each.extra.get("is_error")))
            for each in self.outcome.messages
            if each.role == "tool"
        ]


async def reading(run: Run) -> None:
    """Consume a run as one who leaves it properly and reads every stream."""
    async with run:
        async for event in run:
            if event.stream is not None:
                async for _ in event.stream:
                    pass


async def asking(run: Run) -> None:
    """Consume a run as one who wants its result only."""
    await run.result()


async def until_cancelled(
    point: Point,
    *handlers: object,
    stream: bool = False,
    consume: Callable[[Run], Any] = asking,
    times: int = 1,
    **made_of: Any,
) -> Cancelled:
    """Run an agent, cancel it at the point and return what is left.

    ``times`` is how often it is cancelled, once for each round of the event loop.
    """
    faults: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: faults.append(context))
    made_of = {
        "model": Model(point),
        "tools_config": ToolsConfig([T(point), U(point)]),
        **made_of,
    }
    agent = await build(*handlers, **made_of)
    started = agent.run((USER,), stream=stream)
    point.task = task = asyncio.create_task(consume(started))
    waits = asyncio.create_task(point.reached.wait())
    await asyncio.wait((task, waits), return_when=asyncio.FIRST_COMPLETED)
    assert point.reached.is_set(), f"the run never came to {point.name}"
    for _ in range(times if point.how == "waiting" else 0):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait((task, waits))
    error = await ended(task)
    left = len(asyncio.all_tasks()) - 1
    del task, waits
    gc.collect(1)  # a task whose exception nobody took says so when it goes
    return Cancelled(point, started, error, left, faults)


async def ended(task: asyncio.Task[Any]) -> BaseException:
    """Return what the task ended with, which must not be a result."""
    try:
        await task
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  # judged later
        return error
    raise AssertionError("the run ended as if it had not been cancelled")


def dangling(messages: Sequence[Message]) -> list[str]:
    """Return the ids of the last assistant message's calls that have no result."""
    last = max(
        (at for at, each in enumerate(messages) if each.role == "assistant"), default=-1
    )
    if last < 0:
        return []
    done = {each.tool_call_id for each in messages[last:] if each.role == "tool"}
    return [each.id for each in messages[last].tool_calls if each.id not in done]


def assert_left_well(left: Cancelled) -> None:
    """Assert what holds of every run that was cancelled."""
    point, outcome = left.point, left.outcome
    assert isinstance(left.error, asyncio.CancelledError)
    assert left.tasks == 0
    assert left.faults == []
    assert point.entered == point.left
    assert point.opened == point.closed
    assert (outcome.status, outcome.answer, left.run.error) == ("cancelled", None, None)
    assert [each for each in outcome.events if each.kind == "error"] == []
    assert dangling(outcome.messages) == []
