"""Messages: frozen through and through, and put together from pieces."""

from dataclasses import replace
from typing import Any

import pytest

from refengine.messages import (
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
    chunk_of,
    frozen_json,
    join_chunks,
)


def test_extra_does_not_follow_the_mapping_it_was_made_from():
    given: Any = {"a": {"b": [1]}}
    message = Message("user", extra=given)
    given["a"]["b"].append(2)
    given["c"] = {}

    assert message.extra == {"a": {"b": (1,)}}


@pytest.mark.parametrize(
    "made", [Message("user", extra={"a": {}}), MessageChunk(extra={"a": {}})]
)
def test_extra_cannot_be_changed_at_any_depth(made):
    with pytest.raises(TypeError):
        made.extra["b"] = 1
    with pytest.raises(TypeError):
        made.extra["a"]["b"] = 1


def test_replacing_a_field_keeps_extra_frozen_and_equal():
    message = Message("user", "a", extra={"k": [1, {"l": None}]})
    changed = replace(message, content="b")
    extra: Any = changed.extra

    assert extra == message.extra
    with pytest.raises(TypeError):
        extra["k"] = 1


def test_messages_with_equal_extra_are_equal_and_hash_alike():
    one, two = (Message("user", extra={"k": [1]}) for _ in range(2))

    assert one == two
    assert hash(one) == hash(two)


def test_tool_calls_given_as_a_list_become_a_tuple():
    given: Any = [ToolCall("1", "t", "{}")]
    message = Message("assistant", tool_calls=given)
    given.clear()

    assert message.tool_calls == (ToolCall("1", "t", "{}"),)


def test_frozen_json_leaves_scalars_as_they_are():
    for scalar in (None, True, 1, 1.5, "text"):
        assert frozen_json(scalar) is scalar


def test_joining_concatenates_text_and_keeps_the_first_id_and_name():
    joined = join_chunks(
        [
            MessageChunk("a", id="i1", name="n1"),
            MessageChunk("b", id="i2", name="n2"),
            MessageChunk("c"),
        ]
    )

    assert joined == Message("assistant", "abc", id="i1", name="n1")


def test_joining_nothing_gives_an_empty_assistant_message():
    assert join_chunks([]) == Message("assistant")


def test_later_keys_of_extra_win():
    joined = join_chunks(
        [
            MessageChunk(extra={"a": 1, "b": 1}),
            MessageChunk(extra={"b": 2}),
        ]
    )

    assert joined.extra == {"a": 1, "b": 2}


def test_pieces_with_one_index_belong_to_one_call():
    joined = join_chunks(
        [
            MessageChunk(tool_calls=(ToolCallChunk(0, "id0", "f", '{"a"'),)),
            MessageChunk(tool_calls=(ToolCallChunk(1, "id1", "g", "{}"),)),
            MessageChunk(tool_calls=(ToolCallChunk(0, arguments=":1}"),)),
        ]
    )

    assert joined.tool_calls == (
        ToolCall("id0", "f", '{"a":1}'),
        ToolCall("id1", "g", "{}"),
    )


def test_calls_stand_in_the_order_of_their_first_piece():
    joined = join_chunks(
        [
            MessageChunk(tool_calls=(ToolCallChunk(5, "id5", "f"),)),
            MessageChunk(tool_calls=(ToolCallChunk(2, "id2", "g"),)),
            MessageChunk(tool_calls=(ToolCallChunk(5, arguments="x"),)),
        ]
    )

    assert [call.id for call in joined.tool_calls] == ["id5", "id2"]


def test_a_piece_without_index_is_a_whole_call():
    piece = ToolCallChunk(None, "id", "f", "{}")
    joined = join_chunks([MessageChunk(tool_calls=(piece, piece))])

    assert joined.tool_calls == (ToolCall("id", "f", "{}"),) * 2


def test_one_message_may_bring_pieces_with_and_without_index():
    joined = join_chunks(
        [
            MessageChunk(tool_calls=(ToolCallChunk(0, "a", "f", "1"), ToolCallChunk())),
            MessageChunk(tool_calls=(ToolCallChunk(0, arguments="2"),)),
        ]
    )

    assert joined.tool_calls == (ToolCall("a", "f", "12"), ToolCall("", "", ""))


def test_a_message_as_one_chunk_joins_to_itself():
    message = Message(
        "assistant",
        "text",
        (ToolCall("1", "t", "{}"), ToolCall("2", "t", "")),
        name="n",
        id="i",
        extra={"k": [1]},
    )

    assert join_chunks([chunk_of(message)]) == message
