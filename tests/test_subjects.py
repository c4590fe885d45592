"""What is observed of a subject is what it did, when it did it, and nothing else."""

import asyncio
from dataclasses import replace

import pytest

from refengine import (
    AgentMiddleware,
    Message,
    ToolCallResult,
    ToolInfo,
    ToolMiddleware,
    with_before_agent,
    with_before_model_rewrite_history,
    with_invokable_tool_wrapper,
    with_tools,
)
from refengine.profile import profile
from refengine.testing import SubjectError, play_subject, run
from refengine.testing.channels import CHANNELS, Seen, project
from refengine.testing.session import whole
from refengine.testing.world import EffectError
from tests.neighbours import names_of_ours, worlds_of_neighbours
from tests.players import CALLS, STREAMS, TURNS, Here, divergence, shown, world


def same(_):
    return [with_before_model_rewrite_history(lambda ctx, messages: (ctx, messages))]


def calling_model(wrap):
    class Wraps:
        name = "wraps"

        async def wrap_model_call(self, ctx, request, next):
            return await wrap(ctx, request, next)

    return lambda _: [Wraps()]


async def as_it_is(ctx, request, next):
    return await next(ctx, request)


async def with_a_message_for_the_call(ctx, request, next):
    messages = [*request.messages, Message("user", "psst")]
    try:
        return await next(ctx, replace(request, messages=messages))
    finally:
        messages.pop()


async def with_an_option_for_the_call(ctx, request, next):
    options = {**request.options, "tool_choice": "required"}
    try:
        return await next(ctx, replace(request, options=options))
    finally:
        options.clear()


@pytest.mark.parametrize(
    ("wrap", "code"),
    [
        (with_a_message_for_the_call, "MESSAGE_ADDED"),
        (with_an_option_for_the_call, "SETTINGS"),
    ],
)
def test_what_is_taken_back_after_a_call_was_still_sent(wrap, code) -> None:
    old, new = calling_model(as_it_is), calling_model(wrap)

    assert divergence(CALLS, old, new, "same-effects").code == code


def test_options_of_a_tool_are_those_of_the_moment() -> None:
    async def lending(ctx, input, next):
        lent = dict(input.call_options)
        input.call_options = lent
        lent["secret"] = 1
        try:
            return await next(ctx, input)
        finally:
            del lent["secret"]

    new = with_invokable_tool_wrapper(lending)

    assert divergence(CALLS, same, lambda _: [new], "same-effects").code == "SETTINGS"


def asking(*, first: bool):
    def subject(world):
        async def gate(ctx, input, next):
            if first:
                world.effect("asked", input.name)
            result = await next(ctx, input)
            if not first:
                world.effect("asked", input.name)
            return result

        return [with_invokable_tool_wrapper(gate)]

    return subject


def test_asking_after_a_tool_ran_is_not_asking_before() -> None:
    found = divergence(CALLS, asking(first=True), asking(first=False), "same-effects")

    assert (found.code, found.difference.channel) == ("ORDER", "effects")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("scenario.record", 1),
        ("session_value", 1),
        ("", 1),
        (7, 1),
        ("x", object()),
        ("x", {1: "a"}),
        ("x", b"ab"),
        ("x", float("nan")),
        ("x", {"a": [{2: 3}]}),
    ],
)
def test_effect_that_no_trace_can_hold_ends_the_session(name, data) -> None:
    def subject(world):
        def before(ctx, messages):
            try:
                world.effect(name, data)
            except EffectError:
                return ctx, messages  # caught or not, it was not put down
            return ctx, messages

        return [with_before_model_rewrite_history(before)]

    with pytest.raises(EffectError, match="give it a name and JSON values"):
        run(play_subject(CALLS, subject))


def test_effect_that_holds_itself_is_said_to() -> None:
    def subject(world):
        ring: list[object] = []
        ring.append(ring)
        world.effect("x", ring)
        return []

    with pytest.raises(EffectError, match="it holds itself, or is too deep; give it"):
        run(play_subject(CALLS, subject))


def test_effect_is_put_down_as_it_is_then() -> None:
    def subject(world):
        def before(ctx, config):
            seen = [1]
            world.effect("x", seen)
            seen.append(2)
            return ctx

        return [with_before_agent(before)]

    seen = Seen(run(play_subject(CALLS, subject)).trace)

    assert [each.value["data"] for each in project(seen, "effects")] == [[1]]


def test_own_tool_that_gives_no_stream_is_refused_as_without_the_harness() -> None:
    class Tool:
        info = ToolInfo("t", "own")

        async def stream(self, ctx, arguments, options):
            return iter(["a"])

    seen = shown(STREAMS, lambda _: [with_tools(Tool())])

    assert [each.value["error"] for each in seen.entries("errors")] == [
        "ToolResultTypeError"
    ]


def test_own_tool_is_observed_like_a_tool_of_the_world() -> None:
    class Tool:
        info = ToolInfo("t", "own")

        async def invoke(self, ctx, arguments, options):
            return "x"

    [first, _] = shown(CALLS, lambda _: [with_tools(Tool())]).entries("tool_executions")

    assert first.value["implementation"] == "the subject's: own"


def test_configuration_keeps_the_extensions_of_the_world_in_their_places() -> None:
    neighbours = world(agent={"middlewares": [{"id": "m"}], "handlers": [{"id": "h"}]})

    def kept(world):
        return world.config(middlewares=[AgentMiddleware("x")])

    def moved(world):
        own = (AgentMiddleware("x"), *world.middlewares)
        return replace(world.config(), middlewares=own)

    def dropped(world):
        return replace(world.config(), handlers=())

    assert run(play_subject(neighbours, kept)).trace
    for subject in (moved, dropped):
        with pytest.raises(SubjectError, match=r"where world\.config\(\) puts them"):
            run(play_subject(neighbours, subject))


class Named:
    def __init__(self, name):
        self.name = name

    async def before_model_rewrite_history(self, ctx, messages):
        return ctx, messages


@pytest.mark.parametrize("engine", ["seed-001", "langchain-1"])
def test_handler_may_be_called_as_anything_of_the_world_is(engine: str) -> None:
    ours = [*names_of_ours(), "world"]

    def played(names, neighbours):
        mine = [Named(each) for each in names]
        return run(play_subject(neighbours, lambda _: mine, profile(engine)))

    assert len(ours) > 8  # those of a check are found
    for neighbours in worlds_of_neighbours(ours[:-1]):
        old = played(ours, neighbours)
        new = played([f"{at} of mine" for at in range(len(ours))], neighbours)

        assert old.trace.of("event")
        assert old.trace.to_jsonl() == new.trace.to_jsonl()
        assert old.hooks.keys() >= {
            f"handlers[{at}] {name}.before_model_rewrite_history"
            for at, name in enumerate(ours)
        }


def test_an_error_of_the_subject_names_no_handler_however_many_have_its_name() -> None:
    class Fails(Named):
        async def before_model_rewrite_history(self, ctx, messages):
            raise ValueError

    def errors(*names):
        seen = shown(world(), lambda _: [Named(names[0]), Fails(names[1])])
        return [each.value for each in seen.entries("errors")]

    assert errors("log", "log") == errors("log", "audit")


def test_texts_and_ids_that_the_notation_cannot_hold_are_compared() -> None:
    def naming(prefix):
        def subject(_):
            class Names:
                name = "names"

                def after_model_rewrite_history(self, ctx, messages):
                    last = messages[-1]
                    calls = [
                        replace(c, id=f"{prefix}:({c.id}") for c in last.tool_calls
                    ]
                    last = replace(last, content="x[a:b(c)]", tool_calls=tuple(calls))
                    return ctx, (*messages[:-1], last)

            return [Names()]

        return subject

    assert divergence(CALLS, naming("a"), naming("b")).code


def test_whole_text_of_an_event_does_not_depend_on_its_chunks() -> None:
    assert whole(["a", "b"]) == whole(["ab"]) == {"text": "ab", "tool_calls": []}
    assert whole([Message("assistant", "ab")]) == {"text": "ab", "tool_calls": []}


def test_agent_of_structs_alone_stays_one_while_it_is_observed() -> None:
    made = []

    def counting(inner):
        made.append(inner)
        return inner

    def subject(_):
        wraps = ToolMiddleware(invokable=counting)
        return [AgentMiddleware(wrap_tool_call=wraps)]

    run(play_subject(CALLS, subject, profile("eino-0.8")))

    assert len(made) == 2  # once a run for each tool, and not again for the message


def test_plain_hooks_stay_plain_and_async_ones_async() -> None:
    async def waiting(ctx, messages):
        await asyncio.sleep(0)
        return ctx, messages

    for hook in (waiting, lambda ctx, messages: (ctx, messages)):
        here = Here(lambda _, hook=hook: [with_before_model_rewrite_history(hook)])
        here.play(TURNS)
        assert set(here.hooks.values()) == {2}


def test_result_of_a_wrapper_that_is_none_is_told_as_without_the_harness() -> None:
    async def nothing(ctx, input, next):
        return ToolCallResult(7)

    seen = shown(CALLS, lambda _: [with_invokable_tool_wrapper(nothing)])

    assert [each.value["error"] for each in seen.entries("errors")] == [
        "HookReturnError"
    ]


@pytest.mark.parametrize(
    "forgotten",
    [None, "text", 7, {"role": "user"}, object(), Message("user", tool_calls=(None,))],
    ids=["none", "text", "number", "dict", "object", "call of none"],
)
def test_what_is_no_message_in_a_history_is_a_difference_in_each_channel(
    forgotten,
) -> None:
    def between(entry):
        def rewrite(ctx, messages):
            if any(entry is each for each in messages):
                return ctx, messages
            return ctx, [*messages[:-1], entry, messages[-1]]

        return lambda _: [with_before_model_rewrite_history(rewrite)]

    said = world(agent={"instruction": "a"}, model_script=["assistant:x"])
    old, new = between(Message("user", "note")), between(forgotten)
    ours, theirs = shown(said, old), shown(said, new)

    changed = {each for each in CHANNELS if ours.text(each) != theirs.text(each)}
    assert {"requests", "state"} <= changed <= {"requests", "state", "observed"}
    assert divergence(said, old, new).code == "MESSAGE_CHANGED"
