"""Which code the first difference of two subjects has, and where it is said to be."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from compat.migration.codes import CODES
from compat.migration.codes import name as name_of
from compat.migration.described import CODES as NAMED_FROM
from compat.verdicts.relations import RELATIONS, channels_of
from refengine import (
    AgentAction,
    AgentMiddleware,
    Message,
    ToolCallResult,
    ToolMeta,
    attach_action,
    interrupt,
    set_run_local,
    with_after_model_rewrite_history,
    with_before_agent,
    with_before_model_rewrite_history,
    with_instruction,
    with_invokable_tool_wrapper,
    with_streamable_tool_wrapper,
)
from refengine.handlers.tool_filter import ToolFilterHandler
from refengine.messages import MessageChunk
from refengine.stream import StreamReader, convert_stream
from refengine.testing import RecordingTool, Scenario, ToolSpec
from refengine.testing.channels import CHANNELS
from refengine.testing.trace import MISSING
from refengine.tools import StreamToolCallResult
from tests.players import CALLS, STREAMS, TURNS, divergence, world

TWICE_CALLED = world(
    agent={"tools": [{"name": "t"}]},
    model_script=[
        f"assistant:[c{at}:t({{}})]" if at % 2 else "assistant:x" for at in (1, 2, 3, 4)
    ],
    runs=[{"input": ["user:a"]}, {"input": ["user:b"]}],
)
"""A call of one tool in each of two runs."""


def rewriting(edit):
    return lambda _: [with_before_model_rewrite_history(lambda c, m: (c, edit(m)))]


def keeping(edit):
    return lambda _: [with_after_model_rewrite_history(lambda c, m: (c, edit(m)))]


def configuring(edit):
    def before_agent(ctx, config):
        edit(config)
        return ctx

    return lambda _: [with_before_agent(before_agent)]


def wrapping(wrap):
    return lambda _: [with_invokable_tool_wrapper(wrap)]


def doing(*effects):
    def subject(world):
        def before_agent(ctx, config):
            for name, data in effects:
                world.effect(name, data)
            return ctx

        return [with_before_agent(before_agent)]

    return subject


def same(_):
    return [with_before_model_rewrite_history(lambda ctx, messages: (ctx, messages))]


async def as_it_is(ctx, input, next):
    return await next(ctx, input)


async def twice(ctx, input, next):
    await next(ctx, input)
    return await next(ctx, input)


async def not_at_all(ctx, input, next):
    return ToolCallResult("r" if input.name == "t" else "s")


def only(nth):
    """Let the tool of one call of a session run, and no other."""

    def subject(world):
        calls = [0]

        async def wrap(ctx, input, next):
            calls[0] += 1
            return await (as_it_is if calls[0] == nth else not_at_all)(ctx, input, next)

        return [with_invokable_tool_wrapper(wrap)]

    return subject


async def with_arguments(ctx, input, next):
    input.arguments = '{"q": 1}'
    return await next(ctx, input)


async def without_options(ctx, input, next):
    input.call_options = {}
    return await next(ctx, input)


async def failing(ctx, input, next):
    await next(ctx, input)
    raise ValueError("no")


async def failing_at_second(ctx, input, next):
    result = await next(ctx, input)
    if input.name == "u":
        raise ValueError("no")
    return result


async def leaving(ctx, input, next):
    attach_action(AgentAction(exit=True))
    return await next(ctx, input)


async def failing_otherwise(ctx, input, next):
    await next(ctx, input)
    raise KeyError("no")


def pausing(seconds):
    async def paused(ctx, input, next):
        await asyncio.sleep(seconds)
        return await next(ctx, input)

    return wrapping(paused)


async def louder(ctx, input, next):
    result = await next(ctx, input)
    return ToolCallResult(result.result + "!")


def other_tool(config):
    made = RecordingTool(ToolSpec(name="t", result="other"))
    config.tools = [ToolMeta(made), *config.tools[1:]]


def reversed_tools(config):
    config.tools = config.tools[::-1]


def with_one_less(config):
    config.tools = config.tools[:1]


def struct(_):
    return [AgentMiddleware(additional_instruction="x")]


def locked(_):
    lock = asyncio.Lock()

    async def one_by_one(ctx, input, next):
        async with lock:
            return await next(ctx, input)

    return [with_invokable_tool_wrapper(one_by_one)]


def streaming_louder(_):
    async def wrap(ctx, input, next):
        got = await next(ctx, input)
        return StreamToolCallResult(convert_stream(got.result, str.upper))

    return [with_streamable_tool_wrapper(wrap)]


def joined(_):
    async def pieces(reader):
        yield "".join([chunk async for chunk in reader])

    async def wrap(ctx, input, next):
        got = await next(ctx, input)
        return StreamToolCallResult(StreamReader(pieces(got.result)))

    return [with_streamable_tool_wrapper(wrap)]


def asking(payload):
    async def wrap(ctx, input, next):
        interrupt(payload)
        return await next(ctx, input)

    return wrapping(wrap)


def gate(lets):
    """Ask a person, do what comes of it in the call, and put it down."""

    def subject(world):
        async def wrap(ctx, input, next):
            if not lets(interrupt("sure?")):
                world.effect("refused", {"tool": input.name})
                return ToolCallResult("no")
            result = await next(ctx, input)
            world.effect("done", {"tool": input.name})
            return result

        return [with_invokable_tool_wrapper(wrap)]

    return subject


def noting(count):
    """Keep a value for the run that nobody reads."""

    def before(ctx, messages):
        set_run_local(ctx, "seen", count(messages))
        return ctx, messages

    return lambda _: [with_before_model_rewrite_history(before)]


class Redacting:
    """Changes what the consumer is shown of an answer, not what is kept."""

    name = "redacting"

    async def wrap_model_call(self, ctx, request, next):
        return convert_stream(await next(ctx, request), lambda _: MessageChunk("***"))

    def after_model_rewrite_history(self, ctx, messages):
        return ctx, (*messages[:-1], Message("assistant", "done soon"))


SLOW = world(
    agent={
        "tools": [
            {"name": "t", "result": "r", "delay_ms": 5},
            {"name": "u", "result": "s"},
        ]
    },
    model_script=["assistant:[c1:t({})][c2:u({})]", "assistant:done"],
)
ANSWERS = world(
    model_script=["assistant:done soon"],
    runs=[{"input": ["user:a"], "streaming": True}],
)
KEPT = world(
    model_script=["assistant:done"], runs=[{"input": ["user:a"], "checkpoint": "k"}]
)
DENIED = CALLS.model_copy(
    update={"runs": (CALLS.runs[0].model_copy(update={"denies": ("c1",)}),)}
)
ASKS_ITSELF = world(
    agent={"tools": [{"name": "t", "body": [{"op": "ask", "payload": "sure?"}]}]},
    model_script=["assistant:[c1:t({})]", "assistant:done"],
    runs=[{"input": ["user:a"], "denies": ["c1"]}],
)
OPTIONS = CALLS.model_copy(
    update={"runs": (CALLS.runs[0].model_copy(update={"options": {"t": 0}}),)}
)

A, B = Message("user", "x"), Message("user", "y")


def marked(message: Message) -> Message:
    """Return a message that a framework marks as an error."""
    return replace(message, extra={"status": "error"})


CASES = [
    ("INSTRUCTION", CALLS, struct, lambda _: [with_instruction("x")]),
    ("MESSAGE_LOST", CALLS, same, rewriting(lambda m: m[1:])),
    ("MESSAGE_ADDED", CALLS, same, rewriting(lambda m: (*m, A))),
    ("MESSAGE_CHANGED", CALLS, same, rewriting(lambda m: (A, *m[1:]))),
    ("MARKS", CALLS, same, rewriting(lambda m: (marked(m[0]), *m[1:]))),
    ("ORDER", CALLS, rewriting(lambda m: (A, B, *m)), rewriting(lambda m: (B, A, *m))),
    ("TOOLS_MERGE", CALLS, same, configuring(with_one_less)),
    ("TOOLS_ORDER", CALLS, same, configuring(reversed_tools)),
    ("SETTINGS", OPTIONS, same, wrapping(without_options)),
    ("EXTRA_CALL", CALLS, same, wrapping(twice)),
    ("AGAINST_NO", DENIED, gate(bool), gate(lambda yes: yes is not None)),
    ("EXTRA_CALL", CALLS, gate(lambda yes: not yes), gate(bool)),
    ("MISSING_CALL", CALLS, gate(bool), gate(lambda yes: not yes)),
    ("MISSING_CALL", CALLS, wrapping(as_it_is), wrapping(not_at_all)),
    ("MISSING_CALL", TWICE_CALLED, only(1), only(2)),
    ("EXTRA_CALL", TWICE_CALLED, only(2), only(1)),
    ("TOOL_ARGUMENTS", CALLS, same, wrapping(with_arguments)),
    ("TOOL_REPLACED", CALLS, same, configuring(other_tool)),
    ("ANSWER", ANSWERS, same, keeping(lambda m: (*m[:-1], Message("assistant", "x")))),
    ("STATE_LOST", ANSWERS, same, keeping(lambda m: m[1:])),
    ("STATE_CHANGED", ANSWERS, same, keeping(lambda m: (B, *m))),
    ("PAIRING", CALLS, same, rewriting(lambda m: m[-1:])),
    ("EVENT_CHANGED", CALLS, same, wrapping(leaving)),
    ("STREAM_TEXT", STREAMS, same, streaming_louder),
    ("STREAM_LEAK", ANSWERS, lambda _: [Redacting()], same),
    ("ERROR_NEW", CALLS, same, wrapping(failing)),
    ("ERROR_LOST", CALLS, wrapping(failing), same),
    ("ERROR_CLASS", CALLS, wrapping(failing), wrapping(failing_otherwise)),
    ("ERROR_POINT", CALLS, wrapping(failing), wrapping(failing_at_second)),
    ("EFFECT_LOST", CALLS, doing(("a", 1), ("b", 2)), doing(("b", 2))),
    ("EFFECT_EXTRA", CALLS, doing(("b", 2)), doing(("a", 1), ("b", 2))),
    ("EFFECT_CHANGED", CALLS, doing(("a", {"n": 1})), doing(("a", {"n": 2}))),
    ("ASKED", CALLS, asking("sure?"), asking("really?")),
    ("STATE_KEPT", KEPT, noting(len), noting(lambda _: 7)),
    ("TYPE", CALLS, doing(("a", {"n": 1})), doing(("a", {"n": True}))),
    ("CHUNKS", STREAMS, same, joined),
    ("WAITS", CALLS, pausing(2), pausing(1)),
    ("INTERLEAVING", SLOW, wrapping(as_it_is), locked),
]
SESSIONS = "agents that keep sessions: tests/test_session_codes.py"
NOT_HERE = {
    "EVENT_ORDER": "other events of agents with sessions: tests/test_echoes.py",
    "STORED_LOST": SESSIONS,
    "STORED_EXTRA": SESSIONS,
    "STORED_CHANGED": SESSIONS,
    "ARTIFACT": SESSIONS,
    "AUTHOR": SESSIONS,
    "ERROR_CAUSE": SESSIONS,
    "ERROR_WRAPPED": "agents of ADK: tests/test_migrate_adk.py",
    **dict.fromkeys(
        (
            "SAVED",
            "PART_LOST",
            "PART_EXTRA",
            "PART_OPEN",
            "PART_CHANGED",
            "PART_EVENT",
            "DELIVERY_LOST",
            "DELIVERY_EXTRA",
            "DELIVERED_TO",
            "DELIVERY_CHANGED",
        ),
        "processors and sessions: tests/test_dialect_subjects.py",
    ),
    **dict.fromkeys(
        (
            "HAND_OVER_REFUSED",
            "HAND_OVER_LOST",
            "HAND_OVER_TWICE",
            "HAND_OVER_CHANGED",
            "HAND_OVER_TYPE",
        ),
        "runs that OLD kept: tests/test_hand_over.py",
    ),
    "WAY_LOST": "graphs of other frameworks: tests/test_migrate_graphs.py",
    "NODES": "graphs of one piece of code: tests/test_graphs.py",
    "STATUS": "ends differ in something that is observed before the end",
    "CALLER_CHANGED": "the engine hands out no list of the caller's",
    "OBSERVED": "tests/test_judging.py, with a neighbour in the world",
    "INTENT": "no difference: tests/test_migrate.py",
}


@pytest.mark.parametrize(
    ("code", "where", "old", "new"), CASES, ids=lambda v: str(v)[:16]
)
def test_difference_has_its_code(code, where: Scenario, old, new) -> None:
    assert divergence(where, old, new).code == code


def test_every_code_is_shown_or_its_absence_explained() -> None:
    assert {case[0] for case in CASES} | set(NOT_HERE) == set(CODES)
    assert NAMED_FROM is CODES


def test_divergence_says_what_both_sides_show_and_where() -> None:
    found = divergence(TURNS, same, rewriting(lambda m: m[1:]))

    assert found.where == "run 1, model call 1"
    assert found.difference.path == "[0].messages[0]"
    assert found.difference.old == {"content": "a", "role": "user"}
    assert found.difference.new == "(nothing)"
    assert found.lines == (("-", "user: a"),)


def test_second_turn_is_where_a_loss_that_only_it_shows_is_found() -> None:
    found = divergence(TURNS, same, keeping(lambda m: m if len(m) < 4 else m[-1:]))

    assert (found.code, found.where) == ("STATE_LOST", "run 2")


def test_a_tool_that_asks_by_itself_runs_against_nobodys_no() -> None:
    found = divergence(ASKS_ITSELF, wrapping(not_at_all), wrapping(as_it_is))

    assert found.code == "ASKED"


def test_a_no_to_what_wraps_a_tool_that_asks_stays_a_no() -> None:
    found = divergence(ASKS_ITSELF, gate(bool), gate(lambda yes: yes is not None))

    assert found.code == "AGAINST_NO"


def test_a_question_that_is_not_asked_is_more_than_another_event() -> None:
    found = divergence(CALLS, asking("sure?"), wrapping(as_it_is), "same-effects")

    assert (found.code, found.where) == ("ASKED", "run 1, event 2")
    assert (found.difference.old, found.difference.new) == (["sure?"] * 2, MISSING)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("tool", "error", "ERROR_NEW"),
        ("error", "tool", "ERROR_LOST"),
        ("interrupt", "error", "ASKED"),
    ],
)
def test_an_event_in_the_place_of_another_says_what_came_out(old, new, code) -> None:
    sides = [
        {"kind": each, **({} if each == "error" else {"failed": False})}
        for each in (old, new)
    ]

    assert name_of("events", *sides)[0] == code


def test_a_value_that_cannot_be_kept_is_the_cause_that_is_told() -> None:
    found = divergence(KEPT, noting(len), noting(lambda messages: messages.count))

    assert found.code == "ERROR_NEW"
    assert "'error': 'NotKeepableError'" in str(found.difference.new)


def test_what_is_kept_is_told_by_its_key_and_step() -> None:
    found = divergence(KEPT, noting(len), same)

    assert (found.code, found.where) == ("STATE_KEPT", "run 1, step 2")
    assert found.difference.path == "[1].locals.seen"
    assert (found.difference.old, found.difference.new) == (1, "(nothing)")


def test_what_is_done_tells_more_than_what_is_kept() -> None:
    def told(value):
        def subject(world):
            def before(ctx, messages):
                set_run_local(ctx, "n", value)
                world.effect("n", value)
                return ctx, messages

            return [with_before_model_rewrite_history(before)]

        return subject

    assert divergence(KEPT, told(1), told(2)).code == "EFFECT_CHANGED"


def test_removed_tool_is_a_change_of_the_set() -> None:
    found = divergence(CALLS, same, lambda _: [ToolFilterHandler(deny=["u"])])

    assert found.code == "TOOLS_MERGE"
    assert (found.difference.old, found.difference.new) == (["t", "u"], ["t"])


def test_relations_are_nested() -> None:
    sets = [set(channels_of(name)) for name in RELATIONS]

    assert all(weaker <= stronger for weaker, stronger in pairwise(sets))


def test_every_channel_is_one_of_the_strongest_relation_and_every_such_is_one() -> None:
    assert set(channels_of(RELATIONS[-1])) == set(CHANNELS)
