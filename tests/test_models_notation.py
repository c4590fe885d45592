"""Messages and chunks that one line cannot hold, and results by the id of a call."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from refengine.context import Context
from refengine.messages import (
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
    join_chunks,
)
from refengine.profile import SEED_001
from refengine.testing import (
    NotationError,
    RecordingTool,
    ReferenceEngine,
    ScenarioError,
    ScriptedModel,
    ToolSpec,
    parse_message,
    play,
    read_scenario,
    run,
)
from refengine.testing.notation import (
    parse_chunk,
    pieces_of,
    write_chunk,
    write_message,
)
from refengine.testing.scenario import ModelChunks
from refengine.tools import NO_OPTIONS

searching = settings(max_examples=300, deadline=None, derandomize=True, database=None)

TEXTS = st.one_of(
    st.text(max_size=8),
    st.text('[]():<>{}"\\\n \ud83dlenu+d', max_size=12),
    st.sampled_from(["<len>", "<u+d83d>", "[a:b(c)]", ")]", "\ud83d", '{"role":1}']),
)
EXTRA = st.dictionaries(
    st.text(max_size=3), st.one_of(TEXTS, st.integers()), max_size=2
)
NAMED: dict[str, Any] = {
    "id": st.none() | TEXTS,
    "name": st.none() | TEXTS,
    "extra": EXTRA,
}
ANSWERS = st.builds(
    Message,
    st.just("assistant"),
    TEXTS,
    st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple),
    **NAMED,
)
MESSAGES = st.one_of(
    ANSWERS,
    st.builds(Message, st.sampled_from(["user", "system"]), TEXTS, **NAMED),
    st.builds(Message, st.just("tool"), TEXTS, tool_call_id=TEXTS, **NAMED),
)
PIECES = st.builds(ToolCallChunk, st.none() | st.integers(0, 3), TEXTS, TEXTS, TEXTS)
CHUNKS = st.builds(
    MessageChunk, TEXTS, st.lists(PIECES, max_size=2).map(tuple), **NAMED
)


@searching
@given(MESSAGES)
def test_written_message_is_read_back(message: Message):
    assert parse_message(write_message(message)) == message


@searching
@given(CHUNKS)
def test_written_chunk_is_read_back(chunk: MessageChunk):
    assert parse_chunk(write_chunk(chunk)) == chunk


@searching
@given(MESSAGES)
def test_placeholder_of_operations_never_stands_in_a_written_message(message: Message):
    assert "<len>" not in write_message(message)


def test_what_one_line_holds_is_written_in_one_line():
    message = Message("assistant", "hi", (ToolCall("1", "t", "{}"),))

    assert write_message(message) == "assistant:hi[1:t({})]"
    assert write_chunk(MessageChunk("hi")) == "assistant:hi"


def test_what_one_line_cannot_hold_is_written_as_an_object():
    message = Message("assistant", "[a:b(c)]", extra={"refusal": "no"})
    piece = MessageChunk("", (ToolCallChunk(0, "", "", '{"a'),))

    assert write_message(message) == ('{"content":"[a:b(c)]","extra":{"refusal":"no"}}')
    assert write_chunk(piece) == '{"tool_calls":[{"index":0,"arguments":"{\\"a"}]}'


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}x",
        '{"role": "bot"}',
        '{"content": 5}',
        '{"contents": "a"}',
        '{"tool_calls": {}}',
        '{"tool_calls": [{"id": 5}]}',
        '{"tool_calls": [{"args": ""}]}',
        '{"tool_calls": [{"index": "0"}]}',
        '{"tool_calls": [{"index": true}]}',
        '{"extra": []}',
    ],
)
def test_object_that_is_no_message_is_refused(text: str):
    for parse in (parse_message, parse_chunk):
        with pytest.raises(NotationError):
            parse(text)


def test_chunk_is_of_an_assistant():
    with pytest.raises(NotationError):
        parse_chunk('{"role": "tool", "tool_call_id": "1"}')


def test_object_with_nothing_is_an_empty_answer():
    assert parse_message("{}") == Message("assistant")


def test_scenario_refuses_a_chunk_that_is_none():
    with pytest.raises(ScenarioError, match="is not a message"):
        read_scenario({"agent": {}, "model_script": [{"chunks": ['{"a": 1}']}]})


@searching
@given(ANSWERS)
def test_pieces_of_a_message_carry_all_of_it(message: Message):
    assert join_chunks(pieces_of(message)) == message


async def streamed(model: ScriptedModel) -> list[MessageChunk]:
    reader = await model.stream(Context(), [], [], NO_OPTIONS)
    return [chunk async for chunk in reader]


def test_scripted_stream_has_the_pieces_of_calls_that_its_chunks_say():
    first = ToolCallChunk(0, "1", "t", "")
    pieces = [
        first,
        ToolCallChunk(0, arguments='{"a"'),
        ToolCallChunk(0, arguments="}"),
    ]
    chunks = [MessageChunk("", (piece,)) for piece in pieces]
    script = ModelChunks(chunks=tuple(map(write_chunk, chunks)))
    model = ScriptedModel([script, script])

    assert run(streamed(model)) == chunks
    assert run(model.invoke(Context(), [], [], NO_OPTIONS)) == Message(
        "assistant", "", (ToolCall("1", "t", '{"a"}'),)
    )


def results(spec: ToolSpec, *call_ids: str) -> list[str]:
    """Return what a scripted tool gives these calls of one message."""
    script = "".join(f"[{id_}:t(x)]" for id_ in call_ids)
    scenario = read_scenario(
        {
            "agent": {"tools": [spec.model_dump()]},
            "model_script": [f"assistant:{script}", "assistant:done"],
            "runs": [{"input": ["user:hi"]}],
        }
    )
    trace = run(play(scenario, ReferenceEngine(SEED_001)))
    return [str(each.data["result"]) for each in trace.of("tool_end")]


def test_recorded_result_goes_before_the_result_of_all_calls():
    spec = ToolSpec(name="t", result="<args>!", by_call={"1": ("<args>",)})

    assert results(spec, "1", "2") == ["<args>", "x!"]


def test_recorded_results_of_one_id_are_given_one_after_the_other():
    spec = ToolSpec(name="t", by_call={"1": ("a", "b")})

    assert results(spec, "1", "1", "1") == ["a", "b", "b"]


def test_recorded_result_comes_in_a_stream_as_well():
    tool: Any = RecordingTool(
        ToolSpec(name="t", kind="streamable", by_call={"": ("a",)})
    )

    async def read() -> list[str]:
        reader = await tool.stream(Context(), "x", NO_OPTIONS)
        return [chunk async for chunk in reader]

    assert run(read()) == ["a"]


def test_call_has_at_least_one_recorded_result():
    with pytest.raises(ValidationError, match="by_call"):
        ToolSpec(name="t", by_call={"1": ()})
