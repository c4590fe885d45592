"""What helps a door to tell: to the end, in lock-step, in pieces."""

import asyncio
from typing import Any

import pytest

from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.errors import HookError
from refengine.events import AgentEvent
from refengine.messages import Message
from refengine.run import RunResult
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.blaming import blamed, named_wraps
from refengine.testing.clock import run
from refengine.testing.doors import FailedRun, ended, event_of
from refengine.testing.scripted import ScriptedModel
from refengine.testing.telling import Pieces, in_lock_step, to_the_end
from refengine.tools import ToolCallInput, ToolMiddleware, ToolsConfig

USER, ANSWER = Message("user", "hi"), Message("assistant", "yes")


def all_of(yielded: Any) -> list[Any]:
    async def read() -> list[Any]:
        return [each async for each in yielded]

    return run(read())


async def answers(*told: Any) -> Any:
    for each in told:
        if isinstance(each, Exception):
            raise each
        yield each


def left() -> RunResult:
    return ended([USER, ANSWER], "max_iterations", iterations=2, first=USER)


def test_messages_become_events_and_the_end_comes_last() -> None:
    event = AgentEvent("model", ("mine",), ANSWER)

    assert all_of(to_the_end(answers(ANSWER, event), left, "mine")) == [
        event_of(ANSWER, "mine"),
        event,
        left(),
    ]


def test_a_function_in_the_place_of_what_it_returns_is_told_as_that() -> None:
    given: Any = answers

    with pytest.raises(TypeError, match="was given a function: it takes what an async"):
        all_of(to_the_end(given, left, "mine"))


def test_a_run_that_failed_keeps_what_it_has_left() -> None:
    error = ValueError("no")
    found = all_of(to_the_end(answers(ANSWER, error), left, "mine"))[-1]

    assert isinstance(found, FailedRun)
    assert found.error is error
    assert found.outcome == ended([USER, ANSWER], "error", iterations=2, first=USER)


def test_what_tells_is_closed_when_a_run_is_left_early() -> None:
    closed = []

    async def told() -> Any:
        try:
            yield ANSWER
        finally:
            closed.append("closed")

    async def leave() -> None:
        run_of_it = to_the_end(told(), left, "mine")
        await anext(run_of_it)
        await run_of_it.aclose()

    run(leave())
    assert closed == ["closed"]


def test_a_task_in_lock_step_waits_for_each_event_to_be_taken() -> None:
    seen: list[str] = []

    async def work(tell: Any) -> None:
        for at in range(2):
            seen.append(f"told {at}")
            await tell(at)
            seen.append(f"after {at}")

    async def consume() -> None:
        async for event in in_lock_step(work):
            await asyncio.sleep(10)
            seen.append(f"took {event}")

    run(consume())
    assert seen == ["told 0", "took 0", "after 0", "told 1", "took 1", "after 1"]


def test_what_a_task_in_lock_step_raises_comes_behind_all_that_it_told() -> None:
    async def work(tell: Any) -> None:
        await tell("event")
        raise ValueError("no")

    async def consume() -> Any:
        told = in_lock_step(work)
        first = await anext(told)
        with pytest.raises(ValueError, match="no"):
            await anext(told)
        return first

    assert run(consume()) == "event"


def test_a_task_in_lock_step_is_cancelled_by_who_leaves_early() -> None:
    seen = []

    async def work(tell: Any) -> None:
        try:
            await tell("event")
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            seen.append("cleaned up")
            raise

    async def leave() -> None:
        told = in_lock_step(work)
        assert await anext(told) == "event"
        await told.aclose()
        seen.append("left")

    run(leave())
    assert seen == ["cleaned up", "left"]


def test_pieces_come_as_they_are_added_and_then_the_error() -> None:
    async def consume() -> list[object]:
        pieces: Pieces[str] = Pieces()
        got: list[object] = []
        pieces.add("a")
        got.append(await anext(pieces.reader))
        pieces.add("b")
        pieces.end(ValueError("no"))
        pieces.end()
        try:
            while True:
                got.append(await anext(pieces.reader))
        except ValueError as error:
            got.append(str(error))
        return got

    assert run(consume()) == ["a", "b", "no"]


def configured(**more: Any) -> ChatModelAgentConfig:
    return ChatModelAgentConfig("a", "", ScriptedModel([]), **more)


def test_wrappers_of_a_configuration_are_named_outermost_first() -> None:
    order: list[str] = []

    def wraps(name: str) -> ToolMiddleware:
        def make(inner: Any) -> Any:
            async def endpoint(ctx: Context, asked: ToolCallInput) -> Any:
                order.append(name)
                if name == "fails":
                    raise ValueError(name)
                return await inner(ctx, asked)

            return endpoint

        return ToolMiddleware(invokable=make)

    structs = (AgentMiddleware(), AgentMiddleware(wrap_tool_call=wraps("fails")))
    tools = ToolsConfig(tool_call_middlewares=(wraps("own"),))
    config = configured(tools_config=tools, middlewares=structs)

    async def innermost(ctx: Context, asked: ToolCallInput) -> Any:
        raise AssertionError(asked)

    endpoint: Any = innermost
    for each in reversed(named_wraps(config)):
        endpoint = each(endpoint)
    with pytest.raises(ValueError, match="fails") as caught:
        run(endpoint(Context(), ToolCallInput("t", "{}", "c1")))

    named = blamed(caught.value)
    assert order == ["own", "fails"]
    assert isinstance(named, HookError)
    assert (named.handler, named.hook, named.call_id) == (
        "middleware[1]",
        "wrap_tool_call",
        "c1",
    )


def test_a_factory_that_raises_is_noted_too() -> None:
    def make(inner: Any) -> Any:
        raise ValueError("no factory")

    struct = AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable=make))
    (wrap,) = named_wraps(configured(middlewares=(struct,)))
    with pytest.raises(ValueError, match="no factory") as caught:
        wrap(lambda ctx, asked: asyncio.sleep(0))

    assert isinstance(blamed(caught.value), HookError)
