"""The checks of WRAP, under every profile."""

import pytest

from property_tests.checks.onions import EnteredWrapper
from property_tests.checks.wrapping import onions
from refengine.profile import SEED_001
from refengine.testing.doors import ReferenceEngine
from tests.deciding import OF, case_of, handler, scenario, told

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
TOOL = {"name": "t", "result": "r"}


def wrapped(*wraps, tool=TOOL, hook="wrap_invokable"):
    handlers = [handler(f"h{at}", **{hook: wrap}) for at, wrap in enumerate(wraps)]
    return {"tools": [tool], "handlers": handlers}


def onion_in(agent, **run):
    world = scenario(agent, CALL, DONE, **run)
    played = case_of(world, OF["WRAP-001"], ReferenceEngine(SEED_001), "seed-001")
    [(_, onion)] = onions(played.played)
    return onion


def test_a_wrapper_that_tries_again_has_every_try_inside_it():
    agent = wrapped({"call_next": 3}, {}, tool={"name": "t", "error": "boom"})
    onion = onion_in(agent)
    [root] = onion.roots

    assert isinstance(root, EnteredWrapper)
    assert onion.named(root.inner) == ["wrap_invokable of h1 (1)"] * 3
    assert len(onion.executions) == 3


def test_a_failed_call_has_no_result():
    onion = onion_in(wrapped({}, tool={"name": "t", "error": "boom"}))

    assert (onion.result, onion.roots[0].raised) == (None, "boom")


@pytest.mark.parametrize(
    ("wrap", "result"),
    [
        ({"prefix_result": "> "}, "> a b"),
        ({"map_result": "[<result>]"}, "[a ][b]"),
        ({"set_stream": ["x", "y"]}, "xy"),
        ({"short_circuit": "cached"}, "cached"),
        ({"by_tool": {"t": {"set_result": "own"}}, "set_result": "all"}, "own"),
    ],
)
def test_a_streamed_result_is_worked_out_chunk_by_chunk(wrap, result):
    tool = {"name": "t", "kind": "streamable", "chunks": ["a ", "b"]}
    agent = wrapped(wrap, tool=tool, hook="wrap_streamable")

    assert onion_in(agent, streaming=True).result == result
    assert told("WRAP-011", scenario(agent, CALL, DONE)) == [result]


def test_arguments_changed_further_in_are_seen_by_a_second_try():
    agent = wrapped({"call_next": 2}, {"rewrite_args": "new"})

    assert told("WRAP-007", scenario(agent, CALL, DONE)) == ["{}"]


@pytest.mark.parametrize(
    ("under", "ran", "event"),
    [("seed-001", "c1", "c1"), ("eino-draft", "c1", "x"), ("langchain-1", "x", "x")],
)
def test_where_a_changed_call_id_goes_is_a_posture(under, ran, event):
    world = scenario(wrapped({"set_input_call_id": "x"}), CALL, DONE)

    assert told("WRAP-015", world, under) == [[ran], event]


def test_a_change_without_effect_is_asked_for_only_where_next_was_called():
    agent = wrapped({"short_circuit": "cached", "set_input_name": "u"})

    assert told("WRAP-016", scenario(agent, CALL, DONE)) == [[]]


def test_siblings_of_a_failed_call_are_not_judged_where_they_are_cancelled():
    failing = {"name": "u", "error": "boom"}
    agent = {**wrapped({}), "tools": [{**TOOL, "delay_ms": 5}, failing]}
    world = scenario(agent, "assistant:[c1:t({})][c2:u({})]", DONE)

    assert told("WRAP-001", world, "langchain-1") == []
    assert len(told("WRAP-001", world)) == 2
