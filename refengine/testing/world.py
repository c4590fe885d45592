"""The world: what surrounds the extensions of a scenario, and observes all of it.

    trace = await play(scenario, ReferenceEngine(SEED_001))

A world is played once. Model, tools and extensions put down what happens to them, so
neither an engine nor a door can report anything.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, Final

from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.events import AgentEvent, Chunk, Notice
from refengine.messages import Message
from refengine.middleware import AgentMiddleware, ChatModelAgentState
from refengine.run import RunResult
from refengine.stream import StreamReader
from refengine.testing.engine import Engine, EngineAgent
from refengine.testing.extensions import (
    WorldHandler,
    middleware_of,
    tool_middleware_of,
)
from refengine.testing.notation import parse_message, show_chunk, show_message
from refengine.testing.ops import CallerOp, ToolSpec
from refengine.testing.perform import Extension, perform_any
from refengine.testing.points import point_of
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import AgentSpec, RunSpec, Scenario
from refengine.testing.scripted import Body, RecordingTool, ScriptedModel
from refengine.testing.trace import Trace
from refengine.tools import Tool, ToolsConfig

KEPT: Final = "session_value"
"""The effect by which a caller keeps an answer under the agent's ``output_key``."""


class World:
    """The real objects of one agent of a scenario."""

    def __init__(self, spec: AgentSpec, scenario: Scenario, recorder: Recorder) -> None:
        self.recorder = recorder
        self.factory_calls = 0
        self.model = ScriptedModel(
            scenario.model_script, at_end=scenario.script_end, recorder=recorder
        )
        self._spec = spec
        self.output_key = spec.output_key
        self.run = 0
        self._state: ChatModelAgentState | None = None
        self._states = 0

    def config(self) -> ChatModelAgentConfig:
        """Return the configuration of the agent, with new objects in it."""
        spec = self._spec
        answer = spec.unknown_tools_handler
        tools = ToolsConfig(
            tools=[self.tool(tool) for tool in spec.tools],
            return_directly=dict(spec.return_directly),
            tool_call_middlewares=[
                tool_middleware_of(wrap, self) for wrap in spec.tool_call_middlewares
            ],
            unknown_tools_handler=(
                None
                if answer is None
                else lambda name, _: answer.replace("<name>", name)
            ),
            sequential=spec.sequential,
        )
        return ChatModelAgentConfig(
            name=spec.name,
            description="",
            model=self.model,
            instruction=spec.instruction,
            tools_config=tools,
            middlewares=self._middlewares(),
            handlers=self._handlers(),
            max_iterations=spec.max_iterations,
        )

    def tool(self, spec: ToolSpec) -> Tool:
        """Return a recording tool that does what the spec says."""
        return RecordingTool(spec, recorder=self.recorder, body=self._body(spec))

    def of_run(self, spec: ToolSpec) -> ToolSpec:
        """Return the spec with the number of the run where ``<run>`` stands."""
        changed = {
            "name": self.numbered(spec.name),
            "result": self.numbered(spec.result),
            "chunks": tuple(map(self.numbered, spec.chunks)),
        }
        return spec.model_copy(update=changed)

    def effect(self, name: str, data: object) -> None:
        """Put down what a subject did outside of the agent (contract §0)."""
        self.recorder.add("effect", {"name": name, "data": data})

    def numbered(self, text: str) -> str:
        """Put the number of the run where ``<run>`` stands."""
        return text.replace("<run>", str(max(self.run, 1)))

    def state_number(self, state: ChatModelAgentState) -> int:
        """Return which state object of struct middlewares this is, from 1.

        Objects follow one another, so remembering the last one is enough to tell.
        """
        if state is not self._state:
            self._state = state
            self._states += 1
        return self._states

    def _body(self, spec: ToolSpec) -> Body | None:
        if not spec.body:
            return None
        me = Extension(self, spec.name)

        async def body(ctx: Context) -> None:
            for op in me.due("tool_body", spec.body):
                ctx = perform_any(me, "tool_body", ctx, op)

        return body

    def _middlewares(self) -> list[AgentMiddleware]:
        return [
            middleware_of(spec, at, self)
            for at, spec in enumerate(self._spec.middlewares)
        ]

    def _handlers(self) -> list[WorldHandler]:
        made: list[WorldHandler] = []
        for at, spec in enumerate(self._spec.handlers):
            again = spec.same_as
            made.append(WorldHandler(spec, at, self) if again is None else made[again])
        return made


class Session:
    """One scenario, played on one engine."""

    def __init__(self, scenario: Scenario, engine: Engine) -> None:
        self._scenario = scenario
        self._engine = engine
        self._recorder = Recorder()
        self._worlds = [
            World(spec, scenario, self._recorder) for spec in scenario.all_agents
        ]
        self._agents: list[EngineAgent] = []

    async def play(self) -> Trace:
        """Build the agents, play the runs, return all that was seen."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come as notices, in their place
            if await self._build():
                self._caller(self._scenario.after_build, 0)
                for number, run in enumerate(self._scenario.runs, 1):
                    await self._run(run, number)
        return self._recorder.trace()

    async def _build(self) -> bool:
        for world in self._worlds:
            try:
                agent = await self._engine.build(world.config(), self._notice)
            except Exception as error:  # noqa: BLE001  # what building raised is data
                self._recorder.add("build_error", {"error": point_of(error)})
                return False
            self._agents.append(agent)
            self._recorder.add("build", {})
        return True

    async def _run(self, spec: RunSpec, number: int) -> None:
        self._recorder.run = number
        world = self._worlds[spec.agent]
        world.run += 1
        given = [parse_message(text) for text in spec.input]
        before = copy.copy(given)
        self._recorder.add("run_start", {"messages": given})
        agent = self._agents[spec.agent]
        async with agent.run(given, stream=spec.streaming) as run:
            async for event in run:
                self._recorder.add("event", await _seen(event), event.call_id)
        outcome = run.outcome
        if outcome is not None:
            data = {
                "status": outcome.status,
                "answer": outcome.answer,
                "messages": outcome.messages,
                "iterations": outcome.iterations,
            }
            self._recorder.add("run_end", data)
            key = world.output_key
            if key is not None and outcome.answer is not None and _succeeded(outcome):
                world.effect(KEPT, {key: outcome.answer.content})
        if given != before:
            self._recorder.add("caller_object_changed", {"path": "messages"})
        self._caller(spec.after, spec.agent)

    def _caller(self, todo: Sequence[CallerOp], agent: int) -> None:
        for op in todo:
            if op.op == "record_built":
                self._recorder.note({"at": "caller", "built": True})
            else:
                count = self._worlds[agent].factory_calls
                self._recorder.note({"at": "caller", "factory_calls": count})

    def _notice(self, notice: Notice) -> None:
        self._recorder.add(notice.kind, notice.data, notice.call_id)


async def play(scenario: Scenario, engine: Engine) -> Trace:
    """Play a scenario on an engine and return what was seen."""
    return await Session(scenario, engine).play()


def _succeeded(outcome: RunResult) -> bool:
    return outcome.status in {"completed", "returned_directly"}


async def _seen(event: AgentEvent) -> dict[str, Any]:
    """Return what the consumer received; a stream is read to its end here."""
    seen: dict[str, Any] = {"kind": event.kind, "agent": event.run_path[-1]}
    if event.action is not None:
        seen["action"] = event.action
    if event.error is not None:
        return {**seen, "error": point_of(event.error)}
    if event.stream is None:
        return {**seen, "message": event.message and show_message(event.message)}
    chunks, failure = await _read(event.stream)
    seen["stream"] = [_shown(chunk, event.call_id) for chunk in chunks]
    return seen if failure is None else {**seen, "stream_error": str(failure)}


async def _read(
    stream: StreamReader[Chunk],
) -> tuple[list[Chunk], Exception | None]:
    chunks: list[Chunk] = []
    try:
        async for chunk in stream:
            chunks.append(chunk)  # noqa: PERF401  # those before a failure count
    except Exception as error:  # noqa: BLE001  # what the consumer would have got
        return chunks, error
    return chunks, None


def _shown(chunk: Chunk, call_id: str | None) -> str:
    if isinstance(chunk, str):
        return show_message(Message("tool", chunk, tool_call_id=call_id))
    return show_chunk(chunk)
