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

from refengine import agent, chain, extensions, loop, plan, tool_onion
from refengine.agent import Agent
from refengine.chain import Onion, Pipeline
from refengine.extensions import Extensions
from refengine.loop import Loop
from refengine.model_calls import Attempts, ModelRetry
from refengine.plan import Planner, ToolFold
from refengine.resume.journal import Journal, LiveEntry
from refengine.resume.keeper import KeptRun
from refengine.resume.passes import KeptPass
from refengine.run import Run
from refengine.shared_stream import SharedStream
from refengine.state.values import Types
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
        "extensions.hooks_of": EngineStep(extensions, "hooks_of"),
        "extensions.with_hook": EngineStep(Extensions, "with_hook"),
        "extensions.tool_layers": EngineStep(Extensions, "tool_layers"),
        "planner.plan": EngineStep(Planner, "plan"),
        "planner.enter": EngineStep(Planner, "enter"),
        "planner.instruction_with": EngineStep(plan, "instruction_with"),
        "planner.fold": EngineStep(ToolFold, "update"),
        "pipeline.rewrite": EngineStep(Pipeline, "rewrite"),
        "onion.compile": EngineStep(Onion, "compile"),
        "onion.is_deep": EngineStep(chain, "is_deep"),
        "loop.start": EngineStep(Loop, "start"),
        "loop.next_iteration": EngineStep(Loop, "next_iteration"),
        "loop.before_model": EngineStep(Loop, "before_model"),
        "loop.ask_model": EngineStep(Loop, "ask_model"),
        "loop.open_answer": EngineStep(Loop, "open_answer"),
        "loop.after_model": EngineStep(Loop, "after_model"),
        "loop.route": EngineStep(Loop, "route"),
        "loop.batch_of": EngineStep(Loop, "batch_of"),
        "loop.prepare_call": EngineStep(Loop, "prepare_call"),
        "loop.join_chunks": EngineStep(loop, "join_chunks"),
        "loop.settle": EngineStep(Loop, "settle"),
        "loop.leave": EngineStep(Loop, "leave"),
        "retry.after": EngineStep(ModelRetry, "after"),
        "attempts.broke": EngineStep(Attempts, "broke"),
        "attempts.reader": EngineStep(Attempts, "reader"),
        "tool.arrive": EngineStep(tool_onion, "arrive"),
        "tool.invoke": EngineStep(tool_onion, "invoke_tool"),
        "tool.stream": EngineStep(tool_onion, "stream_tool"),
        "call.open": EngineStep(ToolCallRun, "open"),
        "batch.next_event": EngineStep(CallBatch, "next_event"),
        "stream.reader": EngineStep(SharedStream, "reader"),
        "stream.drain": EngineStep(SharedStream, "drain"),
        "resume.begin": EngineStep(KeptRun, "begin"),
        "resume.run_phases": EngineStep(KeptRun, "run_phases"),
        "resume.rewrite": EngineStep(KeptPass, "rewrite"),
        "resume.recall": EngineStep(LiveEntry, "recall"),
        "resume.answered": EngineStep(Journal, "answered"),
        "resume.unpack": EngineStep(Types, "unpack"),
    }
)
"""All of them, from the building of an agent to the resuming of a run."""
