"""Worlds in which a subject's numbers stand in the arguments of its tools' calls."""

import json

from refengine.testing.notation import parse_message
from refengine.testing.subject_worlds.graph_inputs import alike, argued, nested
from refengine.testing.subject_worlds.words import Words


def test_each_tool_is_called_with_each_number_under_every_name() -> None:
    words = Words(names=("transfer", "amount"), numbers=(0, 100))
    (world,) = [made for _, made in argued(words)]

    calls = [
        (call.name, json.loads(call.arguments))
        for text in world["model_script"]
        for call in parse_message(text).tool_calls
    ]
    numbers = [given["amount"] for name, given in calls if name == "transfer"]
    assert numbers == [101, 100, 1, 0]
    assert {name for name, _ in calls} == {"transfer", "amount"}
    assert len(world["runs"]) == 4


def test_names_are_keys_further_in_also_in_lists() -> None:
    ((_, world),) = nested(Words(names=("search", "password")))

    given = [
        json.loads(call.arguments)
        for text in world["model_script"]
        for call in parse_message(text).tool_calls
    ]
    inner = {"search": "v0", "password": "v1"}
    assert given == [
        inner,
        {"a": inner},
        {"a": [inner, "b"]},
        {"a": {"b": [inner]}},
    ]


def test_the_same_call_comes_with_its_keys_in_another_order() -> None:
    _, world = next(alike(Words(names=("search",))))
    first, turned = (
        parse_message(text).tool_calls[0].arguments
        for text in world["model_script"][:2]
    )

    assert first != turned
    assert json.loads(first) == json.loads(turned)


def test_a_subject_without_names_or_numbers_has_none_of_them() -> None:
    assert [*argued(Words(names=("a",)))] == []
    assert [*argued(Words(numbers=(7,)))] == []
    assert [*nested(Words(numbers=(7,)))] == []
