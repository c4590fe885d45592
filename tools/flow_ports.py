"""The long search for a world that the port of callbacks changes (FLOW-COMPAT).

    python -m tools.flow_ports --worlds 2000 [--on WORKERS]

It plays that many worlds a profile, as they are and with their callbacks as a plugin.
The traces are equal, or a change that the port tells by name came about. The same seed
gives the same worlds. Exit code 1 if a world was found; it is printed, shrunk.

A profile is a part for a worker. Its worlds are not cut: Hypothesis draws each from
what it drew before, so parts would draw others.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from compat.adapters.flow.plugins import ported as in_a_plugin
from compat.cli.on import ON, spread_on
from compat.dialects.flow.profile import FLOW_PROFILES, FlowProfile, flow_profile
from compat.engines.flow.doors import FlowEngine
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from compat.engines.flow.scenario import FlowScenario
from compat.spreading import UnitData
from refengine.testing import Divergence, Trace, first_divergence
from tools.searching import at_least_one, draw, tell

SEED: Final = 20260018


class PortFoundError(AssertionError):
    """A world in which the port does something else, and does not say so."""


def _todo(*more: dict[str, Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    state: list[dict[str, Any]] = [
        {"op": "write_state", "key": "k", "value": 1},
        {"op": "count_state", "key": "n"},
        {"op": "read_state", "key": "k"},
        {"op": "raise", "text": "no"},
        {"op": "raise", "text": "late", "on_call": 2},
    ]
    return st.lists(st.sampled_from([*state, *more]), max_size=2)


_TEXT: Final[dict[str, Any]] = {"op": "return", "text": "early"}
_RESULTS: Final[list[dict[str, Any]]] = [
    {"op": "return", "result": {}},
    {"op": "return", "result": {"v": 2}, "on_call": 1},
]
_EDIT: Final[dict[str, Any]] = {"op": "edit_args", "values": {"x": 1}}
TODO: Final = {
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
AGENT_TODO: Final = {key: TODO[key] for key in ("before_agent", "after_agent")}
PLUGIN_TODO: Final = {**TODO, "on_event": st.just([]), "after_run": st.just([])}

_CALLS: Final = st.lists(
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


def search(profile: FlowProfile, worlds: int, start: int = SEED) -> int:
    """Search one profile; return how many worlds were compared, told ones left out.

    Raises PortFoundError with the smallest world that was found.
    """
    compared = [0]

    def compare(world: FlowScenario) -> None:
        found = porting_divergence(world, profile)
        compared[0] += 1
        if found is not None:
            text = world.model_dump_json(exclude_defaults=True)
            raise PortFoundError(f"{profile.name}: {found}\n{text}")

    draw(given(port_worlds())(compare), worlds, start)
    return compared[0]


def searched(part: UnitData) -> UnitData:
    """Return what a search of one profile says; this is what a worker plays."""
    under, start = flow_profile(part["profile"]), part["seed"]
    try:
        count = search(under, part["worlds"], start)
    except PortFoundError as error:
        return {"said": f"DIFFERS\n{error}", "found": True}
    said = f"{under.name}: {count} worlds, no divergence, seed {start}"
    return {"said": said, "found": False}


def main(arguments: Sequence[str]) -> int:
    """Search every profile; return the exit code."""
    parser = ArgumentParser("python -m tools.flow_ports")
    parser.add_argument("--worlds", type=at_least_one, default=2000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--on", metavar="WORKERS", help=ON)
    options = parser.parse_args(arguments)
    about = {"worlds": options.worlds, "seed": options.seed}
    parts = [{"profile": each.name, **about} for each in FLOW_PROFILES]
    with spread_on("tools.flow_ports", options.on) as spread:
        return tell("flow_ports", parts, spread)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
