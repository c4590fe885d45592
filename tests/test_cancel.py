"""Cancellation: wherever it comes, a run is left closed, whole and said to be so."""

import asyncio
from contextlib import nullcontext, suppress
from dataclasses import replace

import pytest

from compat.adapters.structs import adapt
from refengine.awaiting import SEES_SWALLOWED
from refengine.errors import HookError, StreamBrokenOffError, ToolError
from refengine.helpers import with_before_agent
from refengine.messages import chunk_of
from refengine.profile import SEED_001
from refengine.stream import StreamReader
from refengine.testing.clock import run
from refengine.tools import StreamToolCallResult, ToolCallResult, ToolsConfig
from tests import support
from tests.cancelling import (
    CHUNKS,
    HOOK_POINTS,
    MODEL_STREAM,
    TOOL_STREAM,
    Cancelled,
    Handler,
    Model,
    Point,
    T,
    U,
    asking,
    assert_left_well,
    reading,
    struct,
    until_cancelled,
)
from tests.support import (
    DONE,
    USER,
    Whole,
    build,
    calls,
    finish,
    outcome_of,
    read,
    reader,
    stream_of,
    tool_texts,
)

BEFORE_EACH_RUN = replace(SEED_001, before_agent="run")

WAYS = [
    pytest.param((asking, "native", False, False), id="asking-native-together"),
    pytest.param((reading, "native", True, False), id="reading-native-in_turn"),
    pytest.param((asking, "adapted", True, True), id="asking-adapted-in_turn-kept"),
    pytest.param((reading, "adapted", False, False), id="reading-adapted-together"),
    pytest.param((reading, "native", False, True), id="reading-native-together-kept"),
]


@pytest.mark.one_in(4)
@pytest.mark.filterwarnings("ignore::refengine.errors.MixedExtensionsWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["waiting", "at once"])
@pytest.mark.parametrize(
    ("name", "stream"),
    [
        *((name, False) for name in (*HOOK_POINTS, *TOOL_STREAM)),
        *((name, True) for name in (*HOOK_POINTS, *TOOL_STREAM, *MODEL_STREAM)),
    ],
)
def test_a_cancelled_run_is_left_well(name, stream, how, way):
    consume, structs, sequential, kept = way

    async def scenario():
        point = Point(name, how)
        middlewares = [struct(point)]
        adapted = adapt(middlewares) if structs == "adapted" else []
        return await until_cancelled(
            point,
            *adapted,
            Handler(point),
            middlewares=[] if adapted else middlewares,
            tools_config=ToolsConfig([T(point), U(point)], sequential=sequential),
            stream=stream,
            consume=consume,
            strict_state=kept,
        )

    assert_left_well(run(scenario()))


@pytest.mark.filterwarnings("ignore::refengine.errors.MixedExtensionsWarning")
@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize(
    "name", [*HOOK_POINTS, *TOOL_STREAM, *MODEL_STREAM], ids=lambda name: name
)
def test_a_run_that_is_cancelled_again_while_it_is_left_is_left_well(name, times):
    async def scenario():
        point = Point(name)
        return await until_cancelled(
            point,
            Handler(point),
            middlewares=[struct(point)],
            stream=True,
            times=times,
        )

    assert_left_well(run(scenario()))


@pytest.mark.parametrize("name", [*HOOK_POINTS, *TOOL_STREAM, *MODEL_STREAM])
@pytest.mark.filterwarnings("ignore::refengine.errors.MixedExtensionsWarning")
def test_after_agent_is_entered_only_if_it_is_where_the_run_is_cancelled(name):
    async def scenario():
        point = Point(name)
        return await until_cancelled(
            point, Handler(point), middlewares=[struct(point)], stream=True
        )

    left = run(scenario())

    assert left.point.entered["after_agent"] == (name == "after_agent")


def cancelled_at(name, *handlers, **how):
    """Cancel a run with no extension but these; assert that it was left well."""

    async def scenario():
        point = Point(name, how.pop("how", "waiting"))
        made = [each(point) for each in handlers]
        if "tools" in how:
            tools = [each(point) for each in how.pop("tools")]
            sequential = how.pop("sequential", False)
            how["tools_config"] = ToolsConfig(tools, sequential=sequential)
        return await until_cancelled(point, *made, **how)

    left = run(scenario())
    assert_left_well(left)
    return left


BEGAN = ("The run was cancelled before this call ended.", True)
WAITED = ("The run was cancelled before this call began.", True)


def test_a_call_says_that_it_had_begun_and_its_successor_that_it_had_not():
    left = cancelled_at("t", tools=[T, U], sequential=True)

    assert left.results == [BEGAN, WAITED]


def test_the_result_of_a_sibling_that_had_finished_is_kept():
    assert cancelled_at("t", tools=[T, U]).results == [BEGAN, ("UV", False)]
    assert cancelled_at("u chunk 1", tools=[T, U]).results == [("T", False), BEGAN]


def test_a_tool_stream_that_was_read_to_its_end_is_a_result():
    left = cancelled_at("u closing", tools=[T, U], sequential=True)

    assert left.results == [("T", False), ("UV", False)]


def test_calls_that_no_tool_was_asked_for_yet_say_so():
    left = cancelled_at("after_model", Handler)

    assert left.results == [WAITED, WAITED]
    made = [each for each in left.outcome.messages if each.role == "tool"]
    assert [(each.name, each.tool_call_id) for each in made] == [
        ("t", "c0"),
        ("u", "c1"),
    ]


def test_an_answer_that_broke_off_is_not_kept_but_its_chunks_are_told():
    left = cancelled_at("model chunk 3", stream=True)

    assert left.outcome.messages == [USER]
    [event] = left.outcome.events
    assert (event.message, event.chunks) == (None, CHUNKS[:3])


def test_an_answer_that_was_read_to_its_end_is_kept():
    left = cancelled_at("model closing", stream=True)

    assert left.results == [WAITED, WAITED]
    [event] = left.outcome.events
    assert event.message == left.outcome.messages[1]


def test_a_call_that_failed_before_says_so():
    class Failing(T):
        """It fails at once."""

        async def invoke(self, *_):
            raise ValueError("no")

    left = cancelled_at("u", tools=[Failing, U])

    assert left.results == [
        ("This call failed, and then the run was cancelled.", True),
        BEGAN,
    ]


def test_calls_that_the_caller_left_without_a_result_are_his():
    async def scenario():
        point = Point("model")
        agent = await build(model=Model(point))
        started = agent.run([USER, calls("t")])
        task = asyncio.create_task(started.result())
        await point.reached.wait()
        task.cancel()
        await asyncio.wait({task})
        return outcome_of(started).messages

    assert run(scenario()) == [USER, calls("t")]


def swallowing(step):
    """Return a step that goes on as if it had not been cancelled."""

    async def enter(*given):
        try:
            return await step(*given)
        except asyncio.CancelledError:
            return None

    return enter


class Deaf(Handler):
    """It swallows each CancelledError, and answers in its own words."""

    async def before_model_rewrite_history(self, ctx, messages):
        await swallowing(super().before_model_rewrite_history)(ctx, messages)
        return ctx, messages

    async def after_model_rewrite_history(self, ctx, messages):
        await swallowing(super().after_model_rewrite_history)(ctx, messages)
        return ctx, messages

    async def after_agent(self, ctx, messages):
        await swallowing(super().after_agent)(ctx, messages)
        return ctx

    async def wrap_model_call(self, ctx, request, next):
        got = await swallowing(super().wrap_model_call)(ctx, request, next)
        if got is not None:
            return got
        return reader([chunk_of(DONE)]) if request.streaming else DONE

    async def wrap_invokable_tool_call(self, ctx, input, next):
        got = await swallowing(super().wrap_invokable_tool_call)(ctx, input, next)
        return got or ToolCallResult("deaf")

    async def wrap_streamable_tool_call(self, ctx, input, next):
        got = await swallowing(super().wrap_streamable_tool_call)(ctx, input, next)
        return got or StreamToolCallResult(reader(["deaf"]))

    def _rebuilt(self, name, source):
        rebuilt = super()._rebuilt(name, source)

        async def deaf():
            with suppress(asyncio.CancelledError):
                async for chunk in rebuilt:
                    yield chunk

        return StreamReader(deaf())


sees_swallowed = pytest.mark.skipif(
    not SEES_SWALLOWED,
    reason="before Python 3.13 a swallowed cancellation looks as one of a TaskGroup",
)


class Grouping(Whole):
    """A tool whose group of tasks fails, which it deals with."""

    async def invoke(self, ctx, arguments, options):
        async def failing():
            await asyncio.sleep(0)
            raise ValueError

        with suppress(BaseExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(failing())
        return "dealt with"


def test_a_group_of_tasks_that_fails_inside_a_tool_cancels_nothing():
    async def scenario():
        model = support.Model(calls("t"), DONE)
        agent = await build(model=model, tools=[Grouping()])
        return await finish(agent)

    left = run(scenario())

    assert left.status == "completed"
    assert left.messages[2].content == "dealt with"


CALLED = {"before_model": 0, "after_agent": 2}
"""How often the model is asked at most until the run is over; elsewhere once."""


@sees_swallowed
@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.parametrize("how", ["waiting", "at once"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        *(name for name in HOOK_POINTS if "struct" not in name and "chat" not in name),
        *("u chunk 0", "u chunk 1", "u rebuilt"),
    ],
)
def test_a_cancellation_that_a_wrapper_swallows_comes_out_again(
    name, stream, how, sequential
):
    left = cancelled_at(
        name, Deaf, stream=stream, how=how, tools=[T, U], sequential=sequential
    )

    assert left.point.entered["after_agent"] == (name == "after_agent")
    assert left.point.entered["model"] <= CALLED.get(name, 1)


@sees_swallowed
@pytest.mark.parametrize("name", ["model chunk 0", "model chunk 3", "model rebuilt"])
@pytest.mark.parametrize("consume", [asking, reading])
def test_a_cancellation_that_a_stream_swallows_comes_out_again(name, consume):
    cancelled_at(name, Deaf, stream=True, consume=consume)


@sees_swallowed
def test_the_model_is_not_asked_again_after_a_tools_stream_swallowed_it():
    class DeafU(U):
        """Its stream ends early instead of being cancelled."""

        async def stream(self, *given):
            source = await super().stream(*given)

            async def deaf():
                with suppress(asyncio.CancelledError):
                    async for chunk in source:
                        yield chunk
                await source.aclose()

            return StreamReader(deaf())

    left = cancelled_at("u chunk 1", tools=[T, DeafU], sequential=True)

    assert left.point.entered["model"] == 1
    assert left.results == [("T", False), ("U", False)]


def test_what_a_tool_gives_that_swallows_its_cancellation_is_kept():
    class Stubborn(T):
        """It ends its work whatever is asked of it."""

        async def invoke(self, *given):
            return await swallowing(super().invoke)(*given) or "all the same"

    left = cancelled_at("t", tools=[Stubborn, U])

    assert left.results == [("all the same", False), ("UV", False)]


@sees_swallowed
def test_an_error_that_a_wrapper_makes_of_the_cancellation_is_its_cause_and_no_event():
    class Angry(Handler):
        """It turns the cancellation into an error."""

        async def wrap_model_call(self, ctx, request, next):
            try:
                return await super().wrap_model_call(ctx, request, next)
            except asyncio.CancelledError:
                raise ValueError("cancelled") from None

    left = cancelled_at("model", Angry)

    assert isinstance(left.error.__cause__, HookError)


def test_a_time_out_inside_a_tool_is_the_tools_own():
    class Impatient(T):
        """It gives up by itself."""

        async def invoke(self, *_):
            async with asyncio.timeout(1):
                await asyncio.Event().wait()

    async def scenario():
        point = Point("nowhere")
        tools = ToolsConfig([Impatient(point), U(point)], sequential=True)
        return await finish(await build(model=Model(point), tools_config=tools))

    with pytest.raises(ToolError) as caught:
        run(scenario())

    assert isinstance(caught.value.cause, TimeoutError)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ["model", "t", "u chunk 1", "after_agent"])
@pytest.mark.parametrize("way", ["timeout", "wait_for"])
def test_a_time_out_around_a_run_is_a_time_out(name, way, stream):
    async def timed(started):
        if way == "wait_for":
            await asyncio.wait_for(started.result(), 5)
        async with asyncio.timeout(5):
            await started.result()

    async def scenario():
        point = Point(name)
        agent = await build(
            Handler(point),
            model=Model(point),
            tools_config=ToolsConfig([T(point), U(point)]),
        )
        started = agent.run((USER,), stream=stream)
        with pytest.raises(TimeoutError):
            await timed(started)
        task = asyncio.current_task()
        assert task is not None
        return outcome_of(started).status, task.cancelling(), len(asyncio.all_tasks())

    assert run(scenario()) == ("cancelled", 0, 1)


def test_a_run_whose_task_is_cancelled_before_it_starts_never_began():
    async def scenario():
        point = Point("model")
        started = (await build(Handler(point), model=Model(point))).run((USER,))
        task = asyncio.create_task(started.result())
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled(), started.outcome, point.entered

    assert run(scenario()) == (True, None, {})


@pytest.mark.parametrize("how", ["waiting", "at once"])
@pytest.mark.parametrize("deaf", [pytest.param(True, marks=sees_swallowed), False])
def test_a_run_that_is_cancelled_in_before_agent_is_cancelled(how, deaf):
    async def scenario():
        point = Point("before_agent", how)

        async def before_agent(ctx, config):
            at = swallowing(point.at) if deaf else point.at
            await at("before_agent")
            return ctx

        handler = with_before_agent(before_agent)
        return await until_cancelled(point, handler, profile=BEFORE_EACH_RUN)

    left = run(scenario())

    assert_left_well(left)
    assert left.outcome.messages == [USER]


LEAVING = [(number, stream) for number in range(4) for stream in (False, True)]


@pytest.mark.parametrize(("number", "stream"), LEAVING)
@pytest.mark.parametrize("way", ["break", "aclose", "error"])
def test_a_consumer_that_leaves_early_leaves_the_run_well(number, stream, way):
    async def consume(started):
        async with started:
            seen = 0
            async for event in started:
                if seen == number:
                    if event.stream is not None:
                        await event.stream.__anext__()
                    if way == "break":
                        break
                    if way == "aclose":
                        await started.aclose()
                    else:
                        raise LookupError
                seen += 1
            # For the helper: a run that was left is told as one that was cancelled.
            raise asyncio.CancelledError

    async def scenario():
        point = Point("nowhere")
        point.reached.set()
        with pytest.raises(LookupError) if way == "error" else nullcontext():
            left = await until_cancelled(
                point, Handler(point), stream=stream, consume=consume, times=0
            )
            if way == "error":
                assert_left_well(replace(left, error=asyncio.CancelledError()))
                raise left.error
            assert_left_well(left)

    run(scenario())


@pytest.mark.parametrize("name", ["model chunk 3", "u chunk 1"])
def test_one_who_reads_in_another_task_is_told_that_the_stream_broke_off(name):
    readers = []

    async def consume(started):
        async for event in started:
            if event.stream is not None:
                task = asyncio.create_task(read(event.stream))
                readers.append(task)

    async def scenario():
        point = Point(name)
        left = await until_cancelled(
            point, Handler(point), stream=True, consume=consume
        )
        got = await asyncio.gather(*readers, return_exceptions=True)
        return left, got[-1]

    left, error = run(scenario())

    assert_left_well(replace(left, tasks=0))
    assert isinstance(error, StreamBrokenOffError)


def test_cancelling_one_who_reads_in_another_task_leaves_the_run_alone():
    async def scenario():
        point = Point("u chunk 1")
        agent = await build(
            Handler(point),
            model=Model(point),
            tools_config=ToolsConfig([U(point), T(point)]),
        )
        async with agent.run((USER,), stream=True) as started:
            async for event in started:
                if event.call_id == "c1":
                    task = asyncio.create_task(read(stream_of(event)))
                    await asyncio.sleep(1)
                    task.cancel()
                    await asyncio.wait({task})
                    break
            status = started.outcome
        assert_left_well(
            Cancelled(point, started, asyncio.CancelledError(), 0, []),
        )
        return status, len(asyncio.all_tasks())

    assert run(scenario()) == (None, 1)


@pytest.mark.parametrize("name", ["t", "u", "u chunk 1", "u closing"])
@pytest.mark.parametrize("how", ["waiting", "at once"])
def test_a_run_inside_a_tool_is_cancelled_with_the_one_around_it(name, how):
    inner = []

    async def scenario():
        point = Point(name, how)

        class Nested(T):
            """It asks an agent of its own."""

            async def invoke(self, ctx, *_):
                agent = await build(
                    Handler(point),
                    model=Model(point),
                    tools_config=ToolsConfig([T(point), U(point)]),
                )
                inner.append(agent.run((USER,), ctx=ctx))
                return (await inner[-1].result()).answer.content

        tools = ToolsConfig([Nested(point), U(Point("nowhere"))])
        return await until_cancelled(point, tools_config=tools)

    left = run(scenario())

    assert_left_well(left)
    assert_left_well(replace(left, run=inner[0]))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["t", "u", "u chunk 1", "u closing", "model chunk 3"])
@pytest.mark.parametrize("how", ["waiting", "at once"])
def test_a_run_under_1_000_wrappers_is_left_well(name, how):
    async def scenario():
        point = Point(name, how)
        handlers = [Handler(Point("nowhere")) for _ in range(1000)]
        left = await until_cancelled(
            point, *handlers, stream=name.startswith("model"), consume=reading
        )
        return left, handlers

    left, handlers = run(scenario())

    assert_left_well(left)
    for each in handlers:
        assert each.point.entered == each.point.left


def test_an_answer_that_was_told_whole_is_kept_by_one_who_leaves_there():
    async def scenario():
        point = Point("nowhere")
        agent = await build(model=Model(point))
        async with agent.run((USER,)) as started:
            async for event in started:
                return event.message, started
        raise AssertionError

    message, started = run(scenario())

    assert outcome_of(started).messages[1] == message
    assert len(tool_texts(outcome_of(started))) == 2


def test_a_result_that_a_hook_took_out_is_not_said_to_be_missing():
    class Forgetful(Handler):
        """It takes all results out, and waits at the second model call."""

        async def before_model_rewrite_history(self, ctx, messages):
            return ctx, [each for each in messages if each.role != "tool"]

        async def wrap_model_call(self, ctx, request, next):
            if self.point.entered["model"] == 1:
                await self.point.at("model again")
            return await next(ctx, request)

    async def scenario():
        point = Point("model again")
        tools = ToolsConfig([T(point), U(point)])
        handler = Forgetful(point)
        return await until_cancelled(point, handler, tools_config=tools)

    assert run(scenario()).results == []


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_run_that_is_left_waits_for_a_tool_that_takes_its_time(times):
    class Slow(T):
        """It cleans up, and goes on with that if it is cancelled again."""

        async def invoke(self, *_):
            with self.point.inside("slow"):
                try:
                    await asyncio.Event().wait()
                finally:
                    with suppress(asyncio.CancelledError):
                        await asyncio.sleep(5)
                    await asyncio.sleep(5)

    left = cancelled_at("u", tools=[Slow, U], times=times)

    assert left.point.left["slow"] == 1


def test_one_cancellation_comes_out_once():
    async def consume(started):
        try:
            await started.result()
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            cleaned.append(True)
            raise

    cleaned = []
    for name in ("model", "before_model", "t", "after_agent"):
        cancelled_at(name, Handler, how="at once", tools=[T, U], consume=consume)

    assert cleaned == [True] * 4
