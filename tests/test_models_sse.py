"""Server-sent events, however a stream is cut."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.wire.sse import EventParser, ServerSentEvent, events_of

searching = settings(max_examples=300, deadline=None, derandomize=True, database=None)


def parsed(text: str) -> list[ServerSentEvent]:
    return events_of([text.encode()])[0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_three_ways(end: str):
    text = f"data: a{end}data: b{end}{end}data: c{end}{end}"

    assert parsed(text) == [ServerSentEvent("a\nb"), ServerSentEvent("c")]


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (": a comment\n\ndata: a\n\n", [ServerSentEvent("a")]),
        ("data:a\n\n", [ServerSentEvent("a")]),
        ("data:  a\n\n", [ServerSentEvent(" a")]),
        ("data\n\n", [ServerSentEvent("")]),
        ("data:\ndata:\n\n", [ServerSentEvent("\n")]),
        (
            "event: error\ndata: a\n\ndata: b\n\n",
            [ServerSentEvent("a", "error"), ServerSentEvent("b")],
        ),
        ("event: ping\n\ndata: b\n\n", [ServerSentEvent("b")]),
        (
            "id: 7\ndata: a\n\ndata: b\n\n",
            [ServerSentEvent("a", id="7"), ServerSentEvent("b", id="7")],
        ),
        (
            "id: 7\ndata: a\n\nid\ndata: b\n\n",
            [ServerSentEvent("a", id="7"), ServerSentEvent("b")],
        ),
        ("id: 7\0\ndata: a\n\n", [ServerSentEvent("a")]),
        ("retry: 5\nunknown: x\ndata: a\n\n", [ServerSentEvent("a")]),
        ("\ufeffdata: a\n\n", [ServerSentEvent("a")]),
        ("\ufeff\ufeffdata: a\n\ndata: b\n\n", [ServerSentEvent("b")]),
        ("data: a: b\n\n", [ServerSentEvent("a: b")]),
        ("data: [DONE]\n\n", [ServerSentEvent("[DONE]")]),
        ("\n\n\n", []),
    ],
)
def test_fields_are_read_as_the_standard_says(text: str, events: list[ServerSentEvent]):
    assert parsed(text) == events


@pytest.mark.parametrize("text", ["data: a\n\ndata: b\n", "data: a\n\ndata: b"])
def test_event_that_no_empty_line_ends_is_dropped_and_told(text: str):
    events, unended = events_of([text.encode()])

    assert events == [ServerSentEvent("a")]
    assert unended


@pytest.mark.parametrize("text", ["", "data: a\n\n", "data: a\r\r", ": end"])
def test_stream_that_ends_with_an_event_has_nothing_unended(text: str):
    assert not events_of([text.encode()])[1]


def test_event_comes_out_as_soon_as_its_empty_line_is_there():
    parser = EventParser()

    assert parser.feed(b"data: a\n") == []
    assert parser.feed(b"\n") == [ServerSentEvent("a")]


def test_carriage_return_waits_for_a_line_feed_that_may_come():
    parser = EventParser()

    assert parser.feed(b"data: a\r\n\r") == []
    assert parser.feed(b"\ndata: b\r\n\r\n") == [
        ServerSentEvent("a"),
        ServerSentEvent("b"),
    ]


def test_bytes_that_are_no_utf_8_become_replacement_characters():
    assert events_of([b"data: \xff\n\n"])[0] == [ServerSentEvent("\ufffd")]


STREAMS = st.lists(
    st.one_of(
        st.sampled_from(
            [b"\n", b"\r", b"\r\n", b"data", b":", b" ", b"event: e", b"id: 1", b"\xff"]
        ),
        st.sampled_from(["data: ä😀x", "\ufeff", "data: a\n\n", "[DONE]"]).map(
            str.encode
        ),
        st.binary(max_size=3),
    ),
    max_size=12,
).map(b"".join)


@searching
@given(STREAMS, st.lists(st.integers(0, 60), max_size=8))
def test_events_do_not_depend_on_where_the_stream_was_cut(body: bytes, cuts: list[int]):
    assert events_of(cut(body, cuts)) == events_of([body])


@searching
@given(STREAMS)
def test_events_of_single_bytes_are_those_of_the_whole(body: bytes):
    single = [body[at : at + 1] for at in range(len(body))]

    assert events_of(single) == events_of([body])


def cut(body: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(each, len(body)) for each in cuts), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]
