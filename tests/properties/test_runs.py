"""Runs of one agent: none leaves anything to the next or sees another (INS, CONC)."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refengine.agent import Agent, ChatModelAgentConfig, build_agent
from refengine.context import Context, get_run_local, set_run_local
from refengine.hooks import AgentConfig, ModelEndpoint
from refengine.messages import Message, MessageChunk, ToolCall, ToolCallChunk
from refengine.model import MessageStream, ModelRequest
from refengine.profile import Profile, profile
from refengine.run import RunResult
from refengine.stream import StreamReader, convert_stream
from refengine.testing import Scenario, clock
from refengine.testing.strategies import scenarios
from refengine.tools import (
    Endpoint,
    Options,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
    ToolsConfig,
)
from tests.properties.support import (
    Entry,
    data_without,
    played,
    runs_of,
    searching,
    under_every_profile,
)


def twice(scenario: Scenario, under: str) -> Scenario:
    """Return the scenario's first run two times, the model answering alike in both."""
    once = scenario.model_copy(update={"runs": scenario.runs[:1]})
    calls = len(played(once, under).of("model_request"))
    script = list(scenario.model_script)
    rest = script[-1] if scenario.script_end == "repeat_last" else "assistant:EXHAUSTED"
    answers = tuple((script + [rest] * calls)[:calls])
    changed = {"runs": scenario.runs[:1] * 2, "model_script": answers * 2}
    return scenario.model_copy(update=changed)


def unnumbered(run: list[Entry]) -> list[Entry]:
    """Return a run without the numbers that count through all of them."""
    return [data_without(entry, "n", "state") for entry in run]


@under_every_profile
@searching(40)
@given(scenarios(failures=True, unknown_calls=True))
def test_a_second_equal_run_is_like_the_first(under: str, scenario: Scenario) -> None:
    # counting=False: what an extension itself keeps over runs is its own to keep.
    runs = runs_of(played(twice(scenario, under), under))
    if runs:  # none, if the agent could not be built
        first, second = map(unnumbered, runs)

        assert second == first


@under_every_profile
@searching(40)
@given(scenarios(failures=True, unknown_calls=True, counting=True))
def test_a_scenario_played_again_gives_the_same_bytes(
    under: str, scenario: Scenario
) -> None:
    assert played(scenario, under).to_jsonl() == played(scenario, under).to_jsonl()


class Echo:
    """A model that calls one tool with the tag of the run it is in, then says it."""

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        await asyncio.sleep(pause(ctx))
        tag = str(options["tag"])
        if messages[-1].role == "tool":
            return Message("assistant", f"{tag} {ctx.get('tag')} {len(tools)}")
        names = [info.name for info in tools]
        calls = tuple(ToolCall(f"{tag}/{name}", name, tag) for name in names)
        return Message("assistant", tag, calls)

    async def stream(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> MessageStream:
        answer = await self.invoke(ctx, messages, tools, options)
        return StreamReader(pieces(ctx, answer))


async def pieces(ctx: Context, answer: Message) -> AsyncIterator[MessageChunk]:
    for letter in answer.content:
        await asyncio.sleep(pause(ctx))
        yield MessageChunk(letter)
    calls = (ToolCallChunk(None, c.id, c.name, c.arguments) for c in answer.tool_calls)
    yield MessageChunk("", tuple(calls))


def pause(ctx: Context) -> float:
    """Return how long this run waits at each step, so that runs overtake each other."""
    return float(str(ctx.get("pause")))


class Tagged:
    """A tool of one kind whose result is its run's tag, from three places."""

    def __init__(self, name: str, *, streamed: bool) -> None:
        self.info = ToolInfo(name)
        if streamed:
            self.stream = self._stream
        else:
            self.invoke = self._invoke

    async def _invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        await asyncio.sleep(pause(ctx))
        return f"{arguments} {ctx.get('tag')} {get_run_local(ctx, 'tag')}"

    async def _stream(
        self, ctx: Context, arguments: str, options: Options
    ) -> StreamReader[str]:
        return StreamReader(self._parts(ctx, arguments, options))

    async def _parts(
        self, ctx: Context, arguments: str, options: Options
    ) -> AsyncIterator[str]:
        yield await self._invoke(ctx, arguments, options)


class Tagger:
    """Tags what passes through every hook with the run's own tag; keeps nothing."""

    def __init__(self, name: str = "tagger") -> None:
        self.name = name

    async def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        await asyncio.sleep(0)
        config.tools.append(config.tools[0])
        return ctx

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        await asyncio.sleep(pause(ctx))
        tag = str(ctx.get("tag"))
        set_run_local(ctx, "tag", tag)
        return ctx, [*messages[:-1], tagged(messages[-1], tag)]

    async def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        await asyncio.sleep(pause(ctx))
        return ctx, [*messages[:-1], tagged(messages[-1], str(ctx.get("tag")))]

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> "Message | MessageStream":
        await asyncio.sleep(pause(ctx))
        return await next(ctx, request)

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        result = await next(ctx, input)
        await asyncio.sleep(pause(ctx))
        return ToolCallResult(f"{result.result} {ctx.get('tag')}")

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        result = await next(ctx, input)
        tag = ctx.get("tag")
        return StreamToolCallResult(convert_stream(result.result, f"{{}} {tag}".format))

    async def after_agent(self, ctx: Context, messages: Sequence[Message]) -> Context:
        await asyncio.sleep(pause(ctx))
        return ctx


def tagged(message: Message, tag: str) -> Message:
    content = f"{message.content}+{tag}"
    calls, call_id = message.tool_calls, message.tool_call_id
    return Message(message.role, content, calls, call_id, message.name)


async def one(agent: Agent, tag: str, wait: int, *, stream: bool) -> RunResult:
    ctx = Context({"tag": tag, "pause": wait / 1000})
    given = [Message("user", tag)]
    async with agent.run(given, stream=stream, ctx=ctx, options={"tag": tag}) as run:
        return await run.result()


async def together(
    profile: Profile, waits: list[int], *, stream: bool
) -> list[RunResult]:
    """Run one agent once a wait, all at once."""
    config = ChatModelAgentConfig(
        name="agent",
        description="",
        model=Echo(),
        tools_config=ToolsConfig(
            tools=[Tagged("whole", streamed=False), Tagged("parts", streamed=True)]
        ),
        handlers=[Tagger(), Tagger("another")],
    )
    agent = await build_agent(config, profile)
    runs = (one(agent, f"<{at}>", wait, stream=stream) for at, wait in enumerate(waits))
    return await asyncio.gather(*runs)


def texts_of(result: RunResult) -> list[str]:
    """Return all texts that a run has left, in its history and in its events."""
    told = [event.message for event in result.events if event.message is not None]
    every = [*result.messages, *told]
    ids = [call.id for message in every for call in message.tool_calls]
    return [message.content for message in every] + ids


@pytest.mark.parametrize("stream", [False, True], ids=["invoke", "stream"])
@under_every_profile
@searching(3)
@given(st.lists(st.integers(0, 5), min_size=100, max_size=100))
def test_a_hundred_runs_at_once_see_only_their_own(
    stream: bool, under: str, waits: list[int]
) -> None:
    results = clock.run(together(profile(under), waits, stream=stream))
    alone = clock.run(together(profile(under), [1], stream=stream))[0]

    for at, result in enumerate(results):
        tag = f"<{at}>"
        own = [text.replace(tag, "<0>") for text in texts_of(result)]
        assert own == texts_of(alone)
        assert result.status == "completed"
