"""Runs of an agent: status, events, routing, options, and leaving early."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from refengine import (
    AgentAction,
    ChatModelAgentConfig,
    HookError,
    Message,
    ModelError,
    NoMessagesLeftError,
    ToolsConfig,
    attach_action,
    build_agent,
    with_after_model_rewrite_history,
    with_before_agent,
)
from refengine.errors import NotInToolCallError, ToolNotFound
from refengine.testing import (
    RecordingTool,
    ScriptedModel,
    Thread,
    ToolSpec,
    UnexpectedCallError,
)
from refengine.testing import run as virtual
from tests.support import run as aio

HI = [Message("user", "hi")]
CALL_T = "assistant:[1:t({})]"


def tool(name: str = "t", **spec: Any) -> RecordingTool:
    return RecordingTool(ToolSpec(name=name, **spec))


async def agent(script: Sequence[Any], *tools: RecordingTool, **parts: Any) -> Any:
    config = ChatModelAgentConfig(
        name="demo",
        description="",
        model=parts.pop("model", None) or ScriptedModel(script),
        tools_config=parts.pop("tools_config", ToolsConfig(tools=tools)),
        **parts,
    )
    return await build_agent(config)


async def play(script: Sequence[Any], *tools: RecordingTool, **parts: Any) -> Any:
    """Run once; return the run after its end, without raising its error."""
    stream = parts.pop("stream", False)
    made = await agent(script, *tools, **parts)
    async with made.run(HI, stream=stream) as run:
        async for event in run:
            if event.stream is not None:
                assert [chunk async for chunk in event.stream]
    return run


def after(*messages: Message) -> Any:
    """Make a handler that leaves these messages after the model."""
    return with_after_model_rewrite_history(lambda ctx, _: (ctx, list(messages)))


def test_an_unknown_tool_aborts_before_any_call_of_the_message_runs() -> None:
    known = tool("t")

    run = aio(play(["assistant:[1:t({})][2:nope({})]"], known))

    assert isinstance(run.error, ToolNotFound)
    assert (run.error.name, run.error.available) == ("nope", ("t",))
    assert known.executions == 0


def test_after_hooks_that_leave_nothing_end_the_run_with_an_error() -> None:
    run = aio(play(["assistant:x"], handlers=[after()]))

    assert isinstance(run.error, NoMessagesLeftError)
    assert run.outcome.events[-1].error is run.error


def test_an_error_is_the_last_event_and_result_raises_it() -> None:
    async def scenario() -> None:
        made = await agent([{"error": "down"}], model=Failing())
        async with made.run(HI) as run:
            with pytest.raises(ModelError, match="down"):
                await run.result()
            assert run.outcome.status == "error"
            assert [event async for event in run] == []

    class Failing:
        async def invoke(self, ctx, messages, tools, options):
            raise OSError("down")

    aio(scenario())


def test_a_stream_nobody_reads_holds_nothing_up() -> None:
    async def scenario() -> str:
        made = await agent(["assistant:aa bb"])
        async with made.run(HI, stream=True) as run:
            return (await run.result()).answer.content

    assert aio(scenario()) == "aa bb"


def test_leaving_early_cancels_the_run_and_its_calls() -> None:
    async def scenario() -> None:
        script = ["assistant:[1:t({})][2:u({})]"]
        made = await agent(script, tool("t", delay_ms=1), tool("u", delay_ms=10_000))
        async with made.run(HI) as run:
            async for event in run:
                if event.kind == "tool":
                    break
        assert run.outcome.status == "cancelled"
        assert len(asyncio.all_tasks()) == 1

    virtual(scenario())


def test_cancelling_the_consumer_is_no_event() -> None:
    async def scenario() -> None:
        made = await agent([CALL_T], tool(delay_ms=10_000))
        run = made.run(HI)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.result(), 1)
        assert run.outcome.status == "cancelled"
        assert run.error is None

    virtual(scenario())


def test_an_action_outside_a_tool_call_is_refused() -> None:
    with pytest.raises(NotInToolCallError):
        attach_action(AgentAction(exit=True))


def test_hook_errors_at_build_come_out_of_build_agent() -> None:
    def fail(ctx, config):
        raise OSError("no disk")

    with pytest.raises(HookError, match="no disk"):
        aio(agent((), handlers=[with_before_agent(fail)]))


def test_a_model_asked_too_often_fails_the_run_by_its_script() -> None:
    run = aio(play([CALL_T], tool()))

    assert isinstance(run.error, ModelError)
    assert isinstance(run.error.cause, UnexpectedCallError)


def test_a_thread_does_not_keep_the_engines_own_system_message() -> None:
    async def scenario() -> list[str]:
        made = await agent(["assistant:1", "assistant:2"], instruction="B")
        thread = Thread(made)
        await thread.turn([Message("system", "B"), *HI])
        result = await thread.turn(HI)
        return [m.content for m in result.messages]

    assert aio(scenario()) == ["B", "B", "hi", "1", "hi", "2"]
