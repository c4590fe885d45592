"""The built-in handlers: logging, cache, tool filter."""

import asyncio
import logging

import pytest

from refengine.errors import (
    HandlerArgumentError,
    HookError,
    ModelError,
    ToolError,
    UnknownToolNameError,
)
from refengine.handlers import CacheHandler, LoggingHandler, ToolFilterHandler
from refengine.helpers import (
    with_invokable_tool_wrapper,
    with_streamable_tool_wrapper,
    with_tools,
)
from refengine.stream import StreamReader, convert_stream
from refengine.tools import StreamToolCallResult, ToolCallResult
from tests.support import (
    DONE,
    Model,
    Pieces,
    Whole,
    build,
    calls,
    finish,
    play,
    run,
    stream_of,
    tool_texts,
)

LOGGER = logging.getLogger("refengine.tests")


# Logging


def logged(caplog, **made_of):
    with caplog.at_level(logging.INFO, LOGGER.name):
        play(LoggingHandler(LOGGER), **made_of)
    return [record.message for record in caplog.records]


@pytest.mark.parametrize("stream", [False, True])
def test_model_and_tool_calls_are_logged_in_both_modes(caplog, stream):
    messages = logged(
        caplog, model=Model(calls("t"), DONE), tools=[Whole()], stream=stream
    )

    assert messages == [
        "model (1 messages, 1 tools) starts",
        "model (1 messages, 1 tools) ended",
        "tool t (call c0) starts",
        "tool t (call c0) ended",
        "model (3 messages, 1 tools) starts",
        "model (3 messages, 1 tools) ended",
    ]


def test_a_model_s_error_is_logged_and_passes_unchanged(caplog):
    class Broken(Model):
        """A model that is out of order."""

        async def invoke(self, ctx, messages, tools, options):
            raise OSError("x")

    with pytest.raises(ModelError) as caught:
        logged(caplog, model=Broken())

    assert isinstance(caught.value.cause, OSError)
    assert caplog.records[-1].message == (
        "model (1 messages, 0 tools) failed: OSError: x"
    )


def test_a_model_s_error_in_its_stream_is_logged_and_passes_unchanged(caplog):
    class Broken:
        """A model whose stream breaks off."""

        async def stream(self, ctx, messages, tools, options):
            return StreamReader(self._read())

        async def _read(self):
            for chunk in ():
                yield chunk
            raise OSError("x")

    with pytest.raises(ModelError) as caught:
        logged(caplog, model=Broken(), stream=True)

    assert isinstance(caught.value.cause, OSError)
    assert caplog.records[-1].levelname == "ERROR"


def test_a_stream_that_is_left_is_logged_as_broken_off(caplog):
    async def leave():
        agent = await build(
            LoggingHandler(LOGGER), model=Model(calls("t"), DONE), tools=[Pieces()]
        )
        async with agent.run((), stream=True) as started:
            async for event in started:
                if event.kind == "tool":
                    await stream_of(event).__anext__()
                    break

    with caplog.at_level(logging.INFO, LOGGER.name):
        run(leave())

    assert caplog.records[-1].message == "tool t (call c0) was broken off"


def test_a_cancelled_call_is_logged_as_broken_off_and_stays_cancelled(caplog):
    class Waiting(Whole):
        """A tool that never returns."""

        async def invoke(self, ctx, arguments, options):
            entered.set()
            return await asyncio.Event().wait()

    async def cancel():
        agent = await build(
            LoggingHandler(LOGGER), model=Model(calls("t"), DONE), tools=[Waiting()]
        )
        task = asyncio.create_task(finish(agent))
        await entered.wait()
        task.cancel()
        await task

    entered = asyncio.Event()
    level = caplog.at_level(logging.INFO, LOGGER.name)
    with level, pytest.raises(asyncio.CancelledError):
        run(cancel())

    assert caplog.records[-1].message == "tool t (call c0) was broken off"


def test_the_level_is_a_choice(caplog):
    with caplog.at_level(logging.INFO, LOGGER.name):
        play(LoggingHandler(LOGGER, level=logging.DEBUG))

    assert caplog.records == []


def test_logging_takes_a_logger():
    with pytest.raises(HandlerArgumentError):
        LoggingHandler("refengine")


# Cache


class Numbering(Whole):
    """A tool that never gives the same result twice."""

    async def invoke(self, ctx, arguments, options):
        await super().invoke(ctx, arguments, options)
        return f"{arguments} {self.count}"


class NumberedPieces(Pieces):
    """A streaming tool that never gives the same result twice."""

    async def _read(self):
        for chunk in ("n", str(self.count)):
            yield chunk


def asking(*arguments):
    """Return a model that calls the tool with these, one after the other."""
    return Model(*(calls("t", arguments=each) for each in arguments), DONE)


@pytest.mark.parametrize("stream", [False, True])
def test_an_equal_call_is_answered_from_the_cache(stream):
    tool = Numbering()
    result = play(
        CacheHandler(), model=asking("a", "b", "a"), tools=[tool], stream=stream
    )

    assert tool_texts(result) == ["a 1", "b 2", "a 1"]
    assert tool.count == 2


def test_a_stream_is_replayed_in_the_same_chunks():
    tool = NumberedPieces()
    result = play(CacheHandler(), model=asking("a", "a"), tools=[tool], stream=True)
    chunks = [event.chunks for event in result.events if event.kind == "tool"]

    assert chunks == [("n", "1"), ("n", "1")]
    assert tool.count == 1


def test_name_and_arguments_are_told_apart():
    tools = [Numbering("a"), Numbering("a:b")]
    model = Model(calls("a", arguments="b:c"), calls("a:b", arguments="c"), DONE)
    result = play(CacheHandler(), model=model, tools=tools)

    assert tool_texts(result) == ["b:c 1", "c 1"]
    assert [tool.count for tool in tools] == [1, 1]


def test_arguments_are_compared_as_text():
    tool = Numbering()
    play(CacheHandler(), model=asking('{"a":1}', '{"a": 1}'), tools=[tool])

    assert tool.count == 2


def test_a_result_that_somebody_changes_stays_what_it_was_in_the_cache():
    async def spoil(ctx, input, next):
        result = await next(ctx, input)
        result.result += "!"
        return result

    result = play(
        with_invokable_tool_wrapper(spoil),
        CacheHandler(),
        with_invokable_tool_wrapper(spoil),
        model=asking("a", "a", "a"),
        tools=[Numbering()],
    )

    assert tool_texts(result) == ["a 1!!"] * 3


def test_a_stream_that_somebody_converts_stays_what_it_was_in_the_cache():
    async def shout(ctx, input, next):
        opened = await next(ctx, input)
        return StreamToolCallResult(convert_stream(opened.result, str.upper))

    result = play(
        with_streamable_tool_wrapper(shout),
        CacheHandler(),
        model=asking("a", "a"),
        tools=[NumberedPieces()],
    )

    assert tool_texts(result) == ["N1", "N1"]


def test_two_instances_share_nothing():
    tool = Numbering()
    for _ in range(2):
        play(CacheHandler(), model=asking("a"), tools=[tool])

    assert tool.count == 2


def test_one_instance_serves_many_runs_and_event_loops():
    tool, cache = Numbering(), CacheHandler()
    for _ in range(2):
        play(cache, model=asking("a"), tools=[tool])

    assert tool.count == 1


class Gated(Numbering):
    """A tool that waits until the test lets it go; fails where it is told to."""

    def __init__(self, *, fails_at=()):
        super().__init__()
        self.going_on = asyncio.Event()
        self.entered = asyncio.Event()
        self._fails_at = fails_at

    async def invoke(self, ctx, arguments, options):
        self.entered.set()
        count = await super().invoke(ctx, arguments, options)
        await self.going_on.wait()
        if self.count in self._fails_at:
            raise OSError(count)
        return count


async def together(tool, many, *, then=None):
    """Run the same call many times at once, and let the tool go when all wait."""
    cache = CacheHandler()
    agents = [await build(cache, model=asking("a"), tools=[tool]) for _ in range(many)]
    tasks = [asyncio.create_task(finish(agent)) for agent in agents]
    await tool.entered.wait()
    await asyncio.wait(tasks, timeout=0)
    if then is not None:
        then(tasks)
    tool.going_on.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_equal_calls_at_once_share_one_execution():
    tool = Gated()
    results = run(together(tool, 10))

    assert [tool_texts(result) for result in results] == [["a 1"]] * 10
    assert tool.count == 1


def test_equal_calls_of_one_message_share_one_execution():
    tool = Numbering()
    result = play(CacheHandler(), model=Model(calls("t", "t", "t"), DONE), tools=[tool])

    assert tool_texts(result) == ["x 1"] * 3
    assert tool.count == 1


def test_a_failed_call_is_not_kept_and_those_that_waited_run_it_again():
    tool = Gated(fails_at=[1, 2])
    results = run(together(tool, 4))

    assert [type(result).__name__ for result in results] == [
        "ToolError",
        "ToolError",
        "RunResult",
        "RunResult",
    ]
    assert tool_texts(results[3]) == ["a 3"]
    assert tool.count == 3


def test_a_cancelled_call_takes_none_of_those_that_wait_with_it():
    tool = Gated()
    first, *others = run(together(tool, 3, then=lambda tasks: tasks[0].cancel()))

    assert isinstance(first, asyncio.CancelledError)
    assert [tool_texts(result) for result in others] == [["a 2"]] * 2


@pytest.mark.parametrize("tool", [Whole, Pieces])
def test_a_tool_s_error_stays_the_tool_s(tool):
    error = OSError("x")

    with pytest.raises(ToolError) as caught:
        play(CacheHandler(), model=asking("a"), tools=[tool(fails=error)])

    assert caught.value.cause is error


def test_other_options_are_another_call():
    tool = Numbering()

    async def run_them():
        model = Model(*(calls("t"), DONE) * 4)
        agent = await build(CacheHandler(), model=model, tools=[tool])
        for options in ({"k": 1}, {"k": True}, {}, {"k": 1}):
            await finish(agent, options=options)

    run(run_them())

    assert tool.count == 3


def test_a_call_whose_options_cannot_be_compared_is_not_cached():
    tool = Numbering()

    async def run_them():
        model = Model(*(calls("t"), DONE) * 2)
        agent = await build(CacheHandler(), model=model, tools=[tool])
        for _ in range(2):
            await finish(agent, options={"k": []})

    run(run_them())

    assert tool.count == 2


def test_only_the_tools_that_are_named_are_cached():
    named, other = Numbering("named"), Numbering("other")
    model = Model(*[calls("named", "other")] * 2, DONE)
    play(CacheHandler(only=["named"]), model=model, tools=[named, other])

    assert (named.count, other.count) == (1, 2)


def test_the_oldest_result_goes_first():
    tool = Numbering()
    result = play(
        CacheHandler(limit=2), model=asking("a", "b", "c", "b", "a"), tools=[tool]
    )

    assert tool_texts(result) == ["a 1", "b 2", "c 3", "b 2", "a 4"]


@pytest.mark.parametrize(
    "wrong", [{"only": "search"}, {"only": []}, {"limit": 0}, {"limit": True}]
)
def test_the_cache_s_arguments_are_checked(wrong):
    with pytest.raises(HandlerArgumentError, match=r"^CacheHandler got "):
        CacheHandler(**wrong)


def test_a_wrapper_inside_the_cache_is_not_entered_again():
    entered = []

    async def note(ctx, input, next):
        entered.append(input.arguments)
        return ToolCallResult("short")

    play(
        CacheHandler(),
        with_invokable_tool_wrapper(note),
        model=asking("a", "a"),
        tools=[Whole()],
    )

    assert entered == ["a"]


# Tool filter


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({"allow": ["a", "c"]}, ["a", "c"]),
        ({"allow": ("c", "a", "a")}, ["a", "c"]),
        ({"deny": ["b"]}, ["a", "c"]),
        ({"deny": iter(["a", "b", "c"])}, []),
    ],
)
def test_a_filter_leaves_the_tools_that_may_stay_in_their_order(chosen, left):
    model = Model(DONE)
    play(ToolFilterHandler(**chosen), model=model, tools=[Whole(n) for n in "abc"])

    assert model.shown == left


def test_a_filter_sees_what_the_handlers_before_it_added():
    model = Model(DONE)
    play(
        with_tools(Whole("b")),
        ToolFilterHandler(deny=["b"]),
        with_tools(Whole("c")),
        model=model,
        tools=[Whole("a")],
    )

    assert model.shown == ["a", "c"]


@pytest.mark.parametrize("choice", ["allow", "deny"])
def test_a_filter_with_an_unknown_name_is_refused_at_build(choice):
    with pytest.raises(HookError) as caught:
        run(build(ToolFilterHandler(**{choice: ["seach"]}), tools=[Whole("search")]))

    assert isinstance(caught.value.cause, UnknownToolNameError)
    assert "did you mean 'search'?" in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"allow": ["a"], "deny": ["b"]},
        {"allow": "a"},
        {"deny": []},
        {"allow": ["a", None]},
    ],
)
def test_a_filter_s_arguments_are_checked(wrong):
    with pytest.raises(HandlerArgumentError, match=r"^ToolFilterHandler got "):
        ToolFilterHandler(**wrong)
