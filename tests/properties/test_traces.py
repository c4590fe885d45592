"""Comparing traces: equal ones have no divergence, others the same one both ways."""

import json
from copy import deepcopy
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from refengine.testing import Divergence, Scenario, Trace, first_divergence
from refengine.testing.strategies import scenarios
from refengine.testing.trace import MISSING, are_alike
from tests.properties.support import played, searching, under_every_profile

worlds = scenarios(failures=True, unknown_calls=True, counting=True)
leaves = st.one_of(
    st.sampled_from([None, True, False, 1, 1.0, 0, 0.0, -0.0, "", "1", MISSING]),
    st.text(max_size=3),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    ),
    max_leaves=8,
)


TWINS = [(1, 1.0), (1, True), (0, 0.0), (0, False), (0.0, -0.0), ("", None), ("1", 1)]
"""Values that are easily taken for each other."""


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """Draw the value with nothing or one thing changed, anywhere in it."""
    if isinstance(value, list):
        return draw(changed_list(value))
    if isinstance(value, dict) and value:
        key = draw(st.sampled_from(sorted(value)))
        rest = {name: each for name, each in value.items() if name != key}
        return rest if draw(st.booleans()) else {**rest, key: draw(changed(value[key]))}
    twins = [twin for pair in TWINS for twin in pair if value in pair]
    return draw(st.sampled_from([value, *twins, MISSING]) | values)


@st.composite
def changed_list(draw: st.DrawFn, value: list[Any]) -> list[Any]:
    edit = draw(st.sampled_from(["change", "append", "drop"]))
    if not value or edit == "append":
        return [*value, draw(st.just(MISSING) | leaves)]
    at = draw(st.integers(0, len(value) - 1))
    middle = [draw(changed(value[at]))] if edit == "change" else []
    return [*value[:at], *middle, *value[at + 1 :]]


pairs = st.lists(values, max_size=4).flatmap(
    lambda entries: st.tuples(st.just(entries), changed_list(entries))
)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@searching(300)
@example(([[]], [[MISSING]]))
@given(pairs)
def test_there_is_a_divergence_if_and_only_if_the_canonical_texts_differ(
    pair: tuple[list[Any], list[Any]],
) -> None:
    left, right = pair
    found = first_divergence(left, right)

    assert (found is None) == (canonical(left) == canonical(right))


@searching(300)
@given(pairs)
def test_a_divergence_is_the_same_from_both_sides(
    pair: tuple[list[Any], list[Any]],
) -> None:
    left, right = pair
    found = first_divergence(left, right)
    assume(found is not None)
    assert found is not None
    turned = Divergence(found.index, found.path, found.right, found.left)

    assert first_divergence(right, left) == turned


@searching(300)
@given(pairs)
def test_what_stands_before_a_divergence_is_equal(
    pair: tuple[list[Any], list[Any]],
) -> None:
    left, right = pair
    found = first_divergence(left, right)
    index = len(left) if found is None else found.index

    assert canonical(left[:index]) == canonical(right[:index])


@searching(300)
@example({"unanswered": "nan"})
@given(values)
def test_equal_values_are_seen_to_be_alike_at_once(value: Any) -> None:
    assert are_alike(value, deepcopy(value))


def test_what_equals_nothing_is_not_seen_to_be_alike() -> None:
    assert not are_alike([float("nan")], [float("nan")])


@under_every_profile
@searching(25)
@given(worlds)
def test_a_trace_read_back_is_the_same_trace(under: str, scenario: Scenario) -> None:
    trace = played(scenario, under)
    text = trace.to_jsonl()
    back = Trace.from_jsonl(text)

    assert back.to_jsonl() == text
    assert first_divergence(back, trace) is None
    assert len(text.splitlines()) == len(trace)


@under_every_profile
@searching(25)
@given(worlds, worlds)
def test_traces_diverge_if_what_is_compared_of_them_differs(
    under: str, one: Scenario, other: Scenario
) -> None:
    left, right = played(one, under), played(other, under)
    found = first_divergence(left, right)
    turned = first_divergence(right, left)

    assert first_divergence(left, left) is None
    assert (found is None) == (turned is None)
    if left.to_jsonl() == right.to_jsonl():
        assert found is None
