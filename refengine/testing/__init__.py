"""Worlds for everybody's tests: scenarios, scripted models, traces, strategies.

Names are loaded when they are used. ``refengine.testing.strategies`` needs Hypothesis
(the extra ``testing``) and is imported by its own name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refengine.testing.clock import Ids as Ids
    from refengine.testing.clock import VirtualLoop as VirtualLoop
    from refengine.testing.clock import run as run
    from refengine.testing.doors import Engine as Engine
    from refengine.testing.doors import EngineAgent as EngineAgent
    from refengine.testing.doors import EngineRun as EngineRun
    from refengine.testing.doors import ReferenceEngine as ReferenceEngine
    from refengine.testing.doors import Thread as Thread
    from refengine.testing.notation import NotationError as NotationError
    from refengine.testing.notation import parse_message as parse_message
    from refengine.testing.notation import show_message as show_message
    from refengine.testing.ops import ToolSpec as ToolSpec
    from refengine.testing.recorder import Recorder as Recorder
    from refengine.testing.scenario import Scenario as Scenario
    from refengine.testing.scenario_files import ScenarioError as ScenarioError
    from refengine.testing.scenario_files import load_scenario as load_scenario
    from refengine.testing.scenario_files import parse_scenario as parse_scenario
    from refengine.testing.scenario_files import read_scenario as read_scenario
    from refengine.testing.scripted import RecordingTool as RecordingTool
    from refengine.testing.scripted import ScriptedError as ScriptedError
    from refengine.testing.scripted import ScriptedModel as ScriptedModel
    from refengine.testing.scripted import UnexpectedCallError as UnexpectedCallError
    from refengine.testing.scripted import UnplayedError as UnplayedError
    from refengine.testing.session import play as play
    from refengine.testing.subjects import Played as Played
    from refengine.testing.subjects import SubjectError as SubjectError
    from refengine.testing.subjects import intends as intends
    from refengine.testing.subjects import play_alone as play_alone
    from refengine.testing.subjects import play_subject as play_subject
    from refengine.testing.trace import Divergence as Divergence
    from refengine.testing.trace import Observation as Observation
    from refengine.testing.trace import Trace as Trace
    from refengine.testing.trace import first_divergence as first_divergence
    from refengine.testing.world import World as World

_HOMES = {
    "clock": ("Ids", "VirtualLoop", "run"),
    "doors": ("Engine", "EngineAgent", "EngineRun", "ReferenceEngine", "Thread"),
    "notation": ("NotationError", "parse_message", "show_message"),
    "ops": ("ToolSpec",),
    "recorder": ("Recorder",),
    "scenario": ("Scenario",),
    "scenario_files": (
        "ScenarioError",
        "load_scenario",
        "parse_scenario",
        "read_scenario",
    ),
    "scripted": (
        "RecordingTool",
        "ScriptedError",
        "ScriptedModel",
        "UnexpectedCallError",
        "UnplayedError",
    ),
    "session": ("play",),
    "subjects": ("Played", "SubjectError", "intends", "play_alone", "play_subject"),
    "trace": ("Divergence", "Observation", "Trace", "first_divergence"),
    "world": ("World",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Divergence",
    "Engine",
    "EngineAgent",
    "EngineRun",
    "Ids",
    "NotationError",
    "Observation",
    "Played",
    "Recorder",
    "RecordingTool",
    "ReferenceEngine",
    "Scenario",
    "ScenarioError",
    "ScriptedError",
    "ScriptedModel",
    "SubjectError",
    "Thread",
    "ToolSpec",
    "Trace",
    "UnexpectedCallError",
    "UnplayedError",
    "VirtualLoop",
    "World",
    "first_divergence",
    "intends",
    "load_scenario",
    "parse_message",
    "parse_scenario",
    "play",
    "play_alone",
    "play_subject",
    "read_scenario",
    "run",
    "show_message",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
