"""Retry in streamed runs: what the reader of each attempt's stream is told."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from refengine import (
    HookError,
    Message,
    MessageChunk,
    ModelRetry,
    StreamBrokenOffError,
    StreamReader,
    WillRetryError,
    convert_stream,
)
from refengine.testing.clock import run
from tests.retry_support import (
    TWICE,
    Broken,
    Busy,
    Fatal,
    Shaky,
    Wrapper,
    play,
    read_stream,
)
from tests.support import DONE, USER, build, finish, read, stream_of


def test_reader_is_told_apart_what_will_be_retried_and_what_will_not():
    error = Busy("of the first")
    model = Shaky(Broken(error), Broken(chunks=()), Broken(chunks=("again",)))

    seen = play(model=model, retry=TWICE, stream=True)

    assert [text for text, _ in seen.streams] == ["partial", "", "again"]
    assert seen.told == ["WillRetryError", "WillRetryError", "RetriesExhaustedError"]
    told = seen.streams[0][1]
    assert isinstance(told, WillRetryError)
    assert (told.attempt, told.cause, told.__cause__) == (1, error, error)
    assert "attempt 1 at the model broke off (Busy: of the first)" in str(told)
    assert seen.streams[2][1] is seen.error


def test_falling_back_is_told_as_a_retry():
    retry = ModelRetry(0, fall_back=(Shaky(Broken()),))

    seen = play(model=Shaky(Broken()), retry=retry, stream=True)

    assert seen.told == ["WillRetryError", "RetriesExhaustedError"]


def test_events_keep_what_failed_attempts_gave():
    seen = play(model=Shaky(Broken(), Busy(), DONE), retry=TWICE, stream=True)

    events = seen.result.events
    assert [event.message for event in events] == [None, DONE]
    assert [event.chunks for event in events] == [
        tuple(MessageChunk(text) for text in ("par", "tial")),
        tuple(MessageChunk(letter) for letter in "done"),
    ]


def test_stream_of_every_attempt_is_closed():
    model = Shaky(Broken(), Broken(), DONE)

    play(model=model, retry=TWICE, stream=True)

    assert model.closed == 3


def test_consumer_that_reads_nothing_gets_the_same_run():
    async def play_it():
        agent = await build(model=Shaky(Broken(), DONE), retry=TWICE)
        return await finish(agent, stream=True)

    result = run(play_it())
    assert result.answer == DONE
    assert [event.message for event in result.events] == [None, DONE]


def test_stream_that_is_read_after_its_attempt_still_tells():
    async def play_it():
        agent = await build(model=Shaky(Broken(), DONE), retry=TWICE)
        async with agent.run([USER], stream=True) as started:
            events = [event async for event in started]
        return [await read_stream(event) for event in events]

    (text, error), last = run(play_it())
    assert (text, type(error)) == ("partial", WillRetryError)
    assert last == ("done", None)


def test_policy_is_asked_once_whoever_reads():
    asked_about = []
    retry = replace(TWICE, retry_on=lambda got: asked_about.append(got) or True)
    error = Busy()

    play(model=Shaky(Broken(error), DONE), retry=retry, stream=True)

    assert asked_about == [error]


def test_reader_whose_run_was_left_is_not_promised_another_attempt():
    async def play_it():
        agent = await build(model=Shaky(Broken(), DONE), retry=TWICE)
        async with agent.run([USER], stream=True) as started:
            event = await anext(started)
            await anext(stream_of(event))
        return await read_stream(event)

    _, error = run(play_it())
    assert isinstance(error, StreamBrokenOffError)


def test_stream_that_another_run_broke_off_is_an_attempt_that_failed():
    lost = StreamBrokenOffError()  # as of an agent that the model asks itself

    seen = play(model=Shaky(Broken(lost), DONE), retry=TWICE, stream=True)

    assert seen.told == ["WillRetryError", None]


def test_consumer_s_own_conversion_keeps_what_it_is_told():
    async def play_it():
        agent = await build(model=Shaky(Broken(), DONE), retry=TWICE)
        async with agent.run([USER], stream=True) as started:
            given = stream_of(await anext(started))
            with pytest.raises(WillRetryError) as told:
                await read(convert_stream(given, str))
        return told.value

    assert isinstance(run(play_it()).cause, Busy)


@pytest.mark.parametrize("count", [1, 1_000])
def test_error_is_wrapped_once_however_many_wrappers_convert(count):
    def shout(chunk):
        return replace(chunk, content=chunk.content.upper())

    class Shouting:
        def __init__(self, at):
            self.name = f"h{at}"

        async def wrap_model_call(self, ctx, request, next):
            return convert_stream(await next(ctx, request), shout)

    handlers = [Shouting(at) for at in range(count)]
    model = Shaky(Broken(), DONE)

    seen = play(*handlers, model=model, retry=TWICE, stream=True)

    assert [text for text, _ in seen.streams] == ["PARTIAL", "DONE"]
    assert isinstance(seen.streams[0][1], WillRetryError)
    assert isinstance(seen.streams[0][1].cause, Busy)


def test_model_s_own_error_wrapper_comes_first():
    class Named(Shaky):
        async def stream(self, ctx, messages, tools, options):
            chunks = self._chunks(self._next(messages))
            return StreamReader(chunks, error_wrapper=lambda e: Fatal(f"named {e}"))

    async def convert(ctx, request, next):
        return convert_stream(await next(ctx, request), lambda chunk: chunk)

    asked_about = []
    retry = replace(TWICE, retry_on=lambda got: asked_about.append(str(got)) or True)
    model = Named(Broken(), DONE)

    seen = play(Wrapper(convert), model=model, retry=retry, stream=True)

    assert asked_about == ["named broken off"]
    assert str(seen.streams[0][1].cause) == "named broken off"


def rebuilt(read):
    """Return a wrapper that reads the stream with a generator of its own."""

    async def wrap(ctx, request, next):
        return StreamReader(read(await next(ctx, request)))

    return Wrapper(wrap)


def test_wrapper_with_a_generator_sees_what_was_raised_and_lets_it_pass():
    caught = []

    async def watched(stream):
        try:
            async for chunk in stream:
                yield chunk
        except Busy as error:
            caught.append(error)
            raise

    error = Busy()
    model = Shaky(Broken(error), DONE)

    seen = play(rebuilt(watched), model=model, retry=TWICE, stream=True)

    assert caught == [error]
    assert seen.told == ["WillRetryError", None]


def test_wrapper_that_ends_a_broken_stream_has_answered():
    async def ended(stream):
        try:
            async for chunk in stream:
                yield chunk
        except Busy:
            yield MessageChunk("!")

    model = Shaky(Broken())

    seen = play(rebuilt(ended), model=model, retry=TWICE, stream=True)

    assert seen.streams == [("partial!", None)]
    assert seen.result.answer == Message("assistant", "partial!")
    assert len(model.asked) == 1


def test_policy_is_asked_about_what_left_the_outermost_wrapper():
    asked_about = []

    async def renamed(stream):
        try:
            async for chunk in stream:
                yield chunk
        except Busy as error:
            raise Fatal from error

    def only_busy(error):
        asked_about.append(type(error))
        return isinstance(error, Busy)

    model = Shaky(Broken())
    retry = replace(TWICE, retry_on=only_busy)

    seen = play(rebuilt(renamed), model=model, retry=retry, stream=True)

    assert asked_about == [Fatal]
    assert seen.told == ["Fatal"]
    assert isinstance(seen.error, HookError)


def test_conversion_that_raises_is_an_attempt_that_failed():
    def fail_at_first(chunk):
        if wrapper.entered == 1:
            raise Busy
        return chunk

    async def convert(ctx, request, next):
        return convert_stream(await next(ctx, request), fail_at_first)

    wrapper = Wrapper(convert)

    seen = play(wrapper, model=Shaky(DONE, DONE), retry=TWICE, stream=True)

    assert seen.told == ["WillRetryError", None]


def test_answer_that_cannot_be_joined_is_told_at_the_end_of_its_stream():
    class Mixed(Shaky):
        async def _chunks(self, step):
            yield MessageChunk("ok")
            if step is None:
                yield SimpleNamespace(content="?")

    seen = play(model=Mixed(None, DONE), retry=TWICE, stream=True)

    assert [text for text, _ in seen.streams] == ["ok?", "ok"]
    assert seen.told == ["WillRetryError", None]
    assert isinstance(seen.streams[0][1].cause, TypeError)
