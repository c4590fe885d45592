"""10,000 extensions, all of them at work, in both modes, from any depth (DEEP)."""

import asyncio
import gc
import sys
from collections import Counter

import pytest

from refengine.errors import HookError, ToolError
from refengine.extensions import MAX_EXTENSIONS
from refengine.stream import StreamReader, convert_stream
from refengine.struct_middleware import AgentMiddleware
from refengine.tools import StreamToolCallResult, ToolMiddleware
from tests.support import (
    DONE,
    Model,
    Pieces,
    Whole,
    build,
    calls,
    finish,
    outcome_of,
    play,
    read,
    run,
    stream_of,
    tool_texts,
)

N = MAX_EXTENSIONS


@pytest.fixture(autouse=True)
def _without_collector():
    """Keep the collector from walking 10,000 frames again and again."""
    gc.disable()
    yield
    gc.enable()


PASSES = (
    "before_model_rewrite_history",
    "wrap_model_call",
    "after_model_rewrite_history",
)


class Counting:
    """A handler with every hook, which counts in ``seen`` how often each is entered."""

    name = "counting"

    def __init__(self, seen):
        self._seen = seen

    def before_agent(self, ctx, config):
        self._seen["before_agent"] += 1
        return ctx

    def before_model_rewrite_history(self, ctx, messages):
        self._seen["before_model_rewrite_history"] += 1
        return ctx, messages

    async def after_model_rewrite_history(self, ctx, messages):
        self._seen["after_model_rewrite_history"] += 1
        return ctx, messages

    async def wrap_model_call(self, ctx, request, next):
        self._seen["wrap_model_call"] += 1
        return await next(ctx, request)

    async def wrap_invokable_tool_call(self, ctx, input, next):
        self._seen["wrap_invokable_tool_call"] += 1
        return await next(ctx, input)

    async def wrap_streamable_tool_call(self, ctx, input, next):
        self._seen["wrap_streamable_tool_call"] += 1
        opened = await next(ctx, input)
        return StreamToolCallResult(convert_stream(opened.result, str))

    async def after_agent(self, ctx, messages):
        self._seen["after_agent"] += 1
        return ctx


class Rebuilding(Counting):
    """It also reads model and tool streams through generators of its own."""

    async def wrap_model_call(self, ctx, request, next):
        answer = await super().wrap_model_call(ctx, request, next)
        if isinstance(answer, StreamReader):
            return StreamReader(through(answer))
        return answer

    async def wrap_streamable_tool_call(self, ctx, input, next):
        opened = await super().wrap_streamable_tool_call(ctx, input, next)
        return StreamToolCallResult(StreamReader(through(opened.result)))


async def through(stream):
    async for chunk in stream:
        yield chunk


async def from_within(frames, call):
    """Await the call from within that many coroutines."""
    if frames:
        return await from_within(frames - 1, call)
    return await call()


class Roundabout(Counting):
    """Each of its wrappers stands on ten more frames of its own."""

    async def wrap_model_call(self, ctx, request, next):
        entered = super().wrap_model_call
        return await from_within(10, lambda: entered(ctx, request, next))

    async def wrap_invokable_tool_call(self, ctx, input, next):
        entered = super().wrap_invokable_tool_call
        return await from_within(10, lambda: entered(ctx, input, next))

    async def wrap_streamable_tool_call(self, ctx, input, next):
        entered = super().wrap_streamable_tool_call
        return await from_within(10, lambda: entered(ctx, input, next))


def everything_once(tool_hook):
    """Return how often each hook is entered in a run with one tool call."""
    expected = {"before_agent": N, "after_agent": N, tool_hook: N}
    return expected | dict.fromkeys(PASSES, 2 * N)


async def run_deep(kind, tool, stream):
    """Run an agent of N handlers that calls the tool once; return what was entered."""
    seen = Counter()
    handlers = [kind(seen) for _ in range(N)]
    agent = await build(*handlers, model=Model(calls("t"), DONE), tools=[tool])
    result = await finish(agent, stream=stream)

    assert result.status == "completed"
    assert tool.count == 1
    return seen, tool_texts(result)


WORLDS = [
    pytest.param(Whole, False, "wrap_invokable_tool_call", ["t(x)"], id="invoke"),
    pytest.param(Whole, True, "wrap_invokable_tool_call", ["t(x)"], id="stream"),
    pytest.param(Pieces, False, "wrap_streamable_tool_call", ["abc"], id="pieces"),
    pytest.param(Pieces, True, "wrap_streamable_tool_call", ["abc"], id="both-stream"),
]


@pytest.mark.parametrize("kind", [Counting, Rebuilding, Roundabout])
@pytest.mark.parametrize(("tool", "stream", "hook", "texts"), WORLDS)
def test_every_hook_of_10_000_handlers_is_entered(kind, tool, stream, hook, texts):
    seen, got = run(run_deep(kind, tool(), stream))

    assert seen == everything_once(hook)
    assert got == texts


def depth():
    frame, found = sys._getframe(), 0
    while frame is not None:
        frame, found = frame.f_back, found + 1
    return found


def from_depth(wanted, call):
    """Call from a stack that is that deep."""
    if depth() < wanted:
        return from_depth(wanted, call)
    return call()


@pytest.mark.parametrize(("tool", "stream", "hook", "texts"), [WORLDS[0], WORLDS[3]])
def test_an_event_loop_may_itself_be_started_900_frames_deep(tool, stream, hook, texts):
    seen, got = from_depth(900, lambda: run(run_deep(Rebuilding, tool(), stream)))

    assert seen == everything_once(hook)
    assert got == texts


@pytest.mark.parametrize("kind", [Rebuilding, Roundabout])
@pytest.mark.parametrize(("tool", "stream", "hook", "texts"), [WORLDS[0], WORLDS[3]])
def test_the_caller_s_coroutine_may_be_deeply_nested(kind, tool, stream, hook, texts):
    async def nested():
        return await from_within(800, lambda: run_deep(kind, tool(), stream))

    seen, got = run(nested())

    assert seen == everything_once(hook)
    assert got == texts


def test_the_events_of_a_deep_stream_may_be_read_from_a_deep_stack():
    async def read_events():
        handlers = [Rebuilding(Counter()) for _ in range(N)]
        model = Model(calls("t"), DONE)
        agent = await build(*handlers, model=model, tools=[Pieces()])
        texts = []
        async with agent.run((), stream=True) as started:
            async for event in started:
                if event.kind == "tool":
                    texts += await read(stream_of(event))
        return texts

    async def nested():
        return await from_within(800, read_events)

    assert run(nested()) == ["a", "b", "c"]


def test_several_calls_go_through_all_wrappers_at_once():
    seen = Counter()
    tools = [Whole("a"), Pieces("b"), Whole("c")]
    result = play(
        *(Counting(seen) for _ in range(N)),
        model=Model(calls("a", "b", "c"), DONE),
        tools=tools,
        stream=True,
    )

    assert tool_texts(result) == ["a(x)", "abc", "c(x)"]
    assert [tool.count for tool in tools] == [1, 1, 1]
    assert seen["wrap_invokable_tool_call"] == 2 * N
    assert seen["wrap_streamable_tool_call"] == N


def test_10_000_struct_middlewares_work():
    seen = Counter()

    def passing(kind):
        def factory(inner):
            async def outer(ctx, input):
                seen[kind] += 1
                return await inner(ctx, input)

            return outer

        return factory

    def noting(hook):
        def note(ctx, state):
            seen[hook] += 1

        return note

    model = Model(calls("a", "b"), DONE)
    result = play(
        middlewares=[
            AgentMiddleware(
                additional_instruction="x",
                before_chat_model=noting("before"),
                after_chat_model=noting("after"),
                wrap_tool_call=ToolMiddleware(passing("whole"), passing("pieces")),
            )
            for _ in range(N)
        ],
        model=model,
        tools=[Whole("a"), Pieces("b")],
    )

    assert tool_texts(result) == ["a(x)", "abc"]
    assert seen == {"before": 2 * N, "after": 2 * N, "whole": N, "pieces": N}
    assert len(model.instruction) == 2 * N


def test_10_000_values_reach_the_tool():
    class Adding(Counting):
        """It adds a value under a key of its own."""

        async def wrap_invokable_tool_call(self, ctx, input, next):
            return await next(ctx.with_value(f"k{id(self)}", 1), input)

    tool = Whole()
    play(
        *(Adding(Counter()) for _ in range(N)),
        model=Model(calls("t"), DONE),
        tools=[tool],
    )

    assert len(list(tool.contexts[0].items())) == N


@pytest.mark.parametrize("tool", [Whole, Pieces])
def test_a_tool_s_error_comes_through_10_000_wrappers_as_it_is(tool):
    error = OSError("x")

    with pytest.raises(ToolError) as caught:
        play(
            *(Rebuilding(Counter()) for _ in range(N)),
            model=Model(calls("t"), DONE),
            tools=[tool(fails=error)],
        )

    assert caught.value.cause is error


def test_the_innermost_of_10_000_wrappers_is_blamed_at_its_position():
    class Broken(Counting):
        """It fails."""

        name = "broken"

        async def wrap_invokable_tool_call(self, ctx, input, next):
            raise OSError("x")

    seen = Counter()

    with pytest.raises(HookError) as caught:
        play(
            *(Counting(seen) for _ in range(N - 1)),
            Broken(seen),
            model=Model(calls("t"), DONE),
            tools=[Whole()],
        )

    assert (caught.value.handler, caught.value.position) == ("broken", N - 1)


def test_cancelling_a_run_reaches_the_tool_and_every_wrapper_on_the_way_out():
    seen = Counter()

    class Leaving(Counting):
        """It counts how often it is left by a cancellation."""

        async def wrap_invokable_tool_call(self, ctx, input, next):
            try:
                return await next(ctx, input)
            except asyncio.CancelledError:
                seen["left"] += 1
                raise

    class Waiting(Whole):
        """A tool that never returns."""

        async def invoke(self, ctx, arguments, options):
            entered.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen["tool"] += 1
                raise

    async def cancel_it():
        agent = await build(
            *(Leaving(Counter()) for _ in range(N)),
            model=Model(calls("t"), DONE),
            tools=[Waiting()],
        )
        started = agent.run(())
        task = asyncio.create_task(started.result())
        await entered.wait()
        assert len(asyncio.all_tasks()) > 3  # or there was no hop to come through
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return outcome_of(started).status, len(asyncio.all_tasks())

    entered = asyncio.Event()

    assert run(cancel_it()) == ("cancelled", 1)
    assert seen == {"left": N, "tool": 1}


def test_leaving_a_deep_run_early_closes_its_streams_and_leaves_no_task():
    closed = []

    async def endless():
        try:
            while True:
                yield "x"
        finally:
            closed.append(True)

    class Endless(Pieces):
        """Its stream never ends by itself."""

        async def stream(self, ctx, arguments, options):
            return StreamReader(endless())

    async def leave_early():
        agent = await build(
            *(Rebuilding(Counter()) for _ in range(N)),
            model=Model(calls("t"), DONE),
            tools=[Endless()],
        )
        async with agent.run((), stream=True) as started:
            async for event in started:
                if event.kind == "tool":
                    assert await stream_of(event).__anext__() == "x"
                    break
        return outcome_of(started).status, len(asyncio.all_tasks())

    assert run(leave_early()) == ("cancelled", 1)
    assert closed == [True]
