"""Many runs of one agent at once: nothing of one is seen by another (contract CONC).

What ``tests/properties/test_runs.py`` searches under every profile with a hundred runs
and handlers, is here a thousand runs with all sorts of extensions, each of which looks
at all that it is given; and generated worlds, under many interleavings.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextvars import ContextVar
from typing import Any
from zlib import crc32

import pytest
from hypothesis import assume, given

from compat.adapters import adapt
from refengine.agent import Agent, ChatModelAgentConfig, build_agent
from refengine.context import Context, get_run_local, set_run_local
from refengine.hooks import ModelEndpoint
from refengine.messages import Message, MessageChunk, ToolCall, ToolCallChunk
from refengine.model import MessageStream, ModelRequest
from refengine.profile import profile
from refengine.run import RunResult
from refengine.stream import StreamReader, convert_stream
from refengine.struct_middleware import AgentMiddleware, ChatModelAgentState
from refengine.testing import ReferenceEngine, Scenario, Trace, World, clock
from refengine.testing.recorder import Recorder
from refengine.testing.schedules import explore
from refengine.testing.scripted import ScriptedModel
from refengine.testing.session import Session
from refengine.testing.strategies import scenarios
from refengine.testing.trace import comparable, difference
from refengine.tools import (
    Endpoint,
    Options,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
    ToolMiddleware,
    ToolsConfig,
)
from tests.exploring import Asking, Slow
from tests.properties.support import data_without, searching
from tests.support import build, finish

# A thousand runs: whatever a run is given carries its tag, and whoever is called looks
# for tags in all that there is.

TAG = re.compile(r"<\d+>")
OWN: ContextVar[str] = ContextVar("own")


def only(ctx: Context, *given: object) -> str:
    """Return the run's tag; fail if anything here carries another one, or none."""
    places = (OWN.get(), ctx.get("tag"), get_run_local(ctx, "tag"), *given)
    found = [set(TAG.findall(repr(place))) for place in places]
    tags = set().union(*found)
    assert len(tags) == 1, f"tags of several runs: {tags}"
    assert all(found), f"no tag in {places[found.index(set())]!r}"
    return tags.pop()


async def wait(ctx: Context, where: str) -> None:
    """Wait for a while that the run and the place decide, so that runs overtake."""
    await asyncio.sleep(crc32(f"{ctx.get('tag')} {where}".encode()) % 16 / 1000)


async def looked(ctx: Context, where: str, *given: object) -> None:
    only(ctx, *given)
    await wait(ctx, where)
    only(ctx, *given)


class Model:
    """Calls every tool with the run's tag, then says it; keeps nothing."""

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        await looked(ctx, f"model {len(messages)}", messages, options)
        tag = only(ctx)
        if any(message.role == "tool" for message in messages):
            return Message("assistant", f"{tag} is done")
        called = (ToolCall(f"{tag}{t.name}", t.name, f"{tag}") for t in tools)
        return Message("assistant", tag, tuple(called))

    async def stream(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> MessageStream:
        answer = await self.invoke(ctx, messages, tools, options)
        return StreamReader(self._chunks(ctx, answer))

    async def _chunks(
        self, ctx: Context, answer: Message
    ) -> AsyncIterator[MessageChunk]:
        yield MessageChunk(answer.content)
        await looked(ctx, "chunk")
        called = (
            ToolCallChunk(None, c.id, c.name, c.arguments) for c in answer.tool_calls
        )
        yield MessageChunk("", tuple(called))


class Tool:
    """A tool of both kinds, which waits before and after its first words."""

    def __init__(self, name: str) -> None:
        self.info = ToolInfo(name)

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        await looked(ctx, self.info.name, arguments, options, ctx.tool_call_id)
        return f"{self.info.name} of {arguments}"

    async def stream(
        self, ctx: Context, arguments: str, options: Options
    ) -> StreamReader[str]:
        return StreamReader(self._parts(ctx, arguments, options))

    async def _parts(
        self, ctx: Context, arguments: str, options: Options
    ) -> AsyncIterator[str]:
        yield f"{self.info.name} "
        await looked(ctx, self.info.name, arguments, options, ctx.tool_call_id)
        yield f"of {arguments}"


class Handler:
    """Looks at all that passes through every hook, waits, and edits what it may."""

    name = "handler"

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        tag = OWN.get()
        set_run_local(ctx, "tag", tag)
        await looked(ctx, "before", messages)
        noted = Message("user", "note", extra={"tag": tag})
        return ctx.with_value("noted", tag), [*messages, noted]

    async def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        await looked(ctx, "after", messages, ctx.get("noted"))
        return ctx, messages

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> "Message | MessageStream":
        await looked(ctx, "call", request.messages, request.options, ctx.get("noted"))
        return await next(ctx, request)

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        await looked(ctx, "enter", input, ctx.get("noted"), ctx.tool_call_id)
        result = await next(ctx, input)
        await looked(ctx, "leave", input, result)
        result.result += f" {OWN.get()}"
        return result

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        await looked(ctx, "open", input, ctx.get("noted"), ctx.tool_call_id)
        result = await next(ctx, input)

        def edited(chunk: str) -> str:
            return f"{chunk} {only(ctx)}"

        return StreamToolCallResult(convert_stream(result.result, edited))

    async def after_agent(self, ctx: Context, messages: Sequence[Message]) -> Context:
        await looked(ctx, "end", messages)
        return ctx


async def before_chat(ctx: Context, state: ChatModelAgentState) -> None:
    set_run_local(ctx, "tag", OWN.get())
    await looked(ctx, "struct before", state)
    state.messages.append(Message("user", f"before {OWN.get()}"))


async def after_chat(ctx: Context, state: ChatModelAgentState) -> None:
    await looked(ctx, "struct after", state)
    last = state.messages.pop()
    await wait(ctx, "struct edits")
    content = f"{last.content} {only(ctx, last)}"
    state.messages.append(Message(last.role, content, last.tool_calls))


def around(endpoint: Endpoint) -> Endpoint:
    async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
        await looked(ctx, "struct enter", input)
        result = await endpoint(ctx, input)
        await looked(ctx, "struct leave", input, result)
        return ToolCallResult(f"({result.result})")

    return call


def around_stream(endpoint: StreamEndpoint) -> StreamEndpoint:
    async def call(ctx: Context, input: ToolCallInput) -> StreamToolCallResult:
        await looked(ctx, "struct open", input)
        result = await endpoint(ctx, input)
        return StreamToolCallResult(convert_stream(result.result, "({})".format))

    return call


WRAP = ToolMiddleware(invokable=around, streamable=around_stream)
STRUCTS = [
    AgentMiddleware("be kind", [Tool("added")], before_chat, after_chat, WRAP),
    AgentMiddleware("", [], before_chat, after_chat, WRAP),
]


async def one(agent: Agent, number: int, *, stream: bool) -> RunResult:
    """Run the agent with a tag on everything, and read what comes as it comes."""
    tag = f"<{number}>"
    OWN.set(tag)
    ctx = Context({"tag": tag})
    given = [Message("user", tag)]
    async with agent.run(given, stream=stream, ctx=ctx, options={"tag": tag}) as run:
        async for event in run:
            await wait(ctx, f"event {event.call_id}")
            if event.stream is not None:
                async for chunk in event.stream:
                    assert set(TAG.findall(repr(chunk))) <= {tag}
            assert OWN.get() == tag
        return await run.result()


async def thousand(kind: str, numbers: Sequence[int]) -> list[RunResult]:
    """Run one agent so often at once; every other run is streamed."""
    native = {"middlewares": STRUCTS, "handlers": [Handler()]}
    adapted = {"handlers": [*adapt(STRUCTS), Handler()]}
    tools = ToolsConfig(tools=[Tool("own")], tool_call_middlewares=[WRAP])
    parts = {"tools_config": tools, **(native if kind == "native" else adapted)}
    agent = await build_agent(ChatModelAgentConfig("agent", "", Model(), **parts))
    runs = (one(agent, number, stream=number % 2 == 1) for number in numbers)
    return await asyncio.gather(*runs)


def told(result: RunResult) -> str:
    """Return all that a run has left, but its tag."""
    events = [
        (event.kind, event.call_id, event.run_path, event.message)
        for event in result.events
    ]
    left = repr((result.status, list(result.messages), result.answer, events))
    return TAG.sub("<>", left)


@pytest.mark.filterwarnings("ignore::refengine.errors.MixedExtensionsWarning")
@pytest.mark.parametrize("kind", ["native", "adapted"])
def test_a_thousand_runs_at_once_see_only_their_own(kind):
    results = clock.run(thousand(kind, range(1000)))
    alone = [clock.run(thousand(kind, [number]))[0] for number in (0, 1)]

    for number, result in enumerate(results):
        assert result.status == "completed"
        assert set(TAG.findall(repr((result.messages, result.events)))) == {
            f"<{number}>"
        }
        assert told(result) == told(alone[number % 2])


# Generated worlds: two or three runs of one agent at once, under many interleavings,
# leave the traces that each leaves alone.


class RecorderOfTasks(Recorder):
    """Knows of which run an observation is by the task that makes it."""

    def __init__(self) -> None:
        self._run: ContextVar[int] = ContextVar("run", default=0)
        super().__init__()

    @property
    def run(self) -> int:
        return self._run.get()

    @run.setter
    def run(self, number: int) -> None:
        self._run.set(number)


class ModelOfRuns(ScriptedModel):
    """Plays its script to each run, from another answer on, and waits before each."""

    def __init__(self, scenario: Scenario, recorder: Recorder) -> None:
        self._calls: dict[int, int] = {}
        script = scenario.model_script
        super().__init__(script, at_end=scenario.script_end, recorder=recorder)

    def _entry(self):
        whole = self._script
        first = self._recorder.run - 1
        self._script = (*whole[first:], *whole[:first])
        try:
            return super()._entry()
        finally:
            self._script = whole

    @property
    def calls(self) -> int:
        return self._calls.get(self._recorder.run, 0)

    @calls.setter
    def calls(self, calls: int) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]  # an attribute above
        self._calls[self._recorder.run] = calls

    async def invoke(self, *given: Any) -> Message:
        await asyncio.sleep(0)
        return await super().invoke(*given)

    async def _chunks(self, *given: Any) -> AsyncIterator[MessageChunk]:
        async for chunk in super()._chunks(*given):
            await asyncio.sleep(0)
            yield chunk


class Yielding:
    """Lets others go on in every hook, and looks whether what the run keeps is its own.

    If it is not, the hook fails, and so the trace is another one.
    """

    def __init__(self, name: str, recorder: Recorder) -> None:
        self.name = name
        self._recorder = recorder

    async def _yield(self, ctx: Context) -> None:
        await asyncio.sleep(0)
        assert get_run_local(ctx, self.name) == self._recorder.run

    async def before_model_rewrite_history(self, ctx, messages):
        set_run_local(ctx, self.name, self._recorder.run)
        await self._yield(ctx)
        return ctx, messages

    async def after_model_rewrite_history(self, ctx, messages):
        await self._yield(ctx)
        return ctx, messages

    async def wrap_invokable_tool_call(self, ctx, input, next):
        await self._yield(ctx)
        result = await next(ctx, input)
        await self._yield(ctx)
        return result

    async def wrap_streamable_tool_call(self, ctx, input, next):
        await self._yield(ctx)
        return await next(ctx, input)


class AtOnce(Session):
    """Plays the runs of a scenario of one agent at once, or one of them alone."""

    def __init__(self, scenario: Scenario, under: str, kind: str) -> None:
        super().__init__(scenario, ReferenceEngine(profile(under)))
        self._recorder = recorder = RecorderOfTasks()
        world: Any = World(scenario.all_agents[0], scenario, self._recorder)
        world.model = ModelOfRuns(scenario, self._recorder)
        if kind == "adapted":
            adapted = adapt(world.middlewares, profile(under))
            world.middlewares, world.handlers = (), (*adapted, *world.handlers)
        around = (Yielding("outermost", recorder), Yielding("innermost", recorder))
        world.handlers = (around[0], *world.handlers, around[1])
        self._worlds = [world]

    async def play_runs(self, numbers: Sequence[int]) -> Trace:
        """Build the agent, play these runs at once, return all that was seen."""
        if await self._build():
            runs = self._scenario.runs
            await asyncio.gather(*(self._run(runs[n - 1], n) for n in numbers))
        return self._recorder.trace()


def of_run(trace: Trace, number: int) -> list[dict[str, Any]]:
    """Return what a run left, with the calls of one message in call order.

    Which state object of struct middlewares it was is counted over all runs.
    """
    own = Trace([each for each in trace if each.run == number])
    return [data_without(each, "state") for each in comparable(own)]


def three(scenario: Scenario) -> Scenario:
    """Return the scenario with three runs that differ in input, options and mode."""
    runs = [
        run.model_copy(
            update={
                "input": (*run.input, f"user:run {number}"),
                "options": {**run.options, "number": number},
                "streaming": run.streaming if number < 2 else not run.streaming,
                "continues": False,
            }
        )
        for number, run in enumerate((scenario.runs * 3)[:3])
    ]
    return scenario.model_copy(update={"runs": tuple(runs)})


@pytest.mark.filterwarnings("ignore::refengine.errors.MixedExtensionsWarning")
@pytest.mark.parametrize(
    ("under", "kind"),
    [("seed-001", "native"), ("seed-001", "adapted"), ("eino-0.9", "native")],
)
@searching(8)
@given(scenarios(failures=True, unknown_calls=True, options=True))
def test_runs_at_once_leave_the_traces_of_runs_alone_in_any_order(
    under: str, kind: str, scenario: Scenario
) -> None:
    scenario = three(scenario)

    def playing(*numbers: int) -> Coroutine[Any, Any, Trace]:
        return AtOnce(scenario, under, kind).play_runs(numbers)

    alone = {number: of_run(clock.run(playing(number)), number) for number in (1, 2, 3)}
    assume(alone[1])

    def check(trace: Trace) -> str | None:
        for number, expected in alone.items():
            found = difference(expected, of_run(trace, number))
            if found is not None:
                return f"run {number} is not as it is alone: {found}"
        return None

    explored = explore(
        lambda: playing(1, 2, 3), check=check, deviations=1, limit=20, seeded=8
    )
    explored.verify()


# One of several runs is cancelled, somewhere.


async def one_cancelled() -> tuple[list[RunResult | BaseException], int]:
    """Return how three runs of one agent ended, and how many tasks were left."""
    agent = await build(model=Asking("x", "y"), tools=[Slow()])
    tasks = [asyncio.create_task(finish(agent)) for _ in range(3)]

    async def cancel() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        tasks[1].cancel()

    canceller = asyncio.create_task(cancel())
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    await canceller
    return ended, len(asyncio.all_tasks()) - 1


def test_a_run_that_is_cancelled_anywhere_takes_nothing_of_others_with_it():
    ends = set()

    def check(seen: tuple[list[RunResult | BaseException], int]) -> str | None:
        (first, cancelled, last), left = seen
        ends.add(type(cancelled))
        others = [isinstance(each, RunResult) for each in (first, last)]
        return None if all(others) and not left else f"{seen} {left} tasks left"

    explore(one_cancelled, check=check, limit=200).verify()

    assert ends == {asyncio.CancelledError, RunResult}
