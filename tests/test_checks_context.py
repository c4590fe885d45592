"""How far a context reaches: the checks of CTX, under every profile."""

import pytest

from tests.deciding import OF, decisions, handler, scenario

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"


def adds(text):
    return {"op": "ctx_append", "key": "h", "text": text}


@pytest.mark.parametrize(
    ("under", "model", "tool"),
    [("seed-001", "-b", "-b"), ("eino-0.9", "-b", "-"), ("eino-draft", "-", "-")],
)
def test_how_far_the_context_of_before_hooks_reaches_is_a_posture(under, model, tool):
    agent = {"tools": [{"name": "t"}], "handlers": [handler(before_model=[adds("b")])]}
    world = scenario(agent, CALL, DONE)
    sent = decisions(OF["CTX-003"], world, under=under)
    ran = decisions(OF["CTX-006"], world, under=under)

    assert all(each.holds for each in (*sent, *ran))
    assert [each.expected for each in sent] == [model, model]
    assert [each.expected for each in ran] == [tool]


def test_a_wrap_for_one_tool_acts_in_place_of_the_wrap_that_holds_it():
    own = {"t": {"ctx_append": {"key": "h", "text": "own"}}}
    wrap = {"ctx_append": {"key": "h", "text": "all"}, "by_tool": own}
    agent = {"tools": [{"name": "t"}], "handlers": [handler(wrap_invokable=wrap)]}
    (found,) = decisions(OF["CTX-007"], scenario(agent, CALL, DONE))

    assert found.holds
    assert found.expected == "-own"


def test_the_callback_of_a_struct_middleware_changes_no_context():
    struct = {
        "id": "m",
        "before_chat_model": [
            {"op": "ctx_set", "key": "k", "value": 1},
            {"op": "ctx_get", "key": "k"},
        ],
    }
    looks = handler(before_model=[{"op": "ctx_get", "key": "k"}])
    agent = {"middlewares": [struct], "handlers": [looks]}
    found = decisions(OF["CTX-012"], scenario(agent, DONE))

    assert all(each.holds for each in found)
    assert [each.expected["value"] for each in found] == [1, "-"]


def test_a_dropped_run_local_value_is_asked_to_be_gone():
    before = [
        {"op": "runlocal_set", "key": "k", "value": 1},
        {"op": "runlocal_delete", "key": "k"},
    ]
    after = [{"op": "runlocal_get", "key": "k"}]
    agent = {"handlers": [handler(before_model=before, after_model=after)]}
    (found,) = decisions(OF["CTX-013"], scenario(agent, DONE))

    assert found.holds
    assert found.expected == {"key": "k", "found": False}


def test_a_value_that_a_tool_sets_is_not_judged_while_its_siblings_may_run():
    body = [{"op": "runlocal_set", "key": "k", "value": 1}]
    wrap = {"runlocal_get": "k"}
    agent = {
        "tools": [{"name": "t", "body": body}],
        "handlers": [handler(wrap_invokable=wrap)],
    }
    world = scenario(agent, "assistant:[c1:t({})][c2:t({})]", DONE)
    looked = decisions(OF["CTX-014"], world) + decisions(OF["CTX-013"], world)

    assert [each.at.call_id for each in looked] == ["c1"]
