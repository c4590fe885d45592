"""Schemas that sources declare, and the values at their edges."""

import json
from typing import Any

import pytest

from refengine.testing.subject_worlds.declared_schemas import (
    UNCHECKED,
    declared_schemas,
)
from refengine.testing.subject_worlds.edge_worlds import (
    RUNS,
    edge_answers,
    edge_calls,
    edge_worlds,
    typical_answers,
)
from refengine.testing.subject_worlds.named_values import graph_words
from refengine.testing.subject_worlds.schema_edges import edges, fits, typical
from refengine.testing.subject_worlds.source import python_sources
from refengine.testing.subject_worlds.words import Words

WHOLE = {"type": "integer"}
TEXT = {"type": "string"}
OBJECT = {
    "type": "object",
    "properties": {"n": {**WHOLE, "maximum": 9}, "s": TEXT},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "inside", "outside"),
    [
        ({**WHOLE, "minimum": 1}, [1, 2], [0, "many", 1.5]),
        ({**WHOLE, "exclusiveMaximum": 5}, [4], [5, 6]),
        ({**WHOLE, "multipleOf": 5}, [0, 5, 10], [6]),
        ({"type": "number", "minimum": 0.5}, [0.5, 1.0], [0.0, "many"]),
        ({**TEXT, "minLength": 2, "maxLength": 3}, ["aa", "aaa"], ["a", "aaaa", 7]),
        ({**TEXT, "pattern": "^[A-Z]{2}$"}, ["AA"], ["aAA", "AAa"]),
        ({**TEXT, "pattern": "("}, [], [7]),  # no pattern of Python's
        ({"enum": ["low", 3]}, ["low", 3], ["LOW", 4, "no such choice"]),
        ({"const": "only"}, ["only"], ["ONLY"]),
        ({"type": "boolean"}, [True, False], ["perhaps"]),
        ({"type": "array", "items": TEXT, "maxItems": 2}, [["a"] * 2], [["a"] * 3]),
        ({"anyOf": [TEXT, {"type": "null"}]}, [None], [7]),
        (OBJECT, [{"n": 9, "s": "a"}, {"n": 1}], [{"n": 10, "s": "a"}, {"s": "a"}]),
    ],
)
def test_edges_of_a_schema_are_inside_and_outside(
    schema: Any, inside: list[Any], outside: list[Any]
) -> None:
    found = edges(schema)

    for each in found:
        assert each.fits == fits(each.value, schema)
    taken = [each.value for each in found if each.fits]
    refused = [each.value for each in found if not each.fits]
    assert all(each in taken for each in inside)
    assert all(each in refused for each in outside)
    assert fits(typical(schema), schema)


def test_an_object_has_one_field_at_an_edge_at_a_time() -> None:
    found = [each.value for each in edges(OBJECT) if isinstance(each.value, dict)]

    assert {"n": 1, "s": "a", "no_such_field": 1} in found
    plain = {"n": 1, "s": "a"}
    assert all(sum(v != plain.get(k) for k, v in each.items()) < 2 for each in found)


@pytest.mark.parametrize(
    "schema",
    [
        {**WHOLE, "minimum": "1", "multipleOf": 0},
        {**TEXT, "minLength": "1", "maxLength": None},
        {"anyOf": [True, TEXT]},
        {"type": "object", "properties": {"n": True}, "required": "n"},
        {"type": "array", "items": [TEXT], "maxItems": -1},
        {"type": "no such type"},
        {"enum": []},
    ],
)
def test_a_schema_that_says_nothing_of_use_is_no_error(schema: Any) -> None:
    typical(schema)

    assert all(isinstance(each.fits, bool) for each in edges(schema))


def test_a_schema_that_contains_itself_has_an_end() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"]["inner"] = schema

    assert edges(schema)


SOURCE = """
MOST = 50
Limit = Annotated[int, Field(ge=1, le=MOST)]

class Level(str, Enum):
    LOW = "low"
    HIGH = "high"

class Base(BaseModel):
    n: Annotated[int, Gt(0)]

class Args(Base):
    model_config = ConfigDict(extra="forbid")
    level: Level = Level.LOW
    tags: list[str] = Field(default_factory=list, max_length=3)

class Ctx(TypedDict, total=False):
    who: Required[constr(min_length=2)]
    size: "int | None"

@dataclass
class Answer:
    score: PositiveInt

class Limits(BaseModel):
    v: float = Field(lt=0.5)

@tool
def first(limit: Limit, ctx: RunContext, mode: Literal["a", "b"] = "a"): ...

@tool("second", args_schema=Args)
def named(n, level, tags): ...

def third(
    q: Annotated[str, StringConstraints(pattern="^a")],
    state: Annotated[dict, InjectedState],
): ...

agent = Agent(tools=[third], context_schema=Ctx, output_type=Answer)
ToolInfo("fourth", "d", {"type": "object", "properties": {"n": {"maximum": 9}}})
TOOLS = [{"name": "fifth", "parameters": {"type": "object", "properties": {"k": {}}}}]
Limits.model_validate(given)
"""
LOOSE = {UNCHECKED: True}
TOOLS = {
    "first": {
        "limit": {"type": "integer", "minimum": 1, "maximum": 50},
        "mode": {"enum": ["a", "b"]},
    },
    "second": {
        "n": {"type": "integer", "exclusiveMinimum": 0},
        "level": {"enum": ["low", "high"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    },
    "third": {"q": {"type": "string", "pattern": "^a"}},
    "fourth": {"n": {"maximum": 9}},
    "fifth": {"k": {}},
}


def test_schemas_are_read_from_a_source() -> None:
    found = declared_schemas(python_sources([SOURCE]))

    read = {name: some[0]["properties"] for name, some in found.tools.items()}
    assert read == TOOLS
    assert found.tools["first"][0]["required"] == ["limit"]
    assert found.tools["second"][0]["additionalProperties"] is False
    assert found.values == {
        "who": [{"type": "string", "minLength": 2, **LOOSE}],
        "size": [{"anyOf": [{"type": "integer"}, {"type": "null"}], **LOOSE}],
    }
    assert [*found.answers] == ["Answer"]
    assert [each["properties"] for each in found.checked] == [
        {"v": {"type": "number", "exclusiveMaximum": 0.5}}
    ]


@pytest.mark.parametrize(
    ("base", "wrong"), [("BaseModel", True), ("TypedDict", False), ("object", False)]
)
def test_values_of_another_type_come_only_where_a_class_checks_them(
    base: str, wrong: bool
) -> None:
    source = (
        f"class Ctx({base}):\n    size: Annotated[int, Field(le=9)]\n"
        "create_agent(context_schema=Ctx)"
    )
    found = declared_schemas(python_sources([source]))
    (option,) = graph_words([source], [source], found.values).options

    assert all(each in option.edges for each in (8, 9, 10))
    assert ("many" in option.edges) == wrong


def test_one_name_may_have_another_schema_on_each_side() -> None:
    sides = [
        f"@tool\ndef t(n: Annotated[int, Field(le={most})]): ..." for most in (5, 6)
    ]
    one, other = (declared_schemas(python_sources([each])) for each in sides)

    calls = [json.loads(given) for _, given in edge_calls(one.joined(other), ["t"])]

    assert [{"n": each} in calls for each in (4, 5, 6, 7)] == [True] * 4


def test_answer_that_fits_is_given_by_each_name_that_its_tool_may_have() -> None:
    answers = dict(typical_answers(declared_schemas(python_sources([SOURCE]))))

    assert {"Answer", "final_result", "set_model_response"} == {*answers}
    assert {json.loads(each)["score"] > 0 for each in answers.values()} == {True}


def test_each_call_at_an_edge_has_a_run_that_goes_on_after_one_that_ended() -> None:
    found = declared_schemas(python_sources([SOURCE]))
    calls, answers = edge_calls(found, ["a", "b"]), edge_answers(found)
    own = ("first", "second", "third", "fourth", "fifth")
    words = Words(edge_calls=tuple(calls), edge_answers=tuple(answers), own_tools=own)

    worlds = [world for _, world in edge_worlds(words)]

    assert worlds
    for world in worlds:
        assert 0 < len(world["model_script"]) == len(world["runs"]) <= RUNS
    tools = [
        each["name"] for world in worlds for each in world["agent"].get("tools", ())
    ]
    assert not {*own} & {*tools}
    assert {"a", "b"} <= {*tools}
