"""Whose error it is when it leaves an onion, and what it is wrapped in."""

import pytest

from refengine import (
    Context,
    HookError,
    HookReturnError,
    Message,
    ModelAnswerError,
    ModelError,
    ToolCallResult,
    ToolError,
    ToolResultTypeError,
    with_after_model_rewrite_history,
    with_before_agent,
    with_before_model_rewrite_history,
    with_invokable_tool_wrapper,
)
from refengine.context import at_point
from tests.support import DONE, USER, Model, Whole, build, calls, finish, play, run


class Failing(Whole):
    """Raises another error each time it is called."""

    async def invoke(self, ctx, arguments, options):
        self.count += 1
        raise ValueError(self.count)


def test_an_earlier_error_of_the_tool_stays_the_tools():
    async def retry_and_raise_the_first(ctx, input, next):
        try:
            return await next(ctx, input)
        except ValueError as error:
            first = error
        try:
            return await next(ctx, input)
        except ValueError:
            raise first from None

    with pytest.raises(ToolError) as caught:
        play(
            with_invokable_tool_wrapper(retry_and_raise_the_first),
            model=Model(calls("t"), DONE),
            tools=[Failing()],
        )
    assert str(caught.value.cause) == "1"


class Nesting(Whole):
    """A tool that runs an agent whose own tool breaks the rules."""

    async def invoke(self, ctx, arguments, options):
        class Five(Whole):
            async def invoke(self, ctx, arguments, options):
                return 5

        inner = await build(model=Model(calls("t"), DONE), tools=[Five()])
        return str((await finish(inner, ctx=ctx)).answer)


def test_an_error_of_an_agent_inside_a_tool_is_the_tools():
    with pytest.raises(ToolError) as caught:
        play(model=Model(calls("t"), DONE), tools=[Nesting()])

    assert isinstance(caught.value.cause, ToolResultTypeError)
    assert caught.value.__cause__ is caught.value.cause


def test_an_error_of_an_agent_inside_a_wrapper_is_the_wrappers():
    async def nest(ctx, input, next):
        inner = await build(with_after_model_rewrite_history(lambda *_: None))
        return ToolCallResult(str((await finish(inner)).answer))

    with pytest.raises(HookError) as caught:
        play(
            with_invokable_tool_wrapper(nest),
            model=Model(calls("t"), DONE),
            tools=[Whole()],
        )
    assert isinstance(caught.value.cause, HookReturnError)


def test_a_wrapper_that_hands_on_no_context_is_blamed_itself():
    tool = Whole()

    async def forget(ctx, input, next):
        return await next(None, input)

    with pytest.raises(HookError, match="with_invokable_tool_wrapper"):
        play(
            with_invokable_tool_wrapper(forget),
            model=Model(calls("t"), DONE),
            tools=[tool],
        )
    assert tool.count == 0


class Wrong:
    """A model that answers with something else, by either method."""

    def __init__(self, method):
        setattr(self, method, self._answer)

    async def _answer(self, ctx, messages, tools, options):
        return ["no answer"]


@pytest.mark.parametrize("method", ["invoke", "stream"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_wrong_answer_of_the_model_is_one_error_in_both_modes(method, stream):
    with pytest.raises(ModelError) as caught:
        play(model=Wrong(method), stream=stream)

    assert isinstance(caught.value.cause, ModelAnswerError)
    assert caught.value.__cause__ is caught.value.cause


@pytest.mark.parametrize("left", [None, ["Be brief."]])
def test_an_instruction_of_another_type_is_blamed_on_who_left_it(left):
    def spoil(ctx, config):
        config.instruction = left
        return ctx

    with pytest.raises(HookReturnError, match="instruction as a text"):
        run(build(with_before_agent(spoil)))


def test_a_hook_that_returns_a_new_context_does_not_lose_the_run():
    seen = []

    def renew(ctx, messages):
        return Context({"k": 1}), messages

    def look(ctx, messages):
        seen.append((ctx.run_path, ctx.get("k")))
        return ctx, messages

    play(
        with_before_model_rewrite_history(renew),
        with_before_model_rewrite_history(look),
    )
    assert seen == [(("agent",), 1)]


def test_a_tool_wrapper_sees_the_call_it_is_in():
    seen = []

    async def look(ctx, input, next):
        seen.append((ctx.tool_call_id, input.call_id))
        return await next(ctx, input)

    play(
        with_invokable_tool_wrapper(look),
        model=Model(calls("t"), DONE),
        tools=[Whole()],
    )
    assert seen == [("c0", "c0")]


def test_options_given_to_a_run_cannot_be_changed_through_a_call():
    given = {"a": 1}

    async def spoil(ctx, input, next):
        input.call_options["b"] = 2
        return await next(ctx, input)

    async def play_it():
        agent = await build(
            with_invokable_tool_wrapper(spoil),
            model=Model(calls("t"), DONE),
            tools=[Whole()],
        )
        await finish(agent, (USER,), options=given)

    with pytest.raises(HookError, match="TypeError"):
        run(play_it())
    assert given == {"a": 1}


def test_the_error_event_stands_where_the_run_does():
    async def play_it():
        outer = at_point(Context(), ("outer",), None, None)
        agent = await build(model=Model())
        async with agent.run([Message("user", "hi")], ctx=outer) as started:
            return [event.run_path async for event in started]

    assert run(play_it()) == [("outer", "agent")]
