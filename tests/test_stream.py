"""Streams: read once, closed once, errors wrapped once, and never too deep."""

import asyncio

import pytest

from refengine.errors import (
    HookError,
    StreamBrokenOffError,
    StreamConsumedError,
    ToolError,
)
from refengine.helpers import with_streamable_tool_wrapper
from refengine.run import RunResult
from refengine.stream import DROP, StreamReader, convert_stream
from refengine.tools import StreamToolCallResult
from tests.support import (
    DONE,
    Model,
    Pieces,
    build,
    calls,
    each,
    play,
    read,
    reader,
    run,
    stream_of,
    tool_texts,
)

MANY = 10_000


class Source:
    """An iterator that never ends by itself and counts how often it is closed."""

    def __init__(self):
        self.closed = 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        return "x"

    async def aclose(self):
        self.closed += 1


async def failing(*chunks, error):
    for chunk in chunks:
        yield chunk
    raise error


def test_a_stream_is_a_single_pass():
    async def read_twice():
        stream = reader("abc")
        return await read(stream), await read(stream)

    assert run(read_twice()) == (["a", "b", "c"], [])


def test_a_closed_stream_gives_no_more_chunks():
    async def close_between():
        stream = reader("abc")
        first = await stream.__anext__()
        await stream.aclose()
        return first, await read(stream)

    assert run(close_between()) == ("a", [])


def test_a_stream_closed_unread_is_empty():
    async def close_first():
        stream = reader("abc")
        await stream.aclose()
        return await read(stream)

    assert run(close_first()) == []


def test_closing_closes_the_source_once():
    source = Source()

    async def close_it():
        stream = StreamReader(source)
        await stream.aclose()
        await stream.aclose()

    run(close_it())

    assert source.closed == 1


def test_closing_a_conversion_and_what_it_came_from_closes_the_source_once():
    source = Source()

    async def close_them():
        inner = StreamReader(source)
        outer = convert_stream(convert_stream(inner, str), str)
        await outer.aclose()
        await inner.aclose()
        await outer.aclose()

    run(close_them())

    assert source.closed == 1


def test_what_an_unread_conversion_came_from_can_still_be_closed():
    source = Source()

    async def close_inner():
        inner = StreamReader(source)
        convert_stream(inner, str)
        await inner.aclose()

    run(close_inner())

    assert source.closed == 1


def test_conversions_apply_in_the_order_they_were_made():
    stream = convert_stream(
        convert_stream(reader("ab"), lambda c: c + "1"), "{}2".format
    )

    assert run(read(stream)) == ["a12", "b12"]


def test_a_chunk_that_becomes_drop_is_left_out_and_seen_no_further():
    seen = []
    odd = convert_stream(reader(range(5)), lambda n: n if n % 2 else DROP)
    stream = convert_stream(odd, lambda n: seen.append(n) or n)

    assert run(read(stream)) == [1, 3]
    assert seen == [1, 3]


def test_a_stream_may_consist_of_dropped_chunks_only():
    assert run(read(convert_stream(reader("abc"), lambda _: DROP))) == []


def test_none_and_empty_text_are_chunks():
    assert run(read(convert_stream(reader([None, "", 0]), lambda c: c))) == [
        None,
        "",
        0,
    ]


def test_converting_uses_up_the_source():
    async def read_the_source():
        inner = reader("abc")
        convert_stream(inner, str)
        await read(inner)

    with pytest.raises(StreamConsumedError):
        run(read_the_source())


def test_a_stream_converted_is_not_converted_again():
    inner = reader("abc")
    convert_stream(inner, str)

    with pytest.raises(StreamConsumedError):
        convert_stream(inner, str)


def test_a_stream_begun_is_not_converted():
    async def begin_and_convert():
        inner = reader("abc")
        await inner.__anext__()
        convert_stream(inner, str)

    with pytest.raises(StreamConsumedError):
        run(begin_and_convert())


def test_the_error_wrapper_is_applied_once_after_many_conversions():
    seen = []

    def wrapper(error):
        seen.append(error)
        return LookupError(str(error))

    async def convert_and_read():
        stream = StreamReader(failing("a", error=OSError("x")), error_wrapper=wrapper)
        for _ in range(100):
            stream = convert_stream(stream, str)
        assert await stream.__anext__() == "a"
        await stream.__anext__()

    with pytest.raises(LookupError, match=r"^x$") as caught:
        run(convert_and_read())

    assert [str(error) for error in seen] == ["x"]
    assert caught.value.__cause__ is seen[0]


def test_the_error_of_a_conversion_is_not_wrapped_as_one_of_the_source():
    stream = StreamReader(each("a"), error_wrapper=lambda e: LookupError(str(e)))
    broken = convert_stream(stream, int)

    with pytest.raises(ValueError, match="invalid literal"):
        run(read(broken))


def test_after_an_error_a_stream_is_over():
    async def read_on():
        stream = StreamReader(failing("a", error=OSError()))
        with pytest.raises(OSError, match=r"^$"):
            await read(stream)
        return await read(stream)

    assert run(read_on()) == []


def test_many_conversions_are_read_without_recursion():
    stream = reader([0, 1])
    for _ in range(MANY):
        stream = convert_stream(stream, lambda n: n + 1)

    assert run(read(stream)) == [MANY, MANY + 1]


def wrapped(tool, *handlers):
    return play(*handlers, tools=[tool], model=Model(calls("t"), DONE), stream=True)


def converting(fn):
    async def wrap(ctx, input, next):
        opened = await next(ctx, input)
        return StreamToolCallResult(convert_stream(opened.result, fn))

    return with_streamable_tool_wrapper(wrap)


def regenerating(fn=lambda chunk: chunk):
    async def through(stream):
        async for chunk in stream:
            yield fn(chunk)

    async def wrap(ctx, input, next):
        opened = await next(ctx, input)
        return StreamToolCallResult(StreamReader(through(opened.result)))

    return with_streamable_tool_wrapper(wrap)


@pytest.mark.parametrize("around", [converting, regenerating])
def test_10_000_wrappers_may_each_rebuild_a_stream(around):
    entered = []
    tool = Pieces(chunks="abc")
    result = wrapped(
        tool, *(around(lambda c: entered.append(1) or c) for _ in range(MANY))
    )

    assert tool_texts(result) == ["abc"]
    assert len(entered) == 3 * MANY


def fail(error):
    def convert(_):
        raise error

    return convert


@pytest.mark.parametrize("around", [converting, regenerating])
def test_an_error_inside_a_rebuilt_stream_names_the_wrapper_that_raised_it(around):
    fine = [around(lambda c: c) for _ in range(2)]

    with pytest.raises(HookError) as caught:
        wrapped(Pieces(), fine[0], around(fail(OSError("x"))), fine[1])

    assert caught.value.position == 1
    assert isinstance(caught.value.cause, OSError)


def test_an_error_in_a_conversion_of_a_conversion_names_the_wrapper_of_both():
    async def wrap(ctx, input, next):
        opened = await next(ctx, input)
        inner = convert_stream(opened.result, fail(OSError("x")))
        return StreamToolCallResult(convert_stream(inner, str))

    with pytest.raises(HookError) as caught:
        wrapped(Pieces(), converting(str), with_streamable_tool_wrapper(wrap))

    assert caught.value.position == 1


@pytest.mark.parametrize("around", [converting, regenerating])
def test_a_tool_s_own_stream_error_is_a_tool_error_through_all_wrappers(around):
    with pytest.raises(ToolError) as caught:
        wrapped(Pieces(fails=OSError("x")), around(str), around(str))

    assert isinstance(caught.value.cause, OSError)


@pytest.mark.parametrize("around", [converting, regenerating])
def test_a_tool_s_error_is_the_tool_s_behind_an_error_wrapper_too(around):
    class Translating(Pieces):
        """Its stream says LookupError for whatever went wrong."""

        async def stream(self, ctx, arguments, options):
            return StreamReader(self._read(), error_wrapper=lambda _: LookupError())

    with pytest.raises(ToolError) as caught:
        wrapped(Translating(fails=OSError("x")), around(str), around(str))

    assert isinstance(caught.value.cause, LookupError)


def test_all_streams_of_a_call_are_closed_when_it_is_over():
    source = Source()

    class Endless(Pieces):
        """Its stream never ends by itself."""

        async def stream(self, ctx, arguments, options):
            return StreamReader(source)

    async def first_chunk_only(stream):
        async for chunk in stream:
            yield chunk
            return

    async def wrap(ctx, input, next):
        opened = await next(ctx, input)
        return StreamToolCallResult(StreamReader(first_chunk_only(opened.result)))

    result = wrapped(Endless(), with_streamable_tool_wrapper(wrap))

    assert tool_texts(result) == ["x"]
    assert source.closed == 1


def test_a_read_that_is_cancelled_takes_nothing_from_the_run():
    async def cancel_a_read():
        going_on = asyncio.Event()

        class Slow(Pieces):
            """Its second piece waits for the test."""

            async def _read(self):
                yield "a"
                await going_on.wait()
                yield "b"

        model = Model(calls("t"), DONE)
        agent = await build(model=model, tools=[Slow()])
        async with agent.run((), stream=True) as started:
            async for event in started:
                if event.kind != "tool":
                    continue
                assert await stream_of(event).__anext__() == "a"
                pull = asyncio.ensure_future(stream_of(event).__anext__())
                await asyncio.wait([pull], timeout=0)
                pull.cancel()
                await asyncio.wait([pull])
                going_on.set()
            return await started.result()

    assert tool_texts(run(cancel_a_read())) == ["ab"]


class Endless:
    """A tool whose stream waits forever after its first piece; counts its closings."""

    def __init__(self):
        self.info = Pieces().info
        self.closed = 0

    async def stream(self, ctx, arguments, options):
        return StreamReader(self._read())

    async def _read(self):
        try:
            yield "a"
            await asyncio.Event().wait()
        finally:
            self.closed += 1


@pytest.mark.parametrize("waiting", [False, True])
def test_leaving_a_run_breaks_its_streams_off_and_closes_them(waiting):
    tool = Endless()

    async def leave() -> RunResult:
        stream = pending = None
        agent = await build(model=Model(calls("t"), DONE), tools=[tool])
        async with agent.run((), stream=True) as started:
            async for event in started:
                if event.kind == "tool":
                    stream = stream_of(event)
                    assert await stream.__anext__() == "a"
                    if waiting:
                        pending = asyncio.ensure_future(stream.__anext__())
                        await asyncio.sleep(0)
                    break
        assert stream is not None
        assert started.outcome is not None
        with pytest.raises(StreamBrokenOffError):
            await (pending or stream.__anext__())
        return started.outcome

    outcome = run(leave())

    assert tool.closed == 1
    assert [event.kind for event in outcome.events] == ["model", "tool"]


def test_a_wrapper_that_fails_after_next_leaves_no_stream_open():
    tool = Endless()

    async def fail(ctx, input, next):
        stream = await next(ctx, input)
        await stream.result.__anext__()
        raise ValueError

    with pytest.raises(HookError):
        play(
            with_streamable_tool_wrapper(fail),
            model=Model(calls("t"), DONE),
            tools=[tool],
        )
    assert tool.closed == 1


def test_a_stream_that_a_wrapper_has_read_is_no_result():
    async def read_it(ctx, input, next):
        result = await next(ctx, input)
        await read(result.result)
        return result

    with pytest.raises(HookError) as caught:
        play(
            with_streamable_tool_wrapper(read_it),
            model=Model(calls("t"), DONE),
            tools=[Pieces()],
        )
    assert isinstance(caught.value.cause, StreamConsumedError)
