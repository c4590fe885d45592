"""Cancellation of a run that asks something, or that is kept (INT, SER)."""

import asyncio
from typing import Any

import pytest

from refengine.interrupts import interrupt
from refengine.run import Run
from refengine.state.checkpoints import Checkpoints
from refengine.state.stores import MemoryStore
from refengine.testing.clock import run
from refengine.tools import ToolsConfig
from tests.cancelling import Handler, Model, Point, T, U, assert_left_well
from tests.cancelling import until_cancelled as until
from tests.support import USER, build, outcome_of, tool_texts


class Asking(T):
    """A tool that asks first."""

    async def invoke(self, *given: object) -> str:
        answer = interrupt("may I?")
        return f"{await super().invoke(*given)} {answer}"


def test_a_call_that_asks_has_not_ended_when_its_sibling_is_cancelled():
    async def scenario():
        point = Point("u")
        tools = ToolsConfig([Asking(point), U(point)])
        return await until(point, tools_config=tools)

    left = run(scenario())

    assert_left_well(left)
    assert left.outcome.interrupts == ()
    assert [marked for _, marked in left.results] == [True, True]


@pytest.mark.parametrize("stream", [True, False])
def test_leaving_at_the_event_that_asks_leaves_an_interrupted_run(stream):
    async def scenario():
        point = Point("nowhere")
        tools = ToolsConfig([Asking(point), U(point)])
        agent = await build(model=Model(point), tools_config=tools)
        async with agent.run((USER,), stream=stream) as started:
            async for event in started:
                if event.kind == "interrupt":
                    break
        return outcome_of(started)

    outcome = run(scenario())

    assert outcome.status == "interrupted"
    assert [each.payload for each in outcome.interrupts] == ["may I?"]


async def cancelled_and_resumed(name: str, stream: bool) -> tuple[Point, Run, Any]:
    """Cancel a run that is kept, then let it go on from where it was kept last."""
    point = Point(name)
    agent = await build(
        Handler(point),
        model=Model(point),
        tools_config=ToolsConfig([T(point), U(point)]),
        checkpoints=Checkpoints(MemoryStore()),
    )
    started = agent.run((USER,), stream=stream, checkpoint="k")
    task = asyncio.create_task(started.result())
    await point.reached.wait()
    task.cancel()
    await asyncio.wait({task})
    return point, started, await agent.resume("k").result()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ["model", "after_model", "t", "u", "u chunk 1"])
def test_a_cancelled_run_that_is_kept_can_go_on(name, stream):
    _, started, result = run(cancelled_and_resumed(name, stream))

    assert outcome_of(started).status == "cancelled"
    assert result.status == "completed"


def test_what_a_cancellation_puts_into_the_history_is_not_kept():
    _, started, result = run(cancelled_and_resumed("t", stream=False))

    assert tool_texts(outcome_of(started)) != ["T", "UV"]
    assert tool_texts(result) == ["T", "UV"]
