"""FLOW-COMPAT: ported worlds do what they did, and wrong ports are found.

The traces are equal, or a change that the port tells by name came about.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from compat.adapters.flow import callbacks_to_plugins, changes_of
from compat.adapters.flow.plugins import CALLBACK_HOOKS
from compat.adapters.flow.plugins import ported as in_a_plugin
from compat.dialects.flow import Plugin, flow_profile
from compat.dialects.flow.profile import FLOW_PROFILES, FlowProfile
from compat.engines.flow.doors import FLOW_CAPABILITIES, FlowEngine
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import DialectWorld, FlowDialect
from compat.engines.flow.scenario import FlowScenario
from refengine.testing import Divergence, Trace, first_divergence
from tests.flow_port_worlds import SMALLEST, outside
from tests.properties.support import noted, searching

SAFE, PY_1 = flow_profile("flow-safe"), flow_profile("adk-py-1")


def _todo(*more: dict[str, Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    state: list[dict[str, Any]] = [
        {"op": "write_state", "key": "k", "value": 1},
        {"op": "count_state", "key": "n"},
        {"op": "read_state", "key": "k"},
        {"op": "raise", "text": "no"},
        {"op": "raise", "text": "late", "on_call": 2},
    ]
    return st.lists(st.sampled_from([*state, *more]), max_size=2)


_TEXT: dict[str, Any] = {"op": "return", "text": "early"}
_RESULTS: list[dict[str, Any]] = [
    {"op": "return", "result": {}},
    {"op": "return", "result": {"v": 2}, "on_call": 1},
]
_EDIT: dict[str, Any] = {"op": "edit_args", "values": {"x": 1}}
TODO = {
    "before_agent": _todo(_TEXT),
    "after_agent": _todo(_TEXT),
    "before_model": _todo(
        {**_TEXT, "on_call": 2}, {"op": "edit_request", "append_text": "more"}
    ),
    "after_model": _todo({**_TEXT, "on_call": 1}),
    "on_model_error": _todo(_TEXT),
    "before_tool": _todo(*_RESULTS, _EDIT),
    "after_tool": _todo(*_RESULTS, {"op": "skip_summarization"}),
    "on_tool_error": _todo(*_RESULTS),
}
AGENT_TODO = {key: TODO[key] for key in ("before_agent", "after_agent")}
PLUGIN_TODO = {**TODO, "on_event": st.just([]), "after_run": st.just([])}

_CALLS = st.lists(
    st.sampled_from(["f", "g", "absent", "helper"]), min_size=1, max_size=2
)


@st.composite
def _script(draw: st.DrawFn, name: str) -> list[dict[str, Any]]:
    script: list[dict[str, Any]] = []
    for step in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            calls = [
                {"name": each, "id": f"{name}{step}{at}", "args": {"request": "go"}}
                for at, each in enumerate(draw(_CALLS))
            ]
            script.append({"calls": calls})
    if draw(st.sampled_from([False, False, True])):
        script.append({"error": "model down"})
    return [*script, {"text": f"{name} done"}]


@st.composite
def _callbacks(
    draw: st.DrawFn, todo: dict[str, st.SearchStrategy[list[dict[str, Any]]]]
) -> dict[str, Any]:
    hooks = draw(st.lists(st.sampled_from(sorted(todo)), max_size=3, unique=True))
    return {x: draw(st.lists(todo[x], min_size=1, max_size=2)) for x in hooks}


@st.composite
def _agent(draw: st.DrawFn, name: str) -> dict[str, Any]:
    tools: list[dict[str, Any]] = [
        {"name": "f"},
        {"name": "g", "outcomes": [{"error": "broken"}, {"result": "late"}]},
    ]
    if name == "a" and draw(st.booleans()):
        tools.append({"agent": draw(_agent("helper"))})
    return {
        "name": name,
        "script": draw(_script(name)),
        "tools": tools,
        "callbacks": draw(_callbacks(TODO)),
    }


@st.composite
def port_worlds(draw: st.DrawFn) -> FlowScenario:
    """Draw a world of one to three agents with callbacks, plugins beside them."""
    agent = draw(_agent("a"))
    kind = draw(st.sampled_from(["llm", "sequential", "parallel", "below"]))
    if kind == "below":
        agent["sub_agents"] = [draw(_agent("b"))]
        call = {"name": "transfer_to_agent", "args": {"agent_name": "b"}, "id": "t"}
        agent["script"].insert(0, {"calls": [call]})
    elif kind != "llm":
        below = [agent, draw(_agent("b"))]
        hooks = draw(_callbacks(AGENT_TODO))
        agent = {"name": "root", "kind": kind, "sub_agents": below, "callbacks": hooks}
    names = draw(st.sampled_from([[], ["p"], ["p", "callbacks"]]))
    plugins = [{"name": each, "hooks": draw(_plugin())} for each in names]
    turns = [{"text": "hi"}, {"text": "again"}][: draw(st.integers(1, 2))]
    world = {"agent": agent, "plugins": plugins, "turns": turns}
    return FlowScenario.model_validate_json(json.dumps(world))


@st.composite
def _plugin(draw: st.DrawFn) -> dict[str, Any]:
    hooks = draw(
        st.lists(st.sampled_from(sorted(PLUGIN_TODO)), max_size=2, unique=True)
    )
    return {each: draw(PLUGIN_TODO[each]) for each in hooks}


def porting_divergence(
    world: FlowScenario, profile: FlowProfile, ported: FlowEngine | None = None
) -> Divergence | None:
    """Return where the port does otherwise and does not tell; None if nowhere."""
    old = play_flow(world, FlowDialect(profile))
    new = play_flow(world, ported or FlowDialect(profile, in_a_plugin))
    if told(old, profile):
        return None
    return first_divergence(old, new)


def told(trace: Trace, profile: FlowProfile) -> bool:
    """Tell whether a callback did what a plugin cannot, under a profile that says so.

    It raised where plugins' exceptions are wrapped, or was asked for an answer that it
    may write state from where that is lost.
    """
    for each in trace.of("hook_exit"):
        if "callback" not in each.data:
            continue
        if "error" in each.data and profile.plugin_errors == "wrapped":
            return True
        lost = profile.plugin_after_model_state == "lost"
        if lost and each.data["hook"] == "after_model":
            return True
    return False


@pytest.mark.parametrize("profile", [each.name for each in FLOW_PROFILES])
@searching(20, long=2000)
@given(port_worlds())
def test_callbacks_as_a_plugin_leave_the_trace_that_they_left(profile, world) -> None:
    noted(world, profile)

    assert porting_divergence(world, flow_profile(profile)) is None


@pytest.mark.parametrize("cause", SMALLEST)
def test_a_smallest_world_shows_what_a_port_by_hand_changes(cause) -> None:
    shown = SMALLEST[cause]
    engine = FlowDialect(shown.profile)

    old = outside(play_flow(shown.world, engine))
    new = outside(play_flow(shown.moved, engine))

    assert first_divergence(old, new) is not None
    # The port itself does not change it, but where no plugin can do otherwise.
    again = play_flow(shown.world, FlowDialect(shown.profile, in_a_plugin))
    same = first_divergence(old, outside(again)) is None
    assert same == (cause not in {"error_class", "lost_state"})


@pytest.mark.parametrize("cause", SMALLEST)
def test_the_change_that_a_smallest_world_shows_is_told_by_name(cause) -> None:
    shown = SMALLEST[cause]
    world = Built(flow_profile(shown.profile))
    play_flow(shown.world, world)
    [root] = world.roots
    scope = "runner" if cause in {"scope", "empty_mapping"} else "agent"

    told = changes_of(
        root, flow_profile(shown.profile), moving=[shown.place], scope=scope
    )

    assert (cause, shown.place) in {(each.cause, each.place) for each in told}


class Built:
    """The reference, which keeps the agents that it was given."""

    name, version = "flow", ""
    capabilities = frozenset(FLOW_CAPABILITIES)

    def __init__(self, profile):
        self.profile, self.roots = profile, []

    def open(self, world):
        return DialectWorld(world, self.profile, self._port)

    def _port(self, root, profile, plugins):
        self.roots.append(root)
        return root, plugins


# Wrong ports


@dataclass(frozen=True)
class WrongPort(Built):
    """The reference with a port that somebody got wrong."""

    profile: object
    wrong: object

    def _port(self, root, profile, plugins):
        return self.wrong(root, plugins, self.profile)


def right(root, plugins, profile):
    try:
        port = callbacks_to_plugins(root, profile, plugins)
    except LookupError:
        return root, None, list(plugins)
    return port.root, port.plugins[-1], list(port.plugins[:-1])


def first(root, plugins, profile):
    """Put the plugin in front of those that are there."""
    left, made, others = right(root, plugins, profile)
    return left, others if made is None else [made, *others]


def hookless(hook):
    """Lose the callbacks of one hook."""

    def port(root, plugins, profile):
        left, made, others = right(root, plugins, profile)
        return left, others if made is None else [
            *others,
            replace(made, **{hook: None}),
        ]

    return port


def for_all(root, plugins, _):
    """Move each function as it is, whoever else runs."""
    moved, names = [], iter(range(1000))

    def strip(agent):
        below = [strip(each) for each in agent.sub_agents]
        hooks = {x: getattr(agent, x) for x in CALLBACK_HOOKS if hasattr(agent, x)}
        for hook, found in hooks.items():
            moved.extend(
                Plugin(name=f"moved-{next(names)}", **{hook: each}) for each in found
            )
        return replace(agent, sub_agents=below, **dict.fromkeys(hooks, ()))

    return strip(root), [*plugins, *moved]


def backwards(root, plugins, profile):
    """Move the lists in the other order."""

    def turned(agent):
        below = [turned(each) for each in agent.sub_agents]
        hooks = {x: getattr(agent, x) for x in CALLBACK_HOOKS if hasattr(agent, x)}
        lists = {hook: tuple(reversed(found)) for hook, found in hooks.items()}
        return replace(agent, sub_agents=below, **lists)

    left, made, others = right(turned(root), plugins, profile)
    return left, others if made is None else [*others, made]


WRONG = {
    "first": first,
    "for all": for_all,
    "backwards": backwards,
    **{f"without {hook}": hookless(hook) for hook in CALLBACK_HOOKS},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_port_is_found(wrong) -> None:
    engine = WrongPort(SAFE, wrong)

    world = find(
        port_worlds(),
        lambda each: porting_divergence(each, SAFE, engine) is not None,
        settings=settings(
            max_examples=400,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )

    assert porting_divergence(world, SAFE) is None
