"""The smallest worlds that show what changes when a callback becomes a plugin.

Each is a Flow world with a callback, and the world with that callback's function in a
plugin, as one moves it by hand. Played under the profile beside it they differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from compat.adapters.flow.plugins import CallbackPlace, ChangeCause
from compat.engines.flow.scenario import FlowPluginSpec, FlowScenario
from refengine.testing.trace import Trace

MOVED: Final = "moved"
"""What the plugin is called that has the function."""


@dataclass(frozen=True, slots=True)
class PortWorld:
    """A world, the callback that moves in it, and a profile under which that shows."""

    world: FlowScenario
    place: CallbackPlace
    profile: str

    @property
    def moved(self) -> FlowScenario:
        """The world with the callback's function as it is, in a last plugin."""
        return moved_by_hand(self.world, self.place)


def moved_by_hand(world: FlowScenario, place: CallbackPlace) -> FlowScenario:
    """Return the world with one callback in a plugin that stands behind all others."""
    owner = next(each for each in world.agents() if each.name == place.agent)
    todo = owner.callbacks[place.hook][place.index]
    plugin = FlowPluginSpec(name=MOVED, hooks={place.hook: todo})
    raw = world.model_dump(mode="json", exclude_defaults=True)
    _drop(raw["agent"], place)
    moved = plugin.model_dump(mode="json", exclude_defaults=True)
    return _read({**raw, "plugins": [*raw.get("plugins", ()), moved]})


def _drop(agent: dict[str, Any], place: CallbackPlace) -> None:
    if agent["name"] == place.agent:
        callbacks = list(agent["callbacks"][place.hook])
        del callbacks[place.index]
        agent["callbacks"] = {**agent["callbacks"], place.hook: callbacks}
    tools = (each for each in agent.get("tools", ()) if each.get("agent"))
    for each in (*agent.get("sub_agents", ()), *(x["agent"] for x in tools)):
        _drop(each, place)


def _world(agent: dict[str, Any]) -> FlowScenario:
    return _read({"agent": agent, "turns": [{"text": "hi"}]})


def _read(raw: dict[str, Any]) -> FlowScenario:
    return FlowScenario.model_validate_json(json.dumps(raw))


def _says(text: str) -> list[dict[str, Any]]:
    return [{"op": "return", "text": text}]


def _clerk(hook: str, *callbacks: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return an agent that calls its tool once, with these callbacks."""
    script = [{"calls": [{"name": "f", "id": "c1"}]}, {"text": "ok"}]
    if "model" in hook:
        script = script[1:]
    return {
        "name": "a",
        "script": script,
        "tools": [] if "model" in hook else [{"name": "f"}],
        "callbacks": {hook: list(callbacks)},
        **more,
    }


_SECOND: Final = {"name": "b", "script": [{"text": "ok"}]}
_ASKS: Final = {
    "name": "root",
    "script": [
        {"calls": [{"name": "a", "args": {"request": "hi"}, "id": "c1"}]},
        {"text": "done"},
    ],
    "tools": [{"agent": _clerk("before_model", _says("guarded"))}],
}

SMALLEST: Final[Mapping[ChangeCause, PortWorld]] = MappingProxyType(
    {
        "scope": PortWorld(
            _world(
                {
                    "name": "both",
                    "kind": "sequential",
                    "sub_agents": [_clerk("before_model", _says("canned")), _SECOND],
                }
            ),
            CallbackPlace("a", "before_model"),
            "flow-safe",
        ),
        "order": PortWorld(
            _world(_clerk("before_model", _says("first"), _says("second"))),
            CallbackPlace("a", "before_model", 1),
            "flow-safe",
        ),
        "error_class": PortWorld(
            _world(_clerk("before_model", [{"op": "raise", "text": "no"}])),
            CallbackPlace("a", "before_model"),
            "adk-py-2",
        ),
        "lost_state": PortWorld(
            _world(
                _clerk("after_model", [{"op": "write_state", "key": "k", "value": 1}])
            ),
            CallbackPlace("a", "after_model"),
            "adk-py-1",
        ),
        "empty_mapping": PortWorld(
            _world(
                _clerk(
                    "before_tool",
                    [{"op": "return", "result": {}}],
                    [{"op": "return", "result": {"v": 1}}],
                )
            ),
            CallbackPlace("a", "before_tool"),
            "adk-py-1",
        ),
        "out_of_reach": PortWorld(
            _world(_ASKS), CallbackPlace("a", "before_model"), "adk-go-0.4"
        ),
    }
)
"""By the cause of the change; a test plays each and sees the difference."""


def outside(trace: Trace) -> Trace:
    """Return what of a trace is seen outside of hooks: these have another owner now."""
    return Trace(tuple(each for each in trace if not each.kind.startswith("hook_")))
