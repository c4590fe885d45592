"""Calls of a subject's own tools: which is called, and with what."""

import json

import pytest

from refengine.messages import Message, ToolCall
from refengine.testing.own_tools import own, with_own_tools

PEOPLE = {
    "name": "people",
    "parameters": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name"],
    },
}
ADD = {"name": "add", "parameters": {"type": "object", "properties": {}}}
WORLDS = {"name": "search", "parameters": {"type": "object"}}


def called(number: int, shown, **values):
    calls = (ToolCall("c1", own(number), json.dumps(values)),)
    message = with_own_tools(Message("assistant", "a", calls), shown, ["search"])
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


def test_own_tools_are_counted_by_name_and_round() -> None:
    shown = [PEOPLE, WORLDS, ADD]

    names = [called(number, shown)[0][0] for number in range(3)]
    assert names == ["add", "people", "add"]


def test_where_there_is_none_none_is_called() -> None:
    assert called(0, [WORLDS]) == []


def test_calls_of_other_tools_stay() -> None:
    message = Message("assistant", "", (ToolCall("c1", "search", "{}"),))

    assert with_own_tools(message, [PEOPLE], ["search"]) is message


def test_arguments_are_the_given_values_of_their_type() -> None:
    given = {"string": "x", "integer": 7}

    assert called(0, [PEOPLE], **given) == [("people", {"name": "x", "age": 7})]


def test_what_is_not_needed_can_be_left_out() -> None:
    given = called(0, [PEOPLE], string="x", optional=False)

    assert given == [("people", {"name": "x"})]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "boolean"}, True),
        ({"type": "number"}, 7),
        ({"type": "array", "items": {"type": "integer"}}, [7]),
        ({"type": "array"}, []),
        ({"enum": ["a", "b"]}, "a"),
        ({"const": "only"}, "only"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 7),
        ({"$ref": "#/$defs/Inner"}, {"n": 7}),
        ({}, "x"),
    ],
)
def test_schemas_are_filled(schema, value) -> None:
    tool = {
        "name": "t",
        "parameters": {
            "type": "object",
            "properties": {"v": schema},
            "$defs": {
                "Inner": {"type": "object", "properties": {"n": {"type": "integer"}}}
            },
        },
    }

    assert called(0, [tool], string="x", integer=7) == [("t", {"v": value})]


def test_schema_that_contains_itself_ends() -> None:
    tool = {
        "name": "t",
        "parameters": {
            "$ref": "#/$defs/Node",
            "$defs": {
                "Node": {
                    "type": "object",
                    "properties": {"next": {"$ref": "#/$defs/Node"}},
                }
            },
        },
    }

    assert called(0, [tool]) != []
