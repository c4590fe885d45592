"""Projections: which entries of a trace are compared, in which lanes, and how."""

import pytest
from pydantic import ValidationError

from property_tests.dialects.compared import lane_decisions
from refengine.testing.projection import (
    Projection,
    ProjectionError,
    Wanted,
    lane_difference,
    value_at,
)
from refengine.testing.world_condition import WorldValues

TRACE = [
    {"kind": "event", "run": 1, "who": "a", "name": "start", "data": [1]},
    {"kind": "asked", "run": 1},
    {"kind": "event", "run": 1, "who": "b", "name": "start", "data": [2]},
    {"kind": "event", "run": 1, "who": "a", "name": "end", "data": [3, {"x": 1}]},
]


def lanes(trace=TRACE, **given):
    projection = Projection.model_validate(given)
    return {key: lane.entries for key, lane in projection.lanes_of(trace).items()}


def differ(one, other, **given):
    projection = Projection.model_validate(given)
    [left] = projection.lanes_of(one).values()
    [right] = projection.lanes_of(other).values()
    return lane_difference(*projection.sides(left, right), projection.how)


def told(*names):
    return [{"kind": "event", "run": 1, "name": each} for each in names]


def test_only_what_is_named_is_taken_and_shown() -> None:
    assert lanes(of=["event[name=end] data.1.x who"]) == {("1",): [[1, "a"]]}
    assert lanes(of=["event[name!=end] who"]) == {("1",): [["a"], ["b"]]}
    assert lanes(of=["event[data.1?] name"]) == {("1",): [["end"]]}
    assert lanes(of=["event[name=end] nowhere"]) == {("1",): [[None]]}


def test_kinds_are_told_apart_where_several_are_taken() -> None:
    found = lanes(of=["event[who=b] who", "asked"])

    assert found == {("1",): [["asked"], ["event", "b"]]}


def test_an_entry_without_a_lane_stands_in_each_of_its_run() -> None:
    found = lanes(of=["event data.0", "asked"], lanes="run who")

    assert found == {
        ("1", "a"): [["event", 1], ["asked"], ["event", 3]],
        ("1", "b"): [["asked"], ["event", 2]],
    }


def test_an_entry_without_a_lane_has_one_of_its_own_where_there_is_none() -> None:
    assert lanes(of=["asked"], lanes="run who") == {("1", ""): [["asked"]]}


def test_a_kind_may_have_its_lane_elsewhere() -> None:
    found = lanes(of=["event name @at=data.0"], lanes="at")

    assert found == {("1",): [["start"]], ("2",): [["start"]], ("3",): [["end"]]}


def test_each_entry_of_a_list_may_count_for_itself() -> None:
    asked = {"kind": "asked", "run": 1, "of": {"tools": [{"name": "t"}, {"name": "u"}]}}

    found = lanes([asked], of=["asked>of.tools[name=u] nth run"], lanes="name")
    assert found == {("u",): [[1, 1]]}
    assert lanes([asked], of=["asked>of.nothing nth"]) == {}


def test_what_differs_in_one_list_is_where_its_entry_stands() -> None:
    one, two = ({"kind": "asked", "run": 1, "of": of} for of in (["x"], ["x", "x"]))
    given = {"of": ["asked>of run"], "how": "set"}

    assert differ([*TRACE, one], [*TRACE, two], **given) is None
    found = differ([*TRACE, one], [*TRACE, two], **{**given, "how": "bag"})
    assert found is not None
    assert found.at == len(TRACE)


@pytest.mark.parametrize(
    ("how", "same", "other"),
    [
        ("equal", told("x", "y"), told("y", "x")),
        ("bag", told("y", "x"), told("x", "y", "y")),
        ("least", told("z", "y", "x"), told("x", "z")),
        ("most", told("y"), told("x", "y", "y")),
        ("within", told("y", "y"), told("z")),
        ("set", told("y", "x", "x"), told("x", "z")),
        ("first", told("x", "z"), told("y", "x")),
        ("order", told("x", "z", "y", "y"), told("y", "x")),
    ],
)
def test_each_way_to_compare_has_what_it_takes_for_equal(how, same, other) -> None:
    right = told("x", "y")
    given = {"of": ["event name"], "how": how}

    assert differ(right, same, **given) is None
    assert differ(right, other, **given) is not None


def test_a_difference_says_where_it_was_seen_and_where_it_is_first() -> None:
    right = [*told("x"), {"kind": "other", "run": 1}, *told("y")]
    found = differ(right, told("x", "z"), of=["event name"])

    assert found is not None
    assert (found.path, found.left, found.right) == ("[1][0]", "y", "z")
    assert (found.place, found.at) == (1, 1)


def test_of_long_lanes_is_told_what_stands_around_the_first_difference() -> None:
    names = [str(at) for at in range(1000)]
    projection = Projection(of=("event name",))
    right, seen = told(*names), told(*names[:500], "x", *names[500:])
    found, *more = lane_decisions(projection, *map(projection.lanes_of, (right, seen)))

    assert not more
    assert found.claim == "what the reference does, from entry 497 on"
    assert found.expected == [["497"], ["498"], ["499"], ["500"], ["501"], ["502"]]
    assert found.got == [["497"], ["498"], ["499"], ["x"], ["500"], ["501"]]


def test_a_difference_of_types_is_one() -> None:
    one, other = ([{"kind": "event", "run": 1, "x": x}] for x in (1, True))

    assert differ(one, other, of=["event x"]) is not None


def test_what_is_missing_has_no_place_among_what_was_seen() -> None:
    found = differ(told("x", "y"), told("x"), of=["event name"])

    assert found is not None
    assert (found.place, found.at) == (None, 1)


@pytest.mark.parametrize("text", ["", "[x=1]", "event[!]", "event[=1]"])
def test_what_cannot_be_read_is_refused_with_the_part(text) -> None:
    with pytest.raises(ValidationError, match="write"):
        Projection(of=(text,))


def test_a_condition_without_a_path_is_refused() -> None:
    with pytest.raises(ProjectionError, match="path=value"):
        Wanted.read("!=1")


def test_a_value_is_found_through_keys_and_places() -> None:
    entry = {"a": [{"b": None}]}

    assert value_at(entry, "a.0.b") is None
    assert value_at(entry, "a.0.b?") is False
    assert value_at(entry, "a?") is True


WORLD = {"turns": [{"do": "go"}, {"do": "stop", "empty": {}}], "of": {"x": {"n": [1]}}}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("turns", True),
        ("nowhere", False),
        ("!nowhere", True),
        ("turns.do=stop", True),
        ("turns.do=go|stay", True),
        ("turns.do=stay", False),
        ("!turns.do=stop", False),
        ("turns.empty", False),
        ("turns.empty={}", True),
        ("of.*.n=1", True),
        ("nowhere|of.*.n", True),
        ("nowhere|of.*.n=2", False),
        ("**.n=1", True),
        ("**.do=stop", True),
        ("**.nowhere", False),
        ("**", True),
        ("**.**.n=2", False),
        ("turns.1", True),
        ("turns.2", False),
        ("turns.0.do=stop", False),
        ("turns.do~^st", True),
        ("turns.do~op|ay", True),
        ("turns.do~^o", False),
        ("!**.do~=", True),
    ],
)
def test_a_world_is_named_by_what_stands_in_its_scenario(condition, holds) -> None:
    assert WorldValues(WORLD).meet(condition) is holds
