"""Structs as they are and as handlers: the checks of COMPAT."""

import pytest

from tests.deciding import OF, decisions, scenario

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
BOTH = {
    "before_chat_model": [{"op": "record"}],
    "after_chat_model": [{"op": "record"}],
}


def test_a_world_without_structs_has_nothing_to_adapt():
    world = scenario({"handlers": [{"id": "h", "before_model": []}]}, DONE)

    assert not decisions(OF["COMPAT-002"], world)


@pytest.mark.parametrize(
    ("under", "decided"), [("seed-001", True), ("eino-0.9", False)]
)
def test_adapting_beside_handlers_depends_on_the_after_hooks(under, decided):
    agent = {"middlewares": [BOTH], "handlers": [{"id": "h", "after_model": []}]}
    found = decisions(OF["COMPAT-002"], scenario(agent, DONE), under=under)

    assert bool(found) is decided


@pytest.mark.parametrize(
    ("under", "numbers"),
    [
        ("seed-001", [1, 1, 2, 2]),
        ("eino-0.8", [1, 1, 1, 1]),
        ("eino-draft", [1, 2, 3, 4]),
    ],
)
def test_who_shares_a_state_object_is_a_posture(under, numbers):
    world = scenario({"middlewares": [BOTH, BOTH]}, DONE)
    found = decisions(OF["COMPAT-004"], world, under=under)
    native = [each for each in found if each.variant == "played"]

    assert all(each.holds for each in found)
    assert [each.expected for each in native] == numbers


@pytest.mark.parametrize(("under", "calls"), [("seed-001", 2), ("eino-0.9", 4)])
def test_how_often_factories_are_called_is_a_posture(under, calls):
    wrap = {"wrap_tool_call": {"invokable": {"count_factory": True}}}
    agent = {
        "tools": [{"name": "t"}, {"name": "u"}],
        "middlewares": [wrap],
        "handlers": [{"id": "h", "before_model": []}],
    }
    after = [{"op": "record_factory_calls"}]
    world = scenario(agent, CALL, DONE, after=after)
    (found,) = decisions(OF["COMPAT-005"], world, under=under)

    assert found.holds
    assert found.expected == calls


def test_a_handler_that_brings_tools_leaves_the_count_open():
    adds = {"op": "append_tools", "tools": [{"name": "u"}]}
    agent = {
        "tools": [{"name": "t"}],
        "middlewares": [{"wrap_tool_call": {"invokable": {"count_factory": True}}}],
        "handlers": [{"id": "h", "before_agent": [adds]}],
    }
    world = scenario(agent, DONE, after=[{"op": "record_factory_calls"}])

    assert not decisions(OF["COMPAT-005"], world)
