"""Streams of chat completions: chunks as recorded, joined as the vendor means them."""

import json
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from compat.models.chat_answers import stream_of
from compat.models.chat_requests import LeftOut
from compat.models.exchanges import read_response
from compat.wire.exchanges import Response
from compat.wire.interfaces.recorded import RecordedAnswer
from refengine.messages import Message, MessageChunk, ToolCall, ToolCallChunk

searching = settings(max_examples=150, deadline=None, derandomize=True, database=None)


def event(delta: Any = None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": reason}
    return {"choices": [choice], **more}


def body(*events: Any, done: bool = True) -> bytes:
    texts = [e if isinstance(e, str) else json.dumps(e) for e in events]
    texts += ["[DONE]"] if done else []
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def read(*events: Any, done: bool = True) -> tuple[RecordedAnswer, dict[str, int]]:
    left = LeftOut()
    return stream_of(body(*events, done=done), left), dict(left.found)


def piece(index: int | None = 0, **parts: Any) -> dict[str, Any]:
    function = {key: parts.pop(key) for key in ("name", "arguments") if key in parts}
    at = {} if index is None else {"index": index}
    return event({"tool_calls": [{**at, **parts, "function": function}]})


def calls(*events: Any) -> list[tuple[str, str, str]]:
    answer, _ = read(*events)
    whole = answer.whole
    assert whole is not None
    return [(each.id, each.name, each.arguments) for each in whole.tool_calls]


def test_each_event_of_the_choice_is_a_chunk_cut_as_it_was():
    answer, _ = read(
        event({"role": "assistant", "content": ""}),
        event({"content": "a "}),
        event({"content": "b"}),
        event({}, "stop"),
    )

    assert [chunk.content for chunk in answer.chunks] == ["", "a ", "b", ""]
    assert answer.whole == Message("assistant", "a b")


def test_pieces_of_calls_keep_their_index_and_their_cuts():
    answer, _ = read(
        piece(0, id="1", name="t", arguments=""),
        piece(0, arguments='{"a'),
        piece(1, id="2", name="u", arguments="{"),
        piece(0, arguments='": 1}'),
        piece(1, arguments="}"),
    )

    assert answer.chunks[1] == MessageChunk("", (ToolCallChunk(0, "", "", '{"a'),))
    assert answer.whole == Message(
        "assistant", "", (ToolCall("1", "t", '{"a": 1}'), ToolCall("2", "u", "{}"))
    )


def test_arguments_may_be_null():
    assert calls(piece(0, id="0", name="t", arguments=None)) == [("0", "t", "")]


def test_id_and_name_may_come_with_every_piece():
    again = [piece(0, id="1", name="t", arguments=each) for each in "ab"]

    assert calls(*again) == [("1", "t", "ab")]


@pytest.mark.parametrize("index", [0, None])
def test_calls_that_share_an_index_or_have_none_are_told_apart(index: int | None):
    events = [
        piece(index, id="1", name="t", arguments="a"),
        piece(index, id="2", name="t", arguments="b"),
        piece(index, arguments="c"),
    ]
    answer, _ = read(*events)

    assert calls(*events) == [("1", "t", "a"), ("2", "t", "bc")]
    assert [c.tool_calls[0].index for c in answer.chunks] == [0, 1, 1]
    assert answer.notes == ("calls that share an index, or have none, are numbered",)


def test_calls_with_neither_index_nor_id_begin_with_a_name():
    events = [
        piece(None, name="t", arguments="a"),
        piece(None, arguments="b"),
        piece(None, name="t", arguments="c"),
    ]

    assert calls(*events) == [("", "t", "ab"), ("", "t", "c")]


def test_piece_without_index_goes_to_the_call_of_its_id():
    events = [
        piece(None, id="1", name="t", arguments="a"),
        piece(None, id="2", name="u", arguments="b"),
        piece(None, id="1", arguments="c"),
    ]

    assert calls(*events) == [("1", "t", "ac"), ("2", "u", "b")]


def test_calls_of_one_id_are_told_apart_by_their_index():
    events = [piece(at, id="0", name="t", arguments=str(at)) for at in (0, 1)]

    assert calls(*events) == [("0", "t", "0"), ("0", "t", "1")]


def test_pieces_of_a_call_of_the_old_form_are_one_call():
    events = [
        event({"function_call": {"name": "t", "arguments": ""}}),
        event({"function_call": {"arguments": "{}"}}),
    ]

    assert calls(*events) == [("", "t", "{}")]


def test_text_beside_the_content_stands_whole_where_its_last_piece_came():
    answer, _ = read(
        event({"reasoning_content": "h"}),
        event({"reasoning_content": "m"}),
        event({"content": "a", "reasoning_content": ""}),
        event({"refusal": "no"}, "stop"),
    )

    assert [dict(c.extra) for c in answer.chunks] == [
        {},
        {"reasoning_content": "hm"},
        {},
        {"refusal": "no"},
    ]
    assert answer.whole == Message(
        "assistant", "a", extra={"reasoning_content": "hm", "refusal": "no"}
    )


def test_events_without_a_choice_are_counted_and_give_no_chunk():
    answer, left = read(
        {"choices": [], "prompt_filter_results": [{}]},
        event({"content": "a"}, "stop"),
        {"choices": [], "usage": {"total_tokens": 1}},
        {"usage": {"total_tokens": 1}},
    )

    assert len(answer.chunks) == 1
    assert left == {
        "event.prompt_filter_results": 1,
        "event.choices[].finish_reason": 1,
        "event.usage": 2,
    }


def test_pieces_under_the_name_of_the_whole_are_read():
    choice = {"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}

    answer, _ = read({"choices": [choice]})

    assert answer.whole == Message("assistant", "a")


def test_piece_beside_a_copy_of_it_is_read_once():
    choice = {"delta": {"content": "a"}, "message": {"content": "a"}}

    answer, left = read({"choices": [choice]})

    assert answer.whole == Message("assistant", "a")
    assert left == {"event.choices[].message": 1}


def test_further_choices_are_left_and_counted():
    two = [{"index": n, "delta": {"content": str(n)}} for n in (1, 0)]

    answer, left = read({"choices": two})

    assert answer.whole == Message("assistant", "0")
    assert left == {"event.choices[1:]": 1}


BEGUN = event({"content": "a"})


@pytest.mark.parametrize(
    ("events", "failure"),
    [
        (
            [{"error": {"type": "server_error", "code": 502}}],
            "in stream server_error 502",
        ),
        ([{"choices": [{"error": {"code": 502}}]}], "in stream 502"),
        (["{cut"], "an event that is not JSON"),
        (["[1]"], "an event of another shape"),
        ([{"choices": [5]}], "an event of another shape"),
        ([event({"content": 5})], "an event of another shape"),
        ([event({"tool_calls": 5})], "an event of another shape"),
        ([], "the stream ends before the answer does"),
    ],
)
def test_stream_fails_where_a_client_could_not_read_on(events: Any, failure: str):
    answer, _ = read(
        BEGUN, *events, *([event({"content": "b"})] * bool(events)), done=False
    )

    assert [chunk.content for chunk in answer.chunks] == ["a"]
    assert answer.failure == failure
    assert answer.whole is None


def test_event_of_type_error_is_a_failure():
    answer = stream_of(b'event: error\ndata: {"message": "x"}\n\n', LeftOut())

    assert answer == RecordedAnswer(failure="in stream")


def test_stream_without_any_chunk_has_no_answer():
    assert read({"choices": [], "usage": {}})[0].failure == "the stream has no answer"


def test_finish_reason_ends_a_stream_without_a_last_mark():
    answer, _ = read(event({"content": "a"}, "length"), done=False)

    assert answer.whole == Message("assistant", "a")
    assert answer.notes == ("the answer ended by length",)


def test_event_that_nothing_ends_is_counted():
    left = LeftOut()

    stream_of(body(event({"content": "a"}, "stop")) + b"data: {}", left)

    assert left.found["the last event, which nothing ends"] == 1


@pytest.mark.parametrize(
    ("headers", "text", "whole"),
    [
        ({}, body(event({"content": "a"}, "stop")).decode(), Message("assistant", "a")),
        (
            {"content-type": ("text/event-stream",)},
            '{"choices": [{"message": {"content": "a"}}]}',
            Message("assistant", "a"),
        ),
        ({"content-type": ("text/event-stream",)}, "", None),
    ],
)
def test_stream_is_told_by_its_body(headers: Any, text: str, whole: Message | None):
    answer = read_response(Response(200, "", headers, text.encode()), LeftOut())

    assert answer.whole == whole


KEYS = st.sampled_from(
    [
        "choices",
        "index",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "type",
        "function_call",
        "refusal",
        "reasoning",
        "finish_reason",
        "error",
        "code",
        "text",
        "custom",
    ]
)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "text", "a"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3)
    ),
)
CHOICES = st.fixed_dictionaries(
    {"choices": st.lists(st.dictionaries(KEYS, TREES, max_size=3), max_size=2)}
)
BODIES = st.one_of(
    st.lists(TREES | CHOICES, max_size=3).map(lambda events: body(*events)),
    (TREES | CHOICES).map(json.dumps).map(str.encode),
    st.binary(max_size=20),
)


@settings(searching, max_examples=500)
@given(BODIES, st.sampled_from([200, 201, 302, 400, 500]))
@example(b'data: {"type": []}\n\n', 200)
def test_whatever_a_server_sends_is_an_answer_or_a_failure(sent: bytes, status: int):
    answer = read_response(Response(status, "", {}, sent), LeftOut())

    assert (answer.whole is None) == (answer.failure is not None)
    assert answer.failure is None or len(answer.failure) < 130


CALLS = st.lists(
    st.tuples(st.sampled_from("tu"), st.text('{}":ä😀 [)]', max_size=12)), max_size=3
)


@searching
@given(st.text(max_size=12), CALLS, st.randoms(use_true_random=False))
def test_joined_stream_is_what_the_official_client_makes_of_it(
    text: str, made: list[tuple[str, str]], at: Random
):
    events = split(text, made, at)
    state: Any = ChatCompletionStreamState()
    for each in events:
        state.handle_chunk(ChatCompletionChunk.model_validate(each))
    theirs = state.get_final_completion().choices[0].message

    whole = read(*events)[0].whole

    assert whole == Message(
        "assistant",
        theirs.content or "",
        tuple(
            ToolCall(call.id, call.function.name, call.function.arguments)
            for call in theirs.tool_calls or ()
        ),
    )
    assert whole is not None
    assert whole.content == text
    assert [(c.name, c.arguments) for c in whole.tool_calls] == made


def split(text: str, made: list[tuple[str, str]], at: Random) -> list[dict[str, Any]]:
    """Return the events of an answer, cut anywhere, calls one after the other."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": each} for each in cut(text, at)]
    for index, (name, arguments) in enumerate(made):
        begin = {"name": name, "arguments": ""}
        first = {
            "index": index,
            "id": f"c{index}",
            "type": "function",
            "function": begin,
        }
        deltas.append({"tool_calls": [first]})
        for each in cut(arguments, at):
            more = {"index": index, "function": {"arguments": each}}
            deltas.append({"tool_calls": [more]})
    known = {"id": "1", "created": 1, "model": "m", "object": "chat.completion.chunk"}
    events = [event(delta, **known) for delta in deltas]
    return [*events, event({}, "tool_calls" if made else "stop", **known)]


def cut(text: str, at: Random) -> list[str]:
    edges = [
        0,
        *sorted(at.choices(range(len(text) + 1), k=at.randint(0, 3))),
        len(text),
    ]
    return [text[start:end] for start, end in pairwise(edges)]
