"""Tools as a user declares them: with which arguments worlds call them."""

import json

import pytest
from pydantic import ValidationError

from compat.migration.corpus import OwnWorlds, make_corpus
from refengine.testing.graphs.tools import arguments_model
from refengine.testing.notation import parse_message
from refengine.testing.own_tools import filled
from refengine.testing.subject_worlds.declared import (
    FAMILY,
    DeclaredTool,
    argument_sets,
    declared_worlds,
)
from refengine.testing.subject_worlds.named_values import GraphWords
from refengine.testing.subject_worlds.words import Words

REFUND = DeclaredTool(
    "refund",
    "Pay back.",
    {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "cents": {"type": "integer", "minimum": 1},
            "reason": {"enum": ["late", "broken"]},
        },
        "required": ["order_id", "cents"],
    },
)
WORDS = Words(texts=("A-77",), names=("refund",))


def test_a_tool_is_called_with_arguments_that_fit_and_with_others() -> None:
    found = [*argument_sets(REFUND, ["A-77"])]

    fits = [each for each in found if REFUND.takes(each)]
    others = [each for each in found if not REFUND.takes(each)]
    assert {"order_id": "A-77", "cents": 1, "reason": "broken"} in fits
    assert {"order_id": "A-77", "cents": 1} in fits
    assert [*map(list, fits[:2])] == [[*fits[0]], [*reversed(fits[0])]]
    assert {} in others
    assert {"order_id": ["a"], "cents": 1, "reason": "late"} in others
    assert any(each.get("cents") == "many" for each in others)


@pytest.mark.parametrize(
    ("arguments", "takes"),
    [
        ({"order_id": "a", "cents": 1}, True),
        ({"order_id": "a", "cents": True}, False),
        ({"order_id": "a", "cents": 1.0}, False),
        ({"order_id": "a", "cents": 1, "reason": "lost"}, False),
        ({"order_id": "a", "cents": 1, "more": 1}, True),
        ({"cents": 1}, False),
        ([], False),
    ],
)
def test_what_a_schema_takes(arguments: object, takes: bool) -> None:
    assert REFUND.takes(arguments) == takes


def test_a_closed_schema_takes_nothing_else() -> None:
    closed = DeclaredTool("t", parameters={"additionalProperties": False})

    assert not closed.takes({"a": 1})
    assert filled(closed.parameters, {}) == {}


def test_worlds_call_every_tool_alone_and_all_at_once() -> None:
    other = DeclaredTool("lookup")
    *single, (family, at_once) = declared_worlds([REFUND, other], WORDS)

    called = {
        call.name
        for _, world in single
        for text in world["model_script"]
        for call in parse_message(text).tool_calls
    }
    together = parse_message(at_once["model_script"][0]).tool_calls
    assert called == {"refund", "lookup"}
    assert family == FAMILY
    assert {call.name for call in together} == called


def object_of(text: str) -> object:
    """Return what JSON says; a text that is cut off says nothing that fits."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@pytest.mark.parametrize("graphs", [None, GraphWords()], ids=["structs", "graphs"])
def test_other_worlds_have_the_tool_as_it_is_declared_and_mostly_fitting_calls(
    graphs: GraphWords | None,
) -> None:
    own = OwnWorlds(declared={"refund": REFUND})
    corpus = make_corpus(WORDS, 40, 0, graphs, own=own)
    tools = [
        tool
        for world in corpus.worlds
        for agent in world.scenario.all_agents
        for tool in agent.tools
        if tool.name == "refund"
    ]
    calls = [
        call
        for world in corpus.worlds
        for entry in world.scenario.model_script
        if isinstance(entry, str)
        for call in parse_message(entry).tool_calls
        if call.name == "refund" and call.arguments.startswith("{")
    ]
    fit = sum(REFUND.takes(object_of(call.arguments)) for call in calls)

    assert tools
    assert all(tool.parameters == REFUND.parameters for tool in tools)
    assert 0.6 < fit / len(calls) < 1


def test_a_graphs_tool_refuses_what_its_schema_does_not_take() -> None:
    model = arguments_model("refund", REFUND.parameters)

    assert model.model_validate({"order_id": "a", "cents": 1, "more": 2})
    for wrong in ({"cents": 1}, {"order_id": "a", "cents": "many"}):
        with pytest.raises(ValidationError):
            model.model_validate(wrong)
