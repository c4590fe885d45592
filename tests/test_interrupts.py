"""Interrupts: where a run can ask, what it hears when it goes on, what is refused.

That a resumed run is the uninterrupted one, in every world cut at every point, is
``tests/properties/test_resuming.py``.
"""

import asyncio
import builtins
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from refengine.chain import attach_action
from refengine.context import get_run_local, set_run_local
from refengine.errors import (
    FieldTypeError,
    HookError,
    HookReturnError,
    InterruptInStreamError,
    InterruptOutsideHookError,
    InterruptTooEarlyError,
    NoCheckpointsError,
    NotKeepableError,
    RetryFunctionError,
    ToolError,
)
from refengine.events import AgentAction
from refengine.interrupts import Interrupt, interrupt, is_reentry
from refengine.messages import Message, MessageChunk
from refengine.model_calls import ModelRetry
from refengine.profile import SEED_001
from refengine.resume.errors import (
    JOURNALLED,
    ChangedAgentError,
    JournalledError,
    NotResumableError,
    UnknownInterruptError,
    journalled,
)
from refengine.state import Checkpoints, MemoryStore
from refengine.state.store_errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
)
from refengine.stream import StreamReader
from refengine.tools import StreamToolCallResult, ToolCallResult, ToolInfo, ToolsConfig
from tests.support import DONE, USER, Model, Pieces, Whole, build, calls, finish, run

PASS = "before_model_rewrite_history", "after_model_rewrite_history"
PLACES = (
    *PASS,
    "after_agent",
    "wrap_model_call before",
    "wrap_model_call after",
    "wrap_invokable_tool_call before",
    "wrap_invokable_tool_call after",
    "tool",
)


class Asking:
    """A handler that asks ``often`` times in a row where it is told to, once a run."""

    def __init__(self, place, *, often=1, name="asking"):
        self.name = name
        self.heard = []
        self.entered = []
        self._place = place
        self._often = often
        wraps = place.split(" ")[0]
        self.hooks = frozenset() if place == "tool" else frozenset((wraps,))
        self.hooks |= {"after_agent"}
        self._done = False

    def ask(self, place):
        if place != self._place or self._done:
            return
        self.entered.append(is_reentry())
        self.heard = [interrupt({"question": n}) for n in range(self._often)]
        self._done = True

    async def before_model_rewrite_history(self, ctx, messages):
        self.ask("before_model_rewrite_history")
        return ctx, messages

    def after_model_rewrite_history(self, ctx, messages):
        self.ask("after_model_rewrite_history")
        return ctx, messages

    async def after_agent(self, ctx, messages):
        self.ask("after_agent")
        return ctx

    async def wrap_model_call(self, ctx, request, next):
        self.ask("wrap_model_call before")
        answer = await next(ctx, request)
        self.ask("wrap_model_call after")
        return answer

    async def wrap_invokable_tool_call(self, ctx, input, next):
        self.ask("wrap_invokable_tool_call before")
        result = await next(ctx, input)
        self.ask("wrap_invokable_tool_call after")
        return result


class Approving:
    """A tool that asks before it does anything, and returns what it heard."""

    def __init__(self, name="t"):
        self.info = ToolInfo(name)
        self.entered = 0

    async def invoke(self, ctx, arguments, options):
        self.entered += 1
        return f"{self.info.name}: {interrupt({'may': self.info.name})}"


class Delegating(Whole):
    """A tool that lets a handler ask."""

    def __init__(self, asking):
        super().__init__()
        self._asking = asking

    async def invoke(self, ctx, arguments, options):
        self._asking.ask("tool")
        return await super().invoke(ctx, arguments, options)


def memory():
    return Checkpoints(MemoryStore())


async def resumed(agent, answers=None, key="run"):
    async with agent.resume(key, answers) as started:
        return await started.result()


def addresses(result):
    return [str(each.address) for each in result.interrupts]


def ended(*handlers, answer=None, stream=False, **made_of):
    """Run an agent to its end, each question answered; return that, and what it asked.

    The model calls the tools, and is done.
    """
    names = [each.info.name for each in made_of["tools"]]
    made_of = {"model": Model(calls(*names), DONE), **made_of}

    async def play():
        agent, asked = await build(*handlers, checkpoints=memory(), **made_of), []
        result = await finish(agent, stream=stream, checkpoint="run")
        while result.status == "interrupted":
            asked += [each.payload for each in result.interrupts]
            result = await resumed(agent, dict.fromkeys(addresses(result), answer))
        return result, asked

    return run(play())


def asking_agent(place, **more):
    asking = Asking(place, **more)
    model, tool = Model(calls("t"), DONE), Delegating(asking)
    return asking, model, tool


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_a_run_asks_anywhere_and_goes_on_with_the_answer(place, stream):
    asking, model, tool = asking_agent(place)

    async def play():
        agent = await build(asking, model=model, tools=[tool], checkpoints=memory())
        first = await finish(agent, stream=stream, checkpoint="run")
        (asked,) = first.interrupts
        assert (first.status, asked.payload) == ("interrupted", {"question": 0})
        assert first.events[-1].kind == "interrupt"
        assert first.events[-1].interrupts == first.interrupts
        owner = "t" if place == "tool" else "asking"
        assert (asked.address.hook, asked.address.owner) == (place.split()[0], owner)
        return await resumed(agent, {str(asked.address): ["yes"]})

    last = run(play())
    assert (last.status, asking.heard) == ("completed", [["yes"]])
    assert asking.entered == [False, True]
    assert [each.role for each in last.messages] == [
        *("user", "assistant", "tool", "assistant")
    ]
    assert (len(model.requests), tool.count) == (2, 1)


@pytest.mark.parametrize("place", PLACES)
def test_a_hook_that_asks_twice_hears_both_answers(place):
    asking, model, tool = asking_agent(place, often=2)

    async def play():
        agent = await build(asking, model=model, tools=[tool], checkpoints=memory())
        result = await finish(agent, checkpoint="run")
        for answer in ("one", "two"):
            (at,) = addresses(result)
            result = await resumed(agent, {at: answer})
        return result

    assert run(play()).status == "completed"
    assert asking.heard == ["one", "two"]
    assert asking.entered == [False, True, True]


def test_who_resumes_without_answers_answers_none_to_all():
    tools = [Approving("a"), Approving("b")]

    async def play():
        model = Model(calls("a", "b"), DONE)
        agent = await build(model=model, tools=tools, checkpoints=memory())
        first = await finish(agent, checkpoint="run")
        return first, await resumed(agent)

    first, last = run(play())
    assert len(first.interrupts) == 2
    assert [each.content for each in last.messages[2:4]] == ["a: None", "b: None"]


def test_what_is_not_answered_waits_without_being_entered():
    tools = {name: Approving(name) for name in "abc"}

    async def play():
        model = Model(calls(*"abc"), DONE)
        agent = await build(model=model, tools=[*tools.values()], checkpoints=memory())
        result = await finish(agent, checkpoint="run")
        everything = addresses(result)
        told = []
        for at in (1, 0, 2):
            result = await resumed(agent, {everything[at]: at})
            told.append((addresses(result), [e.kind for e in result.events]))
        return everything, told, result

    (a, _, c), told, last = run(play())
    # An event after that of a call which still waits is held back until it is answered.
    assert told[0] == ([a, c], ["interrupt"])
    assert told[1] == ([c], ["tool", "tool", "interrupt"])
    assert told[2] == ([], ["tool", "model"])
    assert [each.content for each in last.messages[2:5]] == ["a: 0", "b: 1", "c: 2"]
    assert [each.entered for each in tools.values()] == [2, 2, 2]


@pytest.mark.parametrize("answers", [{}, {"nowhere": 1}])
def test_answers_to_nothing_are_refused_and_change_nothing(answers):
    async def play():
        model = Model(calls("t"), DONE)
        agent = await build(model=model, tools=[Approving()], checkpoints=memory())
        first = await finish(agent, checkpoint="run")
        with pytest.raises(UnknownInterruptError, match="waiting: "):
            await resumed(agent, answers)
        return await resumed(agent, {addresses(first)[0]: "ok"})

    assert run(play()).messages[2].content == "t: ok"


def test_equal_ids_in_one_message_have_addresses_of_their_own():
    async def play():
        call = calls("t").tool_calls[0]
        model = Model(Message("assistant", tool_calls=(call, call)), DONE)
        agent = await build(model=model, tools=[Approving()], checkpoints=memory())
        first = await finish(agent, checkpoint="run")
        one, other = addresses(first)
        assert one != other
        second = await resumed(agent, {other: "second"})
        assert addresses(second) == [one]
        return await resumed(agent, {one: "first"})

    texts = [each.content for each in run(play()).messages[2:4]]
    assert texts == ["t: first", "t: second"]


class Swallowing:
    """A wrapper that catches everything, and then returns or raises as it pleases."""

    name = "swallowing"

    def __init__(self, instead):
        self._instead = instead

    async def wrap_invokable_tool_call(self, ctx, input, next):
        try:
            return await next(ctx, input)
        except BaseException:  # noqa: BLE001  # the wrong that it does
            return self._instead()


def returning():
    return ToolCallResult("nothing happened")


def raising():
    raise ValueError("it failed")


@pytest.mark.parametrize("instead", [returning, raising])
def test_a_wrapper_cannot_keep_an_interrupt(instead):
    last, asked = ended(Swallowing(instead), tools=[Approving()], answer="ok")

    assert asked == [{"may": "t"}]
    assert last.messages[2].content == "t: ok"


class Deaf:
    """Asks and takes no for an answer: it catches the interrupt it raised itself."""

    name = "deaf"

    def __init__(self):
        self.heard = []

    def before_model_rewrite_history(self, ctx, messages):
        with suppress(BaseException):
            self.heard.append(interrupt("may I"))
        return ctx, messages


def test_nor_can_the_hook_that_asked():
    deaf = Deaf()
    last, asked = ended(deaf, model=Model(DONE), tools=[], answer="yes")

    assert (last.status, asked, deaf.heard) == ("completed", ["may I"], ["yes"])


class Smothering:
    """A wrapper around the model that answers whatever comes out of it."""

    name = "smothering"

    async def wrap_model_call(self, ctx, request, next):
        try:
            return await next(ctx, request)
        except BaseException:  # noqa: BLE001  # which it must not get away with
            return StreamReader(each_of("fine")) if request.streaming else DONE


async def each_of(text):
    yield MessageChunk(text)


@pytest.mark.parametrize("keeper", [None, "memory"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_wrapper_around_the_model_cannot_keep_one_either(keeper, stream):
    asking = Asking("wrap_model_call before")

    async def play():
        keeps = None if keeper is None else memory()
        agent = await build(Smothering(), asking, checkpoints=keeps)
        async with agent.run([USER], stream) as started:
            return await started.result()

    [asked] = run(play()).interrupts
    assert (asked.address.owner, asked.payload) == ("asking", {"question": 0})


class Leaving(Whole):
    """A tool that attaches an action."""

    async def invoke(self, ctx, arguments, options):
        attach_action(ACTION)
        return "left"


ACTION = AgentAction(transfer_to="billing", state_delta={"n": [1, {"a": 2}]})


@pytest.mark.parametrize("place", ["tool", "wrap_invokable_tool_call after"])
def test_the_action_of_a_call_that_had_ended_is_told_with_its_event(place):
    """As a sibling of a call that asks, and within a wrapper that asks after it."""
    if place == "tool":
        last, asked = ended(tools=[Approving("t"), Leaving("u")])
    else:
        last, asked = ended(Asking(place), tools=[Leaving("u")])

    assert len(asked) == 1
    messages = [(each.message, each.action) for each in last.events]
    told = [action for said, action in messages if said and said.content == "left"]
    assert told == [ACTION]


class Twice:
    """A wrapper that calls next twice, and asks after each."""

    name = "twice"

    def __init__(self):
        self.given = []

    async def wrap_invokable_tool_call(self, ctx, input, next):
        self.given = []
        for _ in range(2):
            self.given.append((await next(ctx, input)).result)
            interrupt("more?")
        return ToolCallResult("+".join(self.given))


class Numbering(Whole):
    """A tool that returns how often it was executed."""

    async def invoke(self, ctx, arguments, options):
        await super().invoke(ctx, arguments, options)
        return str(self.count)


def test_inner_calls_that_had_finished_are_not_made_again():
    tool = Numbering()
    last, _ = ended(Twice(), tools=[tool])

    assert last.messages[2].content == "1+2"
    assert tool.count == 2


class GoingOn:
    """A wrapper that catches what comes out of its first next, and calls another."""

    name = "going on"

    async def wrap_invokable_tool_call(self, ctx, input, next):
        with suppress(Interrupt):
            await next(ctx, input)
        return await next(ctx, input)


def test_after_an_interrupt_that_was_caught_nothing_more_is_called():
    tool = Approving("t")

    async def play():
        model = Model(calls("t"), DONE)
        agent = await build(GoingOn(), model=model, tools=[tool], checkpoints=memory())
        entered = []
        result = await finish(agent, checkpoint="run")
        while result.status == "interrupted":
            entered.append((tool.entered, len(result.interrupts)))
            result = await resumed(agent)
        return entered

    assert run(play()) == [(1, 1), (3, 1)]


class Catching:
    """A wrapper that turns an error into a text, after it has asked."""

    name = "catching"

    async def wrap_invokable_tool_call(self, ctx, input, next):
        try:
            return await next(ctx, input)
        except Exception as error:  # noqa: BLE001  # its text is what is looked at
            interrupt("go on?")
            return ToolCallResult(f"failed: {error}")


def test_an_error_that_was_caught_before_has_its_text_afterwards():
    tool = Whole(fails=ValueError("no disk: /dev/x"))
    last, _ = ended(Catching(), tools=[tool])

    assert last.messages[2].content == "failed: no disk: /dev/x"
    assert tool.count == 1


class AskingAfterError:
    """Asks when what is within failed, and then lets the error out."""

    def __init__(self, name):
        self.name = name

    async def wrap_invokable_tool_call(self, ctx, input, next):
        try:
            return await next(ctx, input)
        except Exception:
            interrupt(self.name)
            raise


def test_an_error_that_comes_again_is_still_that_of_who_raised_it():
    tool = Whole(fails=ValueError("boom"))

    with pytest.raises(ToolError, match="boom"):
        ended(AskingAfterError("outer"), AskingAfterError("inner"), tools=[tool])


@pytest.mark.parametrize("stream", [False, True])
def test_a_failing_sibling_is_told_when_all_that_waits_is_answered(stream):
    bad, good = Pieces("bad", fails=ValueError("broke off")), Approving()

    with pytest.raises(ToolError, match="broke off"):
        ended(tools=[good, bad], stream=stream)
    assert (good.entered, bad.count) == (2, 1)


class Numbered:
    """A wrapper that leaves a number where a text belongs."""

    name = "numbered"

    async def wrap_invokable_tool_call(self, ctx, input, next):
        result = await next(ctx, input)
        if input.name == "bad":
            result.result = 5
        return result


def test_a_sibling_of_a_wrong_result_does_not_wait():
    asking = Approving()

    with pytest.raises(HookReturnError):
        ended(Numbered(), tools=[asking, Whole("bad")])
    assert asking.entered == 1


class Rereading:
    """Reads a chunk of the inner stream, asks, and hands on all of it."""

    name = "rereading"

    async def wrap_streamable_tool_call(self, ctx, input, next):
        inner = (await next(ctx, input)).result
        first = await inner.__anext__()
        interrupt(first)
        return StreamToolCallResult(StreamReader(self._all(first, inner)))

    async def _all(self, first, inner):
        yield first
        async for chunk in inner:
            yield chunk


@pytest.mark.parametrize("fails", [None, ValueError("late")])
def test_a_stream_that_was_read_in_part_is_given_whole_again(fails):
    tool = Pieces(chunks="abc", fails=fails)

    if fails is None:
        last, asked = ended(Rereading(), tools=[tool], stream=True)
        assert (last.messages[2].content, asked) == ("abc", ["a"])
    else:
        with pytest.raises(ToolError, match="late"):
            ended(Rereading(), tools=[tool], stream=True)
    assert tool.count == 1


def test_an_interrupt_in_an_open_stream_is_an_error_by_name():
    async def chunks():
        yield "a"
        interrupt("too late")

    class Late(Pieces):
        """Asks between two chunks."""

        async def stream(self, ctx, arguments, options):
            return StreamReader(chunks())

    with pytest.raises(InterruptInStreamError):
        ended(tools=[Late()], stream=True)


def test_an_interrupt_before_there_is_a_run_is_an_error_by_name():
    class Early:
        """Asks where the agent is built."""

        name = "early"

        def before_agent(self, ctx, config):
            interrupt("may I?")
            return ctx

    with pytest.raises(InterruptTooEarlyError, match="'early'"):
        run(build(Early(), checkpoints=memory()))


def asks(*_):
    interrupt("may I?")


class Busy:
    """A model that always fails, in one piece and in a stream that is open."""

    async def invoke(self, ctx, messages, tools, options):
        raise OSError

    async def stream(self, ctx, messages, tools, options):
        async def broken():
            yield MessageChunk("half")
            raise OSError

        return StreamReader(broken())


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("function", ["retry_on", "backoff", "unknown_tools_handler"])
def test_an_interrupt_in_a_function_that_is_no_hook_is_an_error_by_name(
    function, stream, kept
):
    unknown = function == "unknown_tools_handler"
    made_of = {"checkpoints": memory()} if kept else {}
    if unknown:
        made_of["tools_config"] = ToolsConfig(unknown_tools_handler=asks)
    else:
        made_of["retry"] = ModelRetry(**{function: asks})

    async def play():
        model = Model(calls("gone"), DONE) if unknown else Busy()
        agent = await build(model=model, **made_of)
        await finish(agent, stream=stream, **({"checkpoint": "run"} if kept else {}))

    with pytest.raises((ToolError, RetryFunctionError)) as raised:
        run(play())
    error = raised.value
    cause = error.cause if isinstance(error, ToolError) else error.got

    assert isinstance(cause, InterruptOutsideHookError)
    assert cause.function.startswith(function)


@pytest.mark.parametrize("place", PLACES)
def test_an_agent_that_keeps_nothing_tells_who_asks_and_resumes_nothing(place):
    asking, model, tool = asking_agent(place)

    async def play():
        agent = await build(asking, model=model, tools=[tool])
        with pytest.raises(NoCheckpointsError, match="resume"):
            agent.resume("run")
        with pytest.raises(NoCheckpointsError, match="run"):
            agent.run((USER,), checkpoint="run")
        return await finish(agent)

    result = run(play())
    (asked,) = result.interrupts
    owner = "t" if place == "tool" else "asking"
    assert (asked.address.hook, asked.address.owner) == (place.split()[0], owner)


class Around:
    """Hands on whatever it is given, from outside of all that others wrap."""

    name = "around"

    async def wrap_model_call(self, ctx, request, next):
        return await next(ctx, request)

    async def wrap_invokable_tool_call(self, ctx, input, next):
        return await next(ctx, input)

    async def wrap_streamable_tool_call(self, ctx, input, next):
        return await next(ctx, input)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_who_wraps_what_asks_is_not_in_the_address(place, stream, kept):
    async def asked(*outside):
        asking, model, tool = asking_agent(place)
        keeping = {"checkpoints": memory()} if kept else {}
        agent = await build(*outside, asking, model=model, tools=[tool], **keeping)
        key = {"checkpoint": "run"} if kept else {}
        result = await finish(agent, stream=stream, **key)
        return [str(each.address) for each in result.interrupts]

    assert run(asked(Around())) == run(asked())


def test_a_run_that_has_ended_or_never_was_cannot_be_resumed():
    async def play():
        agent = await build(model=Model(DONE, DONE), checkpoints=memory())
        await finish(agent, checkpoint="run")
        with pytest.raises(NotResumableError, match="completed"):
            await resumed(agent)
        with pytest.raises(CheckpointNotFoundError):
            await resumed(agent, key="another")
        with pytest.raises(CheckpointConflictError):
            await finish(agent, checkpoint="run")

    run(play())


@pytest.mark.parametrize("what", ["wrapper", "hook", "profile", "agent"])
def test_only_the_agent_that_kept_a_run_goes_on_with_it(what):
    place = PASS[0] if what == "hook" else "wrap_model_call after"

    async def play():
        keeper = memory()
        kept = await build(Asking(place), model=Model(DONE), checkpoints=keeper)
        await finish(kept, checkpoint="run")
        name = "another" if what in {"wrapper", "hook"} else "asking"
        profile = replace(SEED_001, name="renamed") if what == "profile" else SEED_001
        agent = await build(
            Asking(place, name=name),
            model=Model(DONE),
            checkpoints=keeper,
            profile=profile,
        )
        if what == "agent":
            agent.machine = replace(agent.machine, name="renamed")
        await resumed(agent)

    with pytest.raises(ChangedAgentError, match="resume it with an agent built as"):
        run(play())


UNKEEPABLE = object()


class Putting:
    """A handler that puts an object where only what can be kept belongs."""

    name = "putting"

    def __init__(self, hook, put):
        self.hooks = frozenset((hook,))
        self._put = put

    async def before_model_rewrite_history(self, ctx, messages):
        return self._put(ctx, messages)

    async def after_model_rewrite_history(self, ctx, messages):
        return self._put(ctx, messages)

    async def after_agent(self, ctx, messages):
        return self._put(ctx, messages)[0]

    async def wrap_model_call(self, ctx, request, next):
        self._put(ctx, ())
        return await next(ctx, request)

    async def wrap_invokable_tool_call(self, ctx, input, next):
        self._put(ctx, ())
        return await next(ctx, input)


def a_local(ctx, messages):
    set_run_local(ctx, "key", [1, {"deep": UNKEEPABLE}])
    return ctx, messages


def a_value(ctx, messages):
    return ctx.with_value("key", [1, {"deep": UNKEEPABLE}]), messages


def a_message(ctx, messages):
    return ctx, [*messages, Message("user", extra={"key": {"deep": 2**70}})]


def a_payload(ctx, messages):
    interrupt({"key": {"deep": UNKEEPABLE}})
    return ctx, messages


EVERY_HOOK = (
    *PASS,
    "after_agent",
    "wrap_model_call",
    "wrap_invokable_tool_call",
)


@pytest.mark.parametrize(
    ("hook", "put"),
    [
        *((hook, put) for hook in EVERY_HOOK for put in (a_local, a_payload)),
        *((hook, a_message) for hook in PASS),
        *((hook, a_value) for hook in (*PASS, "after_agent")),
    ],
)
@pytest.mark.parametrize("how", [{"strict_state": True}, {"checkpoints": memory()}])
def test_what_cannot_be_kept_is_refused_where_it_is_put_in(hook, put, how):
    if put is a_payload and "strict_state" in how:
        return  # without a keeper nobody could answer, and nothing is kept of it

    async def play():
        model = Model(calls("t"), DONE)
        agent = await build(Putting(hook, put), model=model, tools=[Whole()], **how)
        await finish(agent)

    with pytest.raises((HookError, NotKeepableError)) as raised:
        run(play())
    error = getattr(raised.value, "cause", raised.value)
    assert isinstance(error, NotKeepableError)
    assert (error.handler, error.hook) == ("putting", hook)
    assert "key" in error.path
    assert "deep" in error.path


def test_what_the_model_or_the_caller_gave_is_looked_at_too():
    bad = Message("assistant", extra={"key": 2**70})

    async def play(model, given):
        agent = await build(model=model, strict_state=True)
        await finish(agent, given)

    with pytest.raises(NotKeepableError, match="the model"):
        run(play(Model(bad), (USER,)))
    with pytest.raises(NotKeepableError, match="the caller"):
        run(play(Model(DONE), (bad,)))


class Idle:
    """A handler that hands back what it got."""

    name = "idle"

    def before_model_rewrite_history(self, ctx, messages):
        return ctx, messages


def test_a_step_that_rewrites_nothing_costs_the_same_after_any_history():
    async def sizes(length):
        store = MemoryStore()
        model = Model(calls("t"), DONE)
        agent = await build(
            Idle(), model=model, tools=[Whole()], checkpoints=Checkpoints(store)
        )
        given = (Message("user", "x"),) * length
        await finish(agent, given, checkpoint="run")
        records = await store.read("run")
        return [len(each) for each in records[1:]]

    few, many = run(sizes(10)), run(sizes(100_000))
    # The same but for the digits of the numbers in it.
    assert all(0 <= b - a <= 8 for a, b in zip(few, many, strict=True))


class Changing:
    """A tool that changes a run-local value in place, and asks in its second call."""

    info = ToolInfo("t")

    def __init__(self):
        self.seen = []

    async def invoke(self, ctx, arguments, options):
        value: Any = get_run_local(ctx, "list")
        if value is None:
            set_run_local(ctx, "list", [1])
            return "set"
        if not is_reentry():
            value.append(2)
        self.seen = [*value]
        return str(interrupt("go on?"))


def test_a_run_local_value_that_was_changed_in_place_is_kept_as_it_is():
    tool = Changing()
    last, _ = ended(model=Model(calls("t"), calls("t"), DONE), tools=[tool])

    assert last.status == "completed"
    assert tool.seen == [1, 2]


def test_a_run_that_broke_off_goes_on_from_its_last_step():
    first, second = Whole("first"), Approving("second")
    model = Model(calls("first"), calls("second"), DONE)

    async def play():
        agent = await build(model=model, tools=[first, second], checkpoints=memory())
        async with agent.run((USER,), checkpoint="run") as started:
            async for event in started:
                if event.kind == "tool":
                    break  # and who consumed it is gone
        result = await resumed(agent)
        return await resumed(agent, {addresses(result)[0]: "yes"})

    last = run(play())
    assert last.status == "completed"
    assert last.messages[-2].content == "second: yes"


def test_answers_outlast_a_crash():
    tools = {name: Approving(name) for name in "abc"}

    async def play():
        keeper = memory()

        async def agent(*answers):
            return await build(
                model=Model(*answers), tools=[*tools.values()], checkpoints=keeper
            )

        result = await finish(await agent(calls(*"abc")), checkpoint="run")
        a, b, c = addresses(result)
        await resumed(await agent(), {b: "B"})
        async with (await agent(DONE)).resume("run", {a: "A", c: "C"}) as started:
            async for event in started:
                if event.kind == "tool":
                    break
        return await resumed(await agent(DONE))

    last = run(play())
    assert [each.content for each in last.messages[2:5]] == ["a: A", "b: B", "c: C"]
    assert tools["b"].entered == 2


def test_an_interrupt_is_no_exception_and_says_what_it_asks():
    assert not issubclass(Interrupt, Exception)
    with pytest.raises(Interrupt) as raised:
        interrupt({"may": "I"})
    assert raised.value.payload == {"may": "I"}
    assert not is_reentry()


def test_runs_of_one_agent_ask_and_go_on_at_once():
    async def play():
        asking = Approving()

        class Echo(Model):
            """Calls the tool once, then is done, whatever run it is asked in."""

            async def invoke(self, ctx, messages, tools, options):
                return DONE if messages[-1].role == "tool" else calls("t")

        agent = await build(model=Echo(), tools=[asking], checkpoints=memory())
        keys = [f"run {n}" for n in range(50)]
        first = await asyncio.gather(*(finish(agent, checkpoint=k) for k in keys))
        return await asyncio.gather(
            *(
                resumed(agent, {addresses(result)[0]: key}, key)
                for key, result in zip(keys, first, strict=True)
            )
        )

    texts = [result.messages[2].content for result in run(play())]
    assert texts == [f"t: run {n}" for n in range(50)]


@pytest.mark.parametrize("place", [p for p in PLACES if "tool" not in p])
def test_a_gate_that_was_taken_away_is_refused_and_not_passed(place):
    """The hook that asked has to be there, or nobody would hear the answer."""
    kept = memory()

    async def play():
        first = await build(Asking(place), model=Model(DONE), checkpoints=kept)
        assert (await finish(first, checkpoint="run")).status == "interrupted"
        model = Model(DONE)
        again = await build(model=model, checkpoints=kept)
        with pytest.raises(ChangedAgentError, match="none in its place"):
            await resumed(again)
        return len(model.requests)

    assert run(play()) == 0


class Fickle(Whole):
    """A tool that asks for something else each time it is entered."""

    async def invoke(self, ctx, arguments, options):
        self.count += 1
        return f"yes to {interrupt({'may': self.count})}"


def test_an_answer_goes_to_no_other_question_than_was_shown():
    async def play():
        model = Model(calls("t"), DONE)
        agent = await build(model=model, tools=[Fickle()], checkpoints=memory())
        await finish(agent, checkpoint="run")
        with pytest.raises(ToolError, match="a question") as caught:
            await resumed(agent)
        return caught.value.cause

    assert isinstance(run(play()), ChangedAgentError)


class Grouped(Whole):
    """A tool that asks in a task of a group."""

    async def invoke(self, ctx, arguments, options):
        async def ask():
            return interrupt("may I")

        async with asyncio.TaskGroup() as group:
            asked = group.create_task(ask())
        return f"heard {asked.result()}"


@pytest.mark.parametrize("keeps", [True, False])
def test_an_interrupt_in_a_group_of_tasks_stops_the_run(keeps):
    async def play():
        model = Model(calls("t"), DONE)
        keeper = memory() if keeps else None
        agent = await build(model=model, tools=[Grouped()], checkpoints=keeper)
        result = await finish(agent, checkpoint="run" if keeps else None)
        asked = [each.payload for each in result.interrupts]
        if keeps:
            answers = {addresses(result)[0]: "yes"}
            result = await resumed(agent, answers)
        return asked, result

    asked, last = run(play())

    assert asked == ["may I"]
    if keeps:
        assert last.messages[2].content == "heard yes"


class Guessing:
    """A wrapper that asks a person when the tool gave up in time."""

    name = "guessing"

    async def wrap_invokable_tool_call(self, ctx, input, next):
        try:
            return await next(ctx, input)
        except TimeoutError as error:
            return ToolCallResult(f"{interrupt(str(error))} after {error}")


def test_an_error_of_python_is_caught_by_its_class_again():
    tool = Whole(fails=TimeoutError("too late"))
    last, _ = ended(Guessing(), tools=[tool], answer="a guess")

    assert last.messages[2].content == "a guess after too late"
    assert tool.count == 1


@pytest.mark.parametrize("kind", sorted(JOURNALLED))
def test_an_error_that_comes_again_keeps_its_text_and_the_name_of_its_class(kind):
    error = journalled(kind, "what it said")

    assert (str(error), error.kind) == ("what it said", kind)
    assert isinstance(error, getattr(builtins, kind))
    assert isinstance(error, JournalledError)


@pytest.mark.parametrize("given", [5, None, b"run"])
def test_a_key_that_is_no_text_is_refused(given):
    async def play():
        agent = await build(model=Model(DONE), checkpoints=memory())
        with pytest.raises(FieldTypeError, match="checkpoint"):
            agent.resume(given)
        with pytest.raises(FieldTypeError, match="answers"):
            agent.resume("run", ["yes"])

    run(play())


@pytest.mark.parametrize("answer", [float("nan"), 2**70, print])
def test_an_answer_that_cannot_be_kept_is_refused_before_anything_is_done(answer):
    tool = Approving()

    async def play():
        model = Model(calls("t"), DONE)
        agent = await build(model=model, tools=[tool], checkpoints=memory())
        first = await finish(agent, checkpoint="run")
        with pytest.raises(NotKeepableError, match="answers"):
            await resumed(agent, {addresses(first)[0]: answer})

    run(play())
    assert tool.entered == 1


@pytest.mark.parametrize("given", ["runs.db", MemoryStore()])
def test_a_store_alone_is_no_keeper(given):
    with pytest.raises(FieldTypeError, match="Checkpoints"):
        run(build(model=Model(DONE), checkpoints=given))
