"""The checks of ORD, under every profile."""

from dataclasses import replace

import pytest

from property_tests.check import PlayedWorld
from property_tests.view import view
from refengine.profile import SEED_001
from refengine.testing import Trace, clock, play
from refengine.testing.doors import ReferenceEngine
from tests.deciding import OF, handlers, scenario, told

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
TOOL = {"name": "t", "result": "T"}


def test_a_pass_that_an_error_stopped_is_a_beginning_of_the_whole():
    stops = {"before_model": [{"op": "error", "text": "boom"}]}
    world = scenario(handlers({"before_model": []}, stops, {"before_model": []}), DONE)

    assert told("ORD-002", world) == [["before_model[0] h0", "before_model[1] h1"]]


@pytest.mark.parametrize(
    ("under", "order"),
    [
        ("seed-001", ["after_chat_model[0] m", "after_model[0] h0"]),
        ("eino-0.9", ["after_model[0] h0", "after_chat_model[0] m"]),
    ],
)
def test_which_list_is_first_after_the_model_is_a_posture(under, order):
    struct = {"id": "m", "after_chat_model": [{"op": "record"}]}
    agent = {"middlewares": [struct], **handlers({"after_model": []})}

    assert told("ORD-003", scenario(agent, DONE), under) == [order]


def test_all_after_hooks_are_backwards_where_the_profile_turns_them():
    world = scenario(handlers({"after_model": []}, {"after_model": []}), DONE)

    wanted = [["after_model[1] h1", "after_model[0] h0"]]
    assert told("ORD-003", world, "langchain-1") == wanted


def test_one_object_at_two_positions_is_entered_twice():
    agent = {"handlers": [{"id": "h", "before_agent": []}, {"same_as": 0}]}

    wanted = [["before_agent[0] h", "before_agent[0] h"]]
    assert told("ORD-006", scenario(agent, DONE), "eino-0.9") == wanted


def test_a_hook_refused_for_what_it_left_keeps_the_next_from_being_missed():
    null = [{"op": "set_tools", "value": None}]
    world = scenario(handlers({"before_agent": null}, {"before_agent": []}), DONE)

    assert told("ORD-006", world, "langchain-1") == [["before_agent[0] h0"]]


def test_a_hook_before_the_agent_that_is_called_after_the_build_is_told():
    world = scenario(handlers({"before_agent": []}), DONE)
    trace = clock.run(play(world, ReferenceEngine(SEED_001)))
    hook = next(each for each in trace if each.kind == "hook_enter")
    start = next(each.seq for each in trace if each.kind == "run_start")
    late = Trace([*trace[:start], replace(hook, seq=start), *trace[start:]])
    case = PlayedWorld(world, SEED_001, {"played": view(world, SEED_001, late)})

    assert [each.got for each in OF["ORD-006"].decide(case) if not each.holds] == [
        ["before_agent[0] h0"]
    ]


def test_a_phase_before_every_run_is_none_at_build():
    world = scenario(handlers({"before_agent": []}), DONE)

    assert told("ORD-006", world) == [["before_agent[0] h0"], []]
    assert told("ORD-006", world, "eino-0.9") == [["before_agent[0] h0"]]


def test_every_try_of_a_wrapper_has_all_wrappers_inside_around_it():
    again = {"wrap_invokable": {"call_next": 2}}
    agent = {
        "tools": [{"name": "t", "error": "boom"}],
        **handlers(
            {"wrap_invokable": {"catch_error": "x"}}, again, {"wrap_invokable": {}}
        ),
    }
    layers = [f"wrap_invokable[{at}] h{at}" for at in range(3)]

    assert told("ORD-014", scenario(agent, CALL, DONE)) == [layers, layers]


def test_a_call_that_a_wrapper_answers_is_inside_of_those_around_it_only():
    short = {"wrap_invokable": {"short_circuit": "no"}}
    agent = {"tools": [TOOL], **handlers({"wrap_invokable": {}}, short, short)}

    wanted = [["wrap_invokable[0] h0", "wrap_invokable[1] h1"]]
    assert told("ORD-014", scenario(agent, CALL, DONE)) == wanted


def test_calls_whose_ids_wrappers_change_are_not_looked_at():
    agent = {
        "tools": [TOOL],
        **handlers({"wrap_invokable": {"set_input_call_id": "x"}}),
    }

    assert told("ORD-014", scenario(agent, CALL, DONE)) == []


@pytest.mark.parametrize(("under", "times"), [("seed-001", 1), ("eino-0.9", 0)])
def test_whether_both_lists_are_warned_of_is_a_posture(under, times):
    agent = {"middlewares": [{"id": "m"}], **handlers({"before_model": []})}

    assert told("ORD-019", scenario(agent, DONE), under) == [times]
