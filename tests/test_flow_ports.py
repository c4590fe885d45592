"""Callbacks of agents as plugins: what is the same, and what cannot be, by name."""

import asyncio
from dataclasses import replace

import pytest

from compat.adapters import (
    FlippedOrderError,
    NoCallbackError,
    NotReachedError,
    WiderScopeError,
)
from compat.adapters.flow import (
    CallbackChange,
    CallbackPlace,
    callbacks_to_plugins,
    changes_of,
)
from compat.dialects.flow import (
    LlmAgent,
    LlmResponse,
    Plugin,
    SequentialAgent,
    agent_tool,
    flow_profile,
    text_content,
)
from compat.dialects.flow.profile import FLOW_PROFILES
from tests.flow_support import (
    ScriptedModel,
    calls,
    run,
    runner_of,
    saying_callbacks,
    saying_plugin,
    stored,
    tool,
)

GO, PY_1, PY_2, SAFE = map(
    flow_profile, ("adk-go-0.4", "adk-py-1", "adk-py-2", "flow-safe")
)
each_profile = pytest.mark.parametrize(
    "profile", FLOW_PROFILES, ids=lambda each: each.name
)


class Refusal(Exception):
    """A callback says no."""


def refusing(*_):
    raise Refusal("no")


def answering(text):
    return lambda *_: LlmResponse(content=text_content("model", text))


def giving(value):
    return lambda *_: value


def writing(key):
    def write(ctx, *_):
        ctx.state[key] = ctx.agent_name

    return write


def whole(root, plugins, profile, state=None):
    """Return all that one message leaves: events, what is stored, how it ended."""
    runner = runner_of(root, *plugins, profile=profile)
    try:
        told, error = asyncio.run(run(runner, state=state)), None
    except Exception as raised:  # noqa: BLE001  # it is compared
        told, error = [], (type(raised), str(raised))
    kept = asyncio.run(stored(runner))
    return told, kept.events, dict(kept.state), error


def ported(root, plugins, profile, **options):
    port = callbacks_to_plugins(root, profile, plugins, **options)
    return port.root, port.plugins


def clerk(log=None, **hooks):
    given = {} if log is None else saying_callbacks(log)
    return LlmAgent(
        name="clerk",
        model=ScriptedModel(calls("f"), "ok"),
        **({"tools": [tool("f")]} | given | hooks),
    )


# Worlds in which the port is the same, under every profile

ONE_AGENT = {
    "abstaining": {},
    "early answer": {"before_model": [answering("canned"), answering("late")]},
    "replaced answer": {"after_model": answering("other")},
    "early result": {"before_tool": [giving(None), giving({"v": 1}), giving({"v": 2})]},
    "empty result": {"before_tool": [giving({}), giving({"v": 1})]},
    "empty, then nothing": {"before_tool": [giving({}), giving(None)]},
    "replaced result": {"after_tool": [giving({}), giving({"v": 3})]},
    "closed": {"before_agent": giving(text_content("model", "closed"))},
    "one more event": {"after_agent": giving(text_content("model", "bye"))},
    "state": {"before_agent": writing("a"), "before_model": writing("b")},
    "state of a tool": {"before_tool": writing("c"), "after_tool": writing("d")},
}


@each_profile
@pytest.mark.parametrize("hooks", ONE_AGENT.values(), ids=ONE_AGENT)
def test_a_plugin_of_one_agents_callbacks_does_what_they_did(profile, hooks) -> None:
    log: list[str] = []
    old = whole(clerk(log, **hooks), [saying_plugin(log)], profile)
    seen, log = list(log), []
    plugins = [saying_plugin(log)]

    new = whole(*ported(clerk(log, **hooks), plugins, profile), profile)

    assert new == old
    assert log == seen


def family(log):
    """Return a sequence of two agents and a tool that is an agent, each with hooks."""
    helper = LlmAgent(
        name="clerk",  # as the one of the tree: names are of one tree
        model=ScriptedModel("helped"),
        **saying_callbacks(log, "inner"),
    )
    first = LlmAgent(
        name="first",
        model=ScriptedModel(calls(("clerk", {"request": "help"})), "one"),
        tools=[agent_tool(helper)],
        **saying_callbacks(log, "first"),
    )
    second = clerk(log)
    return SequentialAgent(
        name="both",
        sub_agents=[first, second],
        before_agent=[lambda *_: log.append("both")],
    )


@each_profile
def test_each_agent_of_a_tree_keeps_its_callbacks_to_itself(profile) -> None:
    log: list[str] = []
    old = whole(family(log), [], profile)
    seen, log = list(log), []

    new = whole(*ported(family(log), [], profile), profile)

    assert (new, log) == (old, seen)


@each_profile
def test_a_callback_that_raises_ends_a_run_as_it_did_unless_plugins_wrap(profile):
    hooks = {"before_model": refusing}

    *_, old = whole(clerk(**hooks), [], profile)
    *_, new = whole(*ported(clerk(**hooks), [], profile), profile)

    told = changes_of(clerk(**hooks), profile)
    wrapped = CallbackChange(CallbackPlace("clerk", "before_model"), "error_class")
    assert (new == old) == (wrapped not in told)
    assert (wrapped in told) == (profile.plugin_errors == "wrapped")


def test_what_an_after_model_callback_writes_is_lost_in_a_plugin_where_it_is_told():
    hooks = {"after_model": writing("k")}
    place = CallbackPlace("clerk", "after_model")
    for profile in FLOW_PROFILES:
        _, old, *_ = whole(clerk(**hooks), [], profile)
        _, new, *_ = whole(*ported(clerk(**hooks), [], profile), profile)

        lost = CallbackChange(place, "lost_state") in changes_of(
            clerk(**hooks), profile
        )
        assert (new != old) == lost, profile.name
        assert lost == (profile.plugin_after_model_state == "lost")


# What changes scope or order


def test_a_function_that_moves_as_it_is_would_be_asked_for_others() -> None:
    second = clerk(before_model=answering("canned"))
    both = SequentialAgent(
        name="both",
        sub_agents=[LlmAgent(name="first", model=ScriptedModel("one")), second],
    )

    with pytest.raises(WiderScopeError, match=r"of agent 'clerk'.*for first as"):
        callbacks_to_plugins(both, SAFE, scope="runner")


def test_a_function_that_every_agent_has_moves_as_it_is() -> None:
    log: list[str] = []

    def agents(note):
        made = [
            LlmAgent(name=each, model=ScriptedModel(each), before_model=note)
            for each in ("a", "b")
        ]
        return SequentialAgent(name="both", sub_agents=made)

    def note(ctx, _):
        log.append(ctx.agent_name)

    old = whole(agents(note), [], SAFE)
    new = whole(*ported(agents(note), [], SAFE, scope="runner"), SAFE)

    assert new == old
    assert log == ["a", "b", "a", "b"]


def test_an_agent_inside_a_tool_gets_a_plugin_where_it_is_inherited() -> None:
    inner = LlmAgent(name="inner", model=ScriptedModel("x"))
    root = clerk(tools=[agent_tool(inner)], before_model=answering("canned"))

    with pytest.raises(WiderScopeError, match="for inner as"):
        callbacks_to_plugins(root, SAFE, scope="runner")
    assert callbacks_to_plugins(root, GO, scope="runner").plugins


def test_a_callback_that_moves_alone_would_overtake_those_before_it() -> None:
    root = clerk(before_model=[giving(None), answering("canned")])
    moving = [CallbackPlace("clerk", "before_model", 1)]

    with pytest.raises(FlippedOrderError, match=r"beside before_model\[0\]"):
        callbacks_to_plugins(root, SAFE, moving=moving)


def test_a_callback_that_moves_leaves_those_behind_it() -> None:
    root = clerk(before_model=[giving(None), answering("canned")])
    old = whole(root, [], SAFE)
    moving = [CallbackPlace("clerk", "before_model")]

    port = callbacks_to_plugins(clerk(**_hooks(root)), SAFE, moving=moving)

    assert len(vars(port.root)["before_model"]) == 1
    assert whole(port.root, port.plugins, SAFE) == old


def _hooks(agent):
    return {"before_model": agent.before_model}


def test_two_agents_that_ask_in_another_order_do_not_share_plugins() -> None:
    one, two = giving(None), giving(None)
    made = [
        LlmAgent(name="a", model=ScriptedModel("a"), before_model=[one, two]),
        LlmAgent(name="b", model=ScriptedModel("b"), before_model=[two, one]),
    ]
    both = SequentialAgent(name="both", sub_agents=made)

    with pytest.raises(FlippedOrderError, match="beside b"):
        callbacks_to_plugins(both, SAFE, scope="runner")


def test_callbacks_inside_a_tool_stay_and_are_told() -> None:
    inner = LlmAgent(name="inner", model=ScriptedModel("x"), before_model=refusing)
    root = clerk(tools=[agent_tool(inner)], before_agent=giving(None))
    place = CallbackPlace("inner", "before_model")

    port = callbacks_to_plugins(root, SAFE)

    assert port.changes == (CallbackChange(place, "out_of_reach", ("inner",)),)
    with pytest.raises(NotReachedError, match="inside tool inner"):
        callbacks_to_plugins(root, SAFE, moving=[place])


def test_a_port_of_nothing_is_refused() -> None:
    with pytest.raises(NoCallbackError, match="any of its callbacks"):
        callbacks_to_plugins(clerk(), SAFE)
    moving = [CallbackPlace("clerk", "before_model", 3)]
    with pytest.raises(NoCallbackError, match=r"before_model\[3\] of agent 'clerk'"):
        callbacks_to_plugins(clerk([]), SAFE, moving=moving)


def test_the_plugin_has_a_name_of_its_own_and_stands_last() -> None:
    taken = Plugin(name="callbacks")

    port = callbacks_to_plugins(clerk([]), SAFE, [taken])

    assert [each.name for each in port.plugins] == ["callbacks", "callbacks-2"]


def test_an_empty_mapping_ends_a_list_of_plugins_only() -> None:
    place = CallbackPlace("clerk", "before_tool")
    root = clerk(before_tool=[giving({}), giving({"v": 1})])

    told = [
        each.name
        for each in FLOW_PROFILES
        if CallbackChange(place, "empty_mapping")
        in changes_of(root, each, scope="runner")
    ]

    assert told == ["adk-py-1"]
    old = whole(root, [], PY_1)
    again = clerk(before_tool=root.before_tool)
    new = whole(*ported(again, [], PY_1, scope="runner"), PY_1)
    assert new != old


def test_the_agents_that_were_given_are_left_as_they_are() -> None:
    root = clerk([])
    before = replace(root)

    callbacks_to_plugins(root, SAFE)

    assert root.before_model == before.before_model
