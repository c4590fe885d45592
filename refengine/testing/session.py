"""Playing a scenario: its agents are built on an engine, its runs are played.

    trace = await play(scenario, ReferenceEngine(SEED_001))

The consumer's side of a run is observed here: events, outcomes, and whether what the
caller handed over is still as it was.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, Final, TypeAlias, cast

from refengine.agent import ChatModelAgentConfig
from refengine.errors import HookError, HookReturnError, RefengineError
from refengine.events import AgentEvent, Chunk, Notice
from refengine.messages import Json, Message, MessageChunk, join_chunks
from refengine.run import RunResult
from refengine.stream import StreamReader
from refengine.testing.engine import Engine, EngineAgent
from refengine.testing.notation import parse_message, show_chunk, show_message
from refengine.testing.ops import CallerOp
from refengine.testing.points import class_of, point_of
from refengine.testing.recorder import KEPT, Recorder
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.trace import Trace
from refengine.testing.world import World

MODEL_SECONDS: Final = 1.0
"""So long a model call takes in a subject's session, on its virtual clock."""

Dress: TypeAlias = Callable[[World, ChatModelAgentConfig], ChatModelAgentConfig]
"""Puts something of its own into the configuration of an agent, before it is built."""


class Session:
    """One scenario, played on one engine."""

    def __init__(
        self,
        scenario: Scenario,
        engine: Engine,
        dress: Dress | None = None,
        unnamed: AbstractSet[str] = frozenset(),
    ) -> None:
        """Play ``scenario`` on ``engine``; ``dress`` adds to its agents' configuration.

        Errors do not name the handlers in ``unnamed``, which may grow: names are the
        author's choice, and one who ports a handler may choose another.
        """
        self._scenario = scenario
        self._engine = engine
        self._dress = dress
        self._unnamed = unnamed
        self._recorder = Recorder()
        # Whoever dresses an agent may look at the clock, so it has to go on.
        seconds = 0.0 if dress is None else MODEL_SECONDS
        self._worlds = [
            World(spec, scenario, self._recorder, model_seconds=seconds)
            for spec in scenario.all_agents
        ]
        self._agents: list[EngineAgent] = []
        self._left: dict[int, Sequence[Message]] = {}

    async def play(self) -> Trace:
        """Build the agents, play the runs, return all that was seen."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come as notices, in their place
            if await self._build():
                self._caller(self._scenario.after_build, 0)
                for number, run in enumerate(self._scenario.runs, 1):
                    await self._run(run, number)
        for world in self._worlds:
            if world.misused is not None:
                raise world.misused
        return self._recorder.trace()

    async def _build(self) -> bool:
        for world in self._worlds:
            config = world.config()
            if self._dress is not None:
                config = self._dress(world, config)
            try:
                agent = await self._engine.build(config, self._notice)
            except Exception as error:  # noqa: BLE001  # what building raised is data
                self._recorder.add("build_error", self._failed(error))
                return False
            self._agents.append(agent)
            self._recorder.add("build", {})
        return True

    async def _run(self, spec: RunSpec, number: int) -> None:
        self._recorder.run = number
        world = self._worlds[spec.agent]
        world.run += 1
        earlier = self._left.get(spec.agent, ()) if spec.continues else ()
        given = [*earlier, *map(parse_message, spec.input)]
        before = copy.copy(given)
        turn = {"continues": True} if spec.continues else {}
        self._recorder.add("run_start", {"messages": given, **turn})
        agent = self._agents[spec.agent]
        options = {"options": spec.options} if spec.options else {}
        try:
            async with agent.run(given, stream=spec.streaming, **options) as run:
                async for event in run:
                    self._recorder.add("event", await self._seen(event), event.call_id)
            outcome = run.outcome
        except Exception as error:
            # A run tells its error as its last event. An engine that lets it out
            # instead is to be judged for it, and not to end the session.
            if self._dress is not None:
                raise
            self._recorder.add("run_end", self._broke_off(error))
            outcome = None
        if outcome is not None:
            self._left[spec.agent] = outcome.messages.without(outcome.first)
            data = {
                "status": outcome.status,
                "answer": outcome.answer,
                "messages": outcome.messages,
                "iterations": outcome.iterations,
            }
            self._recorder.add("run_end", data)
            key = world.output_key
            if key is not None and outcome.answer is not None and _succeeded(outcome):
                seen = {"name": KEPT, "data": {key: outcome.answer.content}}
                self._recorder.add("effect", seen)
        if given != before:
            self._recorder.add("caller_object_changed", {"path": "messages"})
        self._caller(spec.after, spec.agent)

    def _broke_off(self, error: Exception) -> dict[str, Any]:
        nothing = {"answer": None, "messages": (), "iterations": 0}
        return {"status": "raised", **nothing, **self._failed(error)}

    def _caller(self, todo: Sequence[CallerOp], agent: int) -> None:
        for op in todo:
            if op.op == "record_built":
                self._recorder.note({"at": "caller", "built": True})
            else:
                count = self._worlds[agent].factory_calls
                self._recorder.note({"at": "caller", "factory_calls": count})

    async def _seen(self, event: AgentEvent) -> dict[str, Any]:
        """Return what the consumer received; a stream is read to its end here."""
        seen: dict[str, Any] = {"kind": event.kind, "agent": event.run_path[-1]}
        if event.action is not None:
            seen["action"] = event.action
        if event.error is not None:
            return {**seen, **self._failed(event.error)}
        if event.stream is None:
            self._add_whole(seen, [event.message] if event.message else [])
            return {**seen, "message": event.message and show_message(event.message)}
        chunks, failure = await _read(event.stream)
        self._add_whole(seen, chunks)
        seen["stream"] = [_shown(chunk, event.call_id) for chunk in chunks]
        return seen if failure is None else {**seen, "stream_error": str(failure)}

    def _add_whole(
        self, seen: dict[str, Any], parts: Sequence[Chunk | Message]
    ) -> None:
        """Put down text and calls of a subject's event, however it was cut.

        The notation of messages cannot hold every text and id that a subject makes.
        """
        if self._dress is not None:
            seen["whole"] = whole(parts)

    def _failed(self, error: Exception) -> dict[str, Any]:
        point = point_of(error)
        if isinstance(error, (HookError, HookReturnError)):
            # Where a tool call failed, ``of`` is the tool, whatever a handler is named.
            of_tool = isinstance(error, HookError) and error.tool is not None
            if not of_tool and point.get("of") in self._unnamed:
                del point["of"]
            if point.get("by") in self._unnamed:
                del point["by"]
        return {"error": point, "class": class_of(error)}

    def _notice(self, notice: Notice) -> None:
        if notice.kind == "warning" and self._dress is not None:
            return  # of both lists, which whoever dresses an agent may have caused
        self._recorder.add(notice.kind, notice.data, notice.call_id)


async def play(scenario: Scenario, engine: Engine) -> Trace:
    """Play a scenario on an engine and return what was seen."""
    return await Session(scenario, engine).play()


def _succeeded(outcome: RunResult) -> bool:
    return outcome.status in {"completed", "returned_directly"}


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


def whole(parts: Sequence[Chunk | Message]) -> dict[str, Json]:
    """Return text and calls of a message, of its chunks, or of a tool's result."""
    if all(isinstance(part, MessageChunk) for part in parts) and parts:
        with suppress(RefengineError):
            parts = [join_chunks(cast("Sequence[MessageChunk]", parts))]
    texts = [part if isinstance(part, str) else part.content for part in parts]
    calls: list[Json] = [
        [call.id, call.name, call.arguments]
        for part in parts
        if isinstance(part, Message)
        for call in part.tool_calls
    ]
    return {"text": "".join(texts), "tool_calls": calls}


def _shown(chunk: Chunk, call_id: str | None) -> str:
    if isinstance(chunk, str):
        return show_message(Message("tool", chunk, tool_call_id=call_id))
    return show_chunk(chunk)
