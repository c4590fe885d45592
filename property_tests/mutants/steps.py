"""The steps of the engine that mutants replace, by name, and no others.

Each is a public function or method of the engine with a sentence that says what it
does. A function that other modules import by name is replaced where it is used, so its
owner is the module that calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Final

from refengine import agent, tool_onion
from refengine.agent import Agent
from refengine.chain import Onion
from refengine.loop import Loop
from refengine.model_calls import Attempts
from refengine.plan import Planner, ToolFold
from refengine.run import Run
from refengine.tool_calls import CallBatch, ToolCallRun


@dataclass(frozen=True, slots=True)
class EngineStep:
    """Where the engine looks a step up: in a module or a class, under a name."""

    owner: ModuleType | type
    attribute: str


STEPS: Final[Mapping[str, EngineStep]] = MappingProxyType(
    {
        "agent.run": EngineStep(Agent, "run"),
        "run.events": EngineStep(Run, "events"),
        "extensions.collect": EngineStep(agent, "collect"),
        "planner.plan": EngineStep(Planner, "plan"),
        "planner.fold": EngineStep(ToolFold, "update"),
        "onion.compile": EngineStep(Onion, "compile"),
        "loop.start": EngineStep(Loop, "start"),
        "loop.before_model": EngineStep(Loop, "before_model"),
        "loop.batch_of": EngineStep(Loop, "batch_of"),
        "loop.prepare_call": EngineStep(Loop, "prepare_call"),
        "loop.settle": EngineStep(Loop, "settle"),
        "loop.leave": EngineStep(Loop, "leave"),
        "attempts.reader": EngineStep(Attempts, "reader"),
        "tool.arrive": EngineStep(tool_onion, "arrive"),
        "tool.invoke": EngineStep(tool_onion, "invoke_tool"),
        "tool.stream": EngineStep(tool_onion, "stream_tool"),
        "call.open": EngineStep(ToolCallRun, "open"),
        "batch.next_event": EngineStep(CallBatch, "next_event"),
    }
)
"""All of them, from the building of an agent to the resuming of a run."""
