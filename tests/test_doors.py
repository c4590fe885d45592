"""A door made of an async generator: what it tells is what the harness is told."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from refengine.context import Context, get_run_local, set_run_local
from refengine.events import AgentEvent
from refengine.messages import Message
from refengine.testing.clock import run
from refengine.testing.doors import (
    DoorError,
    GeneratedRun,
    at_call,
    door_agent,
    ended,
    event_of,
    handler_hooks,
    run_context,
)

USER, ANSWER = Message("user", "hi"), Message("assistant", "yes")


async def told(*steps: Any) -> AsyncGenerator[Any, None]:
    """Tell these; an exception is raised."""
    for each in steps:
        if isinstance(each, Exception):
            raise each
        yield each


def played(*steps: Any) -> tuple[list[AgentEvent], GeneratedRun]:
    async def play() -> tuple[list[AgentEvent], GeneratedRun]:
        agent = door_agent("mine", lambda messages, stream, options: told(*steps))
        async with agent.run([USER]) as started:
            events = [event async for event in started]
        return events, started

    return run(play())


def test_what_is_yielded_are_the_events_and_the_outcome() -> None:
    event = event_of(ANSWER, "mine")
    events, started = played(event, ended([USER, ANSWER], iterations=1))

    assert events == [event]
    assert started.outcome is not None
    assert started.outcome.status == "completed"
    assert started.outcome.answer == ANSWER
    assert list(started.outcome.messages) == [USER, ANSWER]
    assert started.outcome.events == (event,)
    assert started.outcome.iterations == 1


def test_what_the_generator_raises_is_the_last_event_and_the_outcome() -> None:
    error = ValueError("no")
    events, started = played(event_of(ANSWER, "mine"), error)

    assert [each.kind for each in events] == ["model", "error"]
    assert events[-1].error is error
    assert events[-1].run_path == ("mine",)
    assert started.outcome is not None
    assert started.outcome.status == "error"
    assert started.outcome.events == tuple(events)


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ((event_of(ANSWER, "mine"),), "ended without saying how the run ended"),
        ((ANSWER,), "of type Message"),
        (({"kind": "model"},), "of type dict"),
    ],
)
def test_a_generator_that_tells_something_else_is_refused(steps, why) -> None:
    with pytest.raises(DoorError, match=why) as caught:
        played(*steps)

    assert "yield AgentEvents and, at last, refengine.testing.doors.ended(...)" in str(
        caught.value
    )


def test_nothing_after_the_outcome_is_told() -> None:
    events, _ = played(ended([USER]), event_of(ANSWER, "mine"))

    assert events == []


def test_a_run_that_is_left_early_is_cancelled_and_closed() -> None:
    closed = []

    async def start(messages, stream, options):
        try:
            yield event_of(ANSWER, "mine")
            yield ended(messages)
        finally:
            closed.append("closed")

    async def play() -> GeneratedRun:
        async with door_agent("mine", start).run([USER]) as started:
            async for _ in started:
                break
        return started

    started = run(play())
    assert closed == ["closed"]
    assert started.outcome is not None
    assert started.outcome.status == "cancelled"


def test_the_flag_and_the_options_reach_the_generator() -> None:
    given = []

    async def start(messages, stream, options):
        given.append((list(messages), stream, dict(options)))
        yield ended(messages)

    async def play() -> None:
        agent = door_agent("mine", start)
        for stream, options in ((False, None), (True, {"a": 1})):
            async with agent.run([USER], stream, options=options) as started:
                assert [event async for event in started] == []

    run(play())
    assert given == [([USER], False, {}), ([USER], True, {"a": 1})]


def test_an_event_is_of_the_role_of_its_message() -> None:
    result = Message("tool", "r", tool_call_id="c1")

    assert event_of(ANSWER, "a", "b").run_path == ("a", "b")
    assert (event_of(ANSWER, "a").kind, event_of(ANSWER, "a").call_id) == (
        "model",
        None,
    )
    assert (event_of(result, "a").kind, event_of(result, "a").call_id) == ("tool", "c1")


def test_the_answer_is_the_last_of_the_assistant_unless_one_is_given() -> None:
    assert ended([ANSWER, USER]).answer == ANSWER
    assert ended([USER]).answer is None
    assert ended([ANSWER], answer=USER).answer == USER


def test_a_context_made_anew_is_placed_again_at_the_call() -> None:
    started = run_context("outer", "mine")
    at = at_call(Context().with_value("h", 1), started, "c1")
    set_run_local(at, "k", "kept")

    assert (at.run_path, at.tool_call_id, at.get("h")) == (("outer", "mine"), "c1", 1)
    assert get_run_local(started, "k") == "kept"


def test_each_run_has_values_of_its_own() -> None:
    set_run_local(run_context("mine"), "k", "kept")

    assert get_run_local(run_context("mine"), "k") is None


def test_the_hooks_of_a_handler_are_async_and_only_its_own() -> None:
    class Handler:
        name = "h"
        hooks = frozenset(("after_agent",))

        def after_agent(self, ctx, messages):
            return ctx

        def before_agent(self, ctx, config):
            raise AssertionError

    found = handler_hooks(Handler())
    ctx = Context()

    async def called() -> object:
        return await found["after_agent"](ctx, ())

    assert set(found) == {"after_agent"}
    assert run(called()) is ctx
