"""Retry and fail-over of the model: who is asked when, and how it ends."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from refengine import (
    HookError,
    InterruptInStreamError,
    Message,
    ModelError,
    ModelRetry,
    NotKeepableError,
    RetriesExhaustedError,
    RetryFunctionError,
    RetryPolicyError,
    StreamReader,
    ToolNotFound,
)
from refengine.interrupts import Interrupt
from refengine.messages import chunk_of
from refengine.model_calls import exponential
from refengine.testing.clock import run
from tests.retry_support import (
    BOTH_MODES,
    TWICE,
    Broken,
    Busy,
    Counting,
    Fatal,
    Shaky,
    Wrapper,
    now,
    only,
    play,
)
from tests.support import DONE, USER, Whole, build, calls, finish, outcome_of


@BOTH_MODES
def test_hooks_run_once_an_iteration_and_wrappers_once_an_attempt(stream):
    handler = Counting()
    model = Shaky(Busy(), calls("t"), Broken(), Busy(), DONE)

    play(handler, model=model, tools=[Whole()], retry=TWICE, stream=stream)

    assert handler.counts == {"before": 2, "after": 2, "around": 5, "end": 1}


@BOTH_MODES
def test_history_holds_the_answer_that_came_in_the_end(stream):
    seen = play(model=Shaky(Busy(), Broken(), DONE), retry=TWICE, stream=stream)

    assert seen.error is None
    assert list(seen.result.messages) == [USER, DONE]
    assert (seen.result.answer, seen.result.iterations) == (DONE, 1)


@BOTH_MODES
def test_model_is_sent_the_same_at_every_attempt(stream):
    first = Shaky(Busy(), Busy(), Busy())
    second = Shaky(Busy(), DONE)
    retry = replace(TWICE, fall_back=(second,))

    play(model=first, instruction="be brief", retry=retry, stream=stream)

    sent = (Message("system", "be brief"), USER)
    assert first.requests + second.requests == [sent] * 5


@BOTH_MODES
def test_backoff_is_waited_before_each_retry_and_not_after_the_last(stream):
    model = Shaky(Busy(), Broken(), Busy())
    retry = ModelRetry(2, backoff=lambda retry: 10.0**retry)

    seen = play(model=model, retry=retry, stream=stream)

    assert model.times == [0, 10, 110]
    assert seen.ended == 110


@BOTH_MODES
def test_next_model_is_asked_at_once_and_has_retries_of_its_own(stream):
    asked = []
    first = Shaky(Busy(), Busy(), asked=asked)
    second = Shaky(Broken(), Busy(), name="second", asked=asked)
    third = Shaky(Busy(), DONE, name="third", asked=asked)
    retry = ModelRetry(1, backoff=lambda retry: retry, fall_back=(second, third))

    seen = play(model=first, retry=retry, stream=stream)

    assert asked == [
        *(("first", 0), ("first", 1)),
        *(("second", 1), ("second", 2)),
        *(("third", 2), ("third", 3)),
    ]
    assert seen.result.answer == DONE


@BOTH_MODES
def test_each_iteration_begins_again_with_the_first_model(stream):
    asked = []
    first = Shaky(Busy(), DONE, asked=asked)
    second = Shaky(calls("t"), name="second", asked=asked)
    retry = ModelRetry(0, fall_back=(second,))

    play(model=first, tools=[Whole()], retry=retry, stream=stream)

    assert [name for name, _ in asked] == ["first", "second", "first"]


@BOTH_MODES
def test_retries_are_no_iterations(stream):
    model = Shaky(Busy(), Busy(), DONE)

    seen = play(model=model, retry=TWICE, max_iterations=1, stream=stream)

    assert (seen.result.status, seen.result.iterations) == ("completed", 1)


@BOTH_MODES
def test_exhausted_attempts_end_the_run_with_their_number_and_the_last_error(stream):
    last = Busy("the third")
    seen = play(model=Shaky(Busy(), Busy(), last), retry=TWICE, stream=stream)

    assert isinstance(seen.error, RetriesExhaustedError)
    assert seen.error.attempts == 3
    assert isinstance(seen.error.last, ModelError)
    assert seen.error.last.cause is last
    assert seen.error.__cause__ is seen.error.last
    assert seen.error.last.__cause__ is last
    assert "the model failed in each attempt (3), in the last one with" in str(
        seen.error
    )
    assert "the model raised Busy: the third" in str(seen.error)


@BOTH_MODES
def test_no_after_hook_runs_when_attempts_are_exhausted(stream):
    handler = Counting()

    seen = play(handler, model=Shaky(Busy()), retry=ModelRetry(0), stream=stream)

    assert seen.result.status == "error"
    assert handler.counts == {"before": 1, "after": 0, "around": 1, "end": 0}


@BOTH_MODES
@pytest.mark.parametrize("step", [Fatal("no"), Broken(Fatal("no"))])
def test_error_that_is_refused_ends_the_run_as_without_a_policy(stream, step):
    def is_busy(error):
        return isinstance(error, Busy)

    spare = Shaky(DONE)
    retry = ModelRetry(2, is_busy, fall_back=(spare,))
    with_policy = play(model=Shaky(step), retry=retry, stream=stream)
    without = play(model=Shaky(step), stream=stream)

    assert type(with_policy.error) is type(without.error) is ModelError
    assert with_policy.error.cause is without.error.cause
    assert with_policy.error.__cause__ is with_policy.error.cause
    assert with_policy.streams == without.streams
    assert with_policy.ended == 0
    assert not spare.asked


@BOTH_MODES
def test_wrapper_that_raises_is_an_attempt_that_failed(stream):
    asked_about = []
    error = Busy("of the wrapper")

    async def fail_twice(ctx, request, next):
        if wrapper.entered < 3:
            raise error
        return await next(ctx, request)

    wrapper = Wrapper(fail_twice)
    model = Shaky(DONE)
    retry = replace(TWICE, retry_on=lambda got: asked_about.append(got) or True)

    seen = play(wrapper, model=model, retry=retry, stream=stream)

    assert seen.result.answer == DONE
    assert (len(model.asked), wrapper.entered) == (1, 3)
    assert asked_about == [error, error]


@BOTH_MODES
def test_wrapper_that_raised_last_is_named(stream):
    async def fail(ctx, request, next):
        raise Busy

    seen = play(Wrapper(fail), model=Shaky(), retry=TWICE, stream=stream)

    assert isinstance(seen.error, RetriesExhaustedError)
    assert isinstance(seen.error.last, HookError)
    assert seen.error.last.handler == "wrapper"


@BOTH_MODES
def test_error_that_a_wrapper_answers_is_no_failed_attempt(stream):
    async def answer(ctx, request, next):
        try:
            return await next(ctx, request)
        except Busy:
            whole = chunk_of(DONE)
            return StreamReader(aiter_of(whole)) if request.streaming else DONE

    model = Shaky(Busy())
    seen = play(Wrapper(answer), model=model, retry=TWICE, stream=stream)

    assert seen.result.answer == DONE
    assert len(model.asked) == 1


async def aiter_of(*chunks):
    for chunk in chunks:
        yield chunk


@BOTH_MODES
@pytest.mark.parametrize("stop", [asyncio.CancelledError, Interrupt])
def test_what_is_no_error_is_not_retried(stream, stop):
    model = Shaky(stop(), DONE)

    async def play_it():
        agent = await build(model=model, retry=TWICE)
        async with agent.run([USER], stream=stream) as started:
            with suppress(asyncio.CancelledError, Interrupt):
                await started.result()
        return outcome_of(started).status

    assert run(play_it()) in {"cancelled", "interrupted"}
    assert len(model.asked) == 1


@BOTH_MODES
def test_run_can_be_cancelled_while_it_waits(stream):
    model = Shaky(Broken(), DONE)
    retry = ModelRetry(1, backoff=lambda _: 60)

    async def play_it():
        agent = await build(model=model, retry=retry)
        started = agent.run([USER], stream=stream)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1), started:
                await started.result()
        return outcome_of(started), now()

    outcome, ended = run(play_it())
    assert (outcome.status, ended) == ("cancelled", 1)
    assert len(model.asked) == 1
    assert [event.message for event in outcome.events] == [None] * stream


@BOTH_MODES
def test_tool_is_hidden_by_the_attempt_that_answered(stream):
    async def hide_at_first(ctx, request, next):
        if wrapper.entered == 1:
            request = replace(request, tools=())
        return await next(ctx, request)

    wrapper = Wrapper(hide_at_first)
    model = Shaky(Broken(), calls("t"), DONE)

    seen = play(wrapper, model=model, tools=[Whole()], retry=TWICE, stream=stream)

    assert seen.result.answer == DONE


@BOTH_MODES
def test_tool_that_the_last_attempt_hid_is_unknown(stream):
    async def hide_at_last(ctx, request, next):
        if wrapper.entered == 2:
            request = replace(request, tools=())
        return await next(ctx, request)

    wrapper = Wrapper(hide_at_last)
    model = Shaky(Broken(), calls("t"))

    seen = play(wrapper, model=model, tools=[Whole()], retry=TWICE, stream=stream)

    assert isinstance(seen.error, ToolNotFound)


@BOTH_MODES
@pytest.mark.parametrize("method", ["invoke", "stream"])
def test_model_to_fall_back_on_needs_but_one_method(stream, method):
    spare = Shaky(DONE)
    retry = ModelRetry(0, fall_back=(only(spare, method),))

    seen = play(model=Shaky(Broken()), retry=retry, stream=stream)

    assert seen.result.answer == DONE


@BOTH_MODES
def test_runs_at_once_count_their_own_attempts(stream):
    class ByRun:
        """Fails as often as the run's first message says."""

        def __init__(self):
            self.failed = {}

        async def invoke(self, ctx, messages, tools, options):
            await asyncio.sleep(1)
            wanted = int(messages[0].content)
            self.failed[wanted] = self.failed.get(wanted, 0) + 1
            if self.failed[wanted] <= wanted:
                raise Busy
            return Message("assistant", f"after {wanted}")

    async def play_it():
        agent = await build(model=ByRun(), retry=ModelRetry(9))
        runs = [
            finish(agent, [Message("user", str(n))], stream=stream) for n in range(9)
        ]
        return [result.answer for result in await asyncio.gather(*runs)]

    answers = [Message("assistant", f"after {n}") for n in range(9)]
    assert run(play_it()) == answers


def raises(_given):
    raise LookupError("policy")


@BOTH_MODES
@pytest.mark.parametrize("step", [Busy("why"), Broken(Busy("why"))])
@pytest.mark.parametrize(
    ("policy", "function", "got"),
    [
        ({"retry_on": raises}, "retry_on", "raised LookupError('policy')"),
        ({"retry_on": lambda _: None}, "retry_on", "returned None"),
        ({"retry_on": lambda _: 1}, "retry_on", "returned 1"),
        ({"backoff": raises}, "backoff", "raised LookupError('policy')"),
        ({"backoff": lambda _: -1}, "backoff", "returned -1"),
        ({"backoff": lambda _: float("nan")}, "backoff", "returned nan"),
        ({"backoff": lambda _: float("inf")}, "backoff", "returned inf"),
        ({"backoff": lambda _: True}, "backoff", "returned True"),
    ],
)
def test_function_of_no_use_is_an_error_by_name(stream, step, policy, function, got):
    model = Shaky(step, DONE)

    seen = play(model=model, retry=ModelRetry(**policy), stream=stream)

    assert isinstance(seen.error, RetryFunctionError)
    assert (seen.error.function, str(seen.error.during)) == (function, "why")
    assert f"{function} of ModelRetry {got} after Busy: why" in str(seen.error)
    assert [error for _, error in seen.streams if error is not seen.error] == []
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("given", "field_"),
    [
        ({"max_retries": -1}, "max_retries"),
        ({"max_retries": True}, "max_retries"),
        ({"max_retries": 1.0}, "max_retries"),
        ({"retry_on": Busy("not a class")}, "retry_on"),
        ({"retry_on": None}, "retry_on"),
        ({"backoff": 1.0}, "backoff"),
        ({"backoff": asyncio.sleep}, "backoff"),
        ({"fall_back": [Shaky()]}, "fall_back"),
        ({"fall_back": Shaky()}, "fall_back"),
        ({"fall_back": (Shaky(), "gpt")}, "fall_back[1]"),
    ],
)
def test_policy_that_cannot_be_followed_is_refused_when_made(given, field_):
    with pytest.raises(RetryPolicyError, match=r"^ModelRetry: .*: give ") as caught:
        ModelRetry(**given)

    assert caught.value.field == field_


@pytest.mark.parametrize("given", [{"first": -1}, {"cap": float("nan")}, {"cap": "9"}])
def test_exponential_refuses_what_is_no_time(given):
    with pytest.raises(RetryPolicyError, match="a finite number of seconds"):
        exponential(**given)


def test_exponential_doubles_up_to_its_cap():
    backoff = exponential(0.5, 3)

    assert [backoff(n) for n in (1, 2, 3, 4, 5, 5000)] == [0.5, 1, 2, 3, 3, 3]


@pytest.mark.parametrize(
    "error",
    [InterruptInStreamError(), NotKeepableError("h", "hook", "x", "a set", "a list")],
)
def test_error_that_would_come_again_is_not_retried(error):
    verdict = ModelRetry().after(1, error, error)

    assert (verdict.wait, verdict.reader_error, verdict.leaving) == (None, error, error)


def test_policy_by_default_asks_three_times_within_a_second():
    retry = ModelRetry()

    assert retry.attempts == 3
    assert [retry.backoff(n) for n in (1, 2, 8)] == [0.1, 0.2, 10]
    assert retry.retry_on(Busy())


@pytest.mark.parametrize(
    ("retry", "told"),
    [
        (ModelRetry(), "at each of at most 3 attempts (of one model)"),
        (
            ModelRetry(1, fall_back=(Shaky(),)),
            "at each of at most 4 attempts (2 of each of 2 models)",
        ),
    ],
)
def test_explain_tells_how_often_the_model_is_asked(retry, told):
    agent = run(build(Counting(), retry=retry))

    title = f"around the model, {told}, outermost first"
    assert f"\n{title}:\n" in agent.explain()
    assert f'["{title}"]' in agent.explain("mermaid")


def test_explain_says_nothing_of_attempts_without_a_policy():
    assert "attempt" not in run(build(Counting())).explain()
