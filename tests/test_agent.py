"""Runs of an agent: status, events, routing, options, and leaving early."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from refengine import (
    AgentAction,
    ChatModelAgentConfig,
    Context,
    HookError,
    Message,
    ModelError,
    NoMessagesLeftError,
    ToolCall,
    ToolsConfig,
    attach_action,
    build_agent,
    with_after_model_rewrite_history,
    with_before_agent,
    with_before_model_rewrite_history,
)
from refengine.errors import NotInToolCallError, ToolError, ToolNotFound
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


def test_a_plain_answer_completes_the_run() -> None:
    run = aio(play(["assistant:done"], instruction="B"))

    assert run.outcome.status == "completed"
    assert run.outcome.answer == Message("assistant", "done")
    assert [m.content for m in run.outcome.messages] == ["B", "hi", "done"]


def test_no_system_message_for_an_empty_instruction() -> None:
    assert [m.role for m in aio(play(["assistant:a"])).outcome.messages] == [
        "user",
        "assistant",
    ]


def test_tool_results_follow_their_calls_in_call_order_whoever_ends_first() -> None:
    slow, fast = tool("t", result="slow", delay_ms=50), tool("u", result="fast")
    script = ["assistant:[1:t({})][2:u({})]", "assistant:done"]

    run = virtual(play(script, slow, fast))

    assert [m.content for m in run.outcome.messages][2:4] == ["slow", "fast"]
    assert [event.call_id for event in run.outcome.events] == [None, "1", "2", None]


def test_a_failing_call_does_not_stop_its_siblings_and_the_first_error_counts() -> None:
    tools = tool("t", error="one", delay_ms=50), tool("u", error="two"), tool("v")
    script = ["assistant:[1:t({})][2:u({})][3:v({})]"]

    run = virtual(play(script, *tools))

    assert isinstance(run.error, ToolError)
    assert (run.error.tool, str(run.error.cause)) == ("t", "one")
    assert tools[2].executions == 1
    assert [event.kind for event in run.outcome.events] == ["model", "tool", "error"]


def test_sequential_calls_run_one_after_the_other_also_after_an_error() -> None:
    tools = [tool("t", error="one"), tool("u")]
    config = ToolsConfig(tools=tools, sequential=True)

    run = aio(play(["assistant:[1:t({})][2:u({})]"], tools_config=config))

    assert isinstance(run.error, ToolError)
    assert tools[1].executions == 1


def test_an_unknown_tool_aborts_before_any_call_of_the_message_runs() -> None:
    known = tool("t")

    run = aio(play(["assistant:[1:t({})][2:nope({})]"], known))

    assert isinstance(run.error, ToolNotFound)
    assert (run.error.name, run.error.available) == ("nope", ("t",))
    assert known.executions == 0


def test_an_unknown_tools_handler_answers_without_an_event() -> None:
    config = ToolsConfig(unknown_tools_handler=lambda name, _: f"no {name}")

    run = aio(play([CALL_T, "assistant:done"], tools_config=config))

    assert [m.content for m in run.outcome.messages][2] == "no t"
    assert [event.kind for event in run.outcome.events] == ["model", "model"]


def test_the_last_of_several_direct_calls_is_the_answer() -> None:
    tools = tool("t", result="rt"), tool("u", result="ru")
    config = ToolsConfig(tools=tools, return_directly={"t": True, "u": True})

    run = aio(play(["assistant:[1:u({})][2:t({})]"], tools_config=config))

    assert (run.outcome.status, run.outcome.answer.content) == (
        "returned_directly",
        "rt",
    )


def test_running_out_of_iterations_is_an_outcome() -> None:
    run = aio(play([CALL_T, "assistant:[2:t({})]"], tool(), max_iterations=2))

    assert (run.outcome.status, run.outcome.iterations) == ("max_iterations", 2)
    assert run.outcome.answer.tool_calls[0].id == "2"


def test_after_hooks_decide_the_route_by_the_last_message_they_leave() -> None:
    used = tool()

    run = aio(play([CALL_T], used, handlers=[after(Message("assistant", "no"))]))

    assert (run.outcome.status, used.executions) == ("completed", 0)


def test_a_run_that_ends_on_no_assistant_message_answers_with_the_last_one() -> None:
    left = after(Message("assistant", "said"), Message("user", "extra"))

    run = aio(play(["assistant:x"], handlers=[left]))

    assert run.outcome.answer.content == "said"


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


def test_what_before_hooks_leave_is_seen_and_kept() -> None:
    def inject(ctx, messages):
        return ctx, [*messages, Message("user", "more")]

    model = ScriptedModel([CALL_T, "assistant:done"])
    handlers = [with_before_model_rewrite_history(inject)]

    run = aio(play((), tool(result="r"), model=model, handlers=handlers))

    contents = [m.content for m in run.outcome.messages]
    assert contents == ["hi", "more", "", "r", "more", "done"]


def test_a_streamed_answer_arrives_in_chunks_and_is_kept_whole() -> None:
    run = aio(play(["assistant:aa bb"], stream=True))
    [event] = run.outcome.events

    assert [chunk.content for chunk in event.chunks] == ["aa ", "bb"]
    assert event.message.content == "aa bb"


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


def test_options_reach_the_model_and_the_tools() -> None:
    seen: list[Any] = []

    class Model:
        async def invoke(self, ctx, messages, tools, options):
            seen.append(options)
            calls = () if len(seen) > 1 else (ToolCall("1", "t", "{}"),)
            return Message("assistant", "done", calls)

    class Spy:
        info = tool().info

        async def invoke(self, ctx, arguments, options):
            seen.append(options)
            return "r"

    async def scenario() -> None:
        made = await agent((), model=Model(), tools_config=ToolsConfig(tools=[Spy()]))
        async with made.run(HI, options={"k": 1}) as run:
            await run.result()

    aio(scenario())
    assert seen == [{"k": 1}] * 3


def test_a_run_context_is_laid_over_that_of_the_build_and_wins() -> None:
    seen: list[Any] = []

    def build(ctx, config):
        return ctx.with_value("a", "build").with_value("b", "build")

    def look(ctx, messages):
        seen.append((ctx.get("a"), ctx.get("b"), ctx.run_path))
        return ctx, messages

    async def scenario() -> None:
        handlers = [with_before_agent(build), with_before_model_rewrite_history(look)]
        made = await agent(["assistant:x"], handlers=handlers)
        async with made.run(HI, ctx=Context({"b": "run"})) as run:
            await run.result()

    aio(scenario())
    assert seen == [("build", "run", ("demo",))]


def test_an_action_attached_in_a_tool_travels_on_its_event() -> None:
    class Leaving:
        info = tool().info

        async def invoke(self, ctx, arguments, options):
            attach_action(AgentAction(exit=True))
            return "bye"

    config = ToolsConfig(tools=[Leaving()])

    run = aio(play([CALL_T, "assistant:x"], tools_config=config))

    assert run.outcome.events[1].action == AgentAction(exit=True)
    assert run.outcome.events[2].action is None


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
