"""Calls of a subject's own tools: which is called, and with what."""

import json

import pytest

from refengine.messages import Message, ToolCall
from refengine.testing.own_tools import own, with_own_tools
from refengine.testing.subject_worlds.adk_worlds import adk_worlds
from refengine.testing.subject_worlds.named_values import GraphWords, adk_words
from refengine.testing.subject_worlds.own_tool_names import own_tool_names
from refengine.testing.subject_worlds.source import python_sources
from refengine.testing.subject_worlds.words import Words

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


def test_numbers_are_within_the_limits_of_a_schema_if_that_is_asked_for() -> None:
    limits = {"type": "integer", "minimum": 3, "maximum": 20}
    tool = {"name": "t", "parameters": {"properties": {"n": limits}}}

    assert called(0, [tool], integer=21) == [("t", {"n": 21})]
    assert called(0, [tool], integer=21, within=True) == [("t", {"n": 20})]
    assert called(0, [tool], integer=2, within=True) == [("t", {"n": 3})]


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


NAMED = """
from langchain_core.tools import tool, StructuredTool

@tool
def decorated(): ...
@tool("renamed")
def other(): ...
def plain(): ...
def made(): ...
def listed(): ...
def helper(): ...
def subject(world):
    my_tools = [listed]
    created = StructuredTool.from_function(made)
    named = StructuredTool(name="given", func=helper)
    agent(tools=[*world.tools, plain])
    return create_agent(model, [*my_tools, positional])
def positional(): ...
"""


def test_names_of_own_tools_are_read_where_they_are_made() -> None:
    found = own_tool_names(python_sources([NAMED]))

    assert found == {
        *("decorated", "renamed", "plain", "made", "listed", "given", "positional")
    }


def test_no_tool_of_the_world_has_the_name_of_an_own_one() -> None:
    """Where one had, each run of such a world ended with two tools of one name."""
    source = f"{NAMED}\nGUARDED = ('plain', 'search')"
    words = adk_words([source])
    made = adk_worlds(Words(names=("plain", "search")), words, PLAYED, 0)
    names = {
        tool["name"] for _, world in made for tool in world["agent"].get("tools", ())
    }

    assert "search" in names
    assert not names & words.own_tools


PLAYED = [
    (
        "tools",
        {
            "agent": {"tools": [{"name": "plain"}, {"name": "search"}]},
            "model_script": ["assistant:[c1:plain({})][c2:search({})]", "assistant:d"],
            "runs": [{"input": ["user:a"]}],
        },
    )
]


def test_agent_is_left_after_as_many_answers_as_a_number_of_the_source() -> None:
    words = GraphWords(adk=True, agents=("helper",))
    made = adk_worlds(Words(numbers=(2,)), words, (), 0)
    scripts = [world["model_script"] for _, world in made]

    transfer = 'assistant:[later:transfer_to_agent({"agent_name": "helper"})]'
    before = [each.index(transfer) for each in scripts if transfer in each]
    assert before == [2]
