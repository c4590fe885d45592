"""Playing a scenario: its agents are built on an engine, its runs are played.

    trace = await play(scenario, ReferenceEngine(SEED_001))

The consumer's side of a run is observed here: events, outcomes, and whether what the
caller handed over is still as it was.
"""

from __future__ import annotations

import asyncio
import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from operator import is_
from typing import Any, Final, TypeAlias, cast

from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.errors import HookError, HookReturnError, RefengineError, WillRetryError
from refengine.events import AgentEvent, Chunk, Notice
from refengine.interrupts import Interrupt, Pending
from refengine.messages import Json, Message, MessageChunk, join_chunks
from refengine.run import RunResult
from refengine.stream import StreamReader
from refengine.testing.doors import (
    Engine,
    EngineAgent,
    EngineRun,
    KeepingAgent,
    KeepsNothingError,
)
from refengine.testing.kept_runs import (
    address_parts,
    answers_of,
    as_recorded,
    keeper_for,
)
from refengine.testing.notation import parse_message, show_chunk, show_message
from refengine.testing.ops import CallerOp
from refengine.testing.own_failures import told
from refengine.testing.points import class_of, point_of
from refengine.testing.recorder import KEPT, Recorder, messages_seen
from refengine.testing.result_events import ReceivedEvent, unlike
from refengine.testing.scenario import AgentSpec, RunSpec, Scenario
from refengine.testing.trace import Trace
from refengine.testing.world import World

# What a caller hands to an engine, and whether it is still as it was


class GivenConfig:
    """Tools and flags of an agent, as they were when it was built."""

    def __init__(self, config: ChatModelAgentConfig) -> None:
        self.config = config
        self._tools = tuple(config.tools_config.tools)
        self._flags = dict(config.tools_config.return_directly)

    def changed(self) -> Iterator[str]:
        """Yield the paths of what is no longer as it was, each once."""
        now = self.config.tools_config
        tools, flags = now.tools, now.return_directly
        same = len(tools) == len(self._tools) and all(map(is_, tools, self._tools))
        if not same:
            self._tools = tuple(tools)
            yield "tools"
        if dict(flags) != self._flags:
            self._flags = dict(flags)
            yield "return_directly"


class GivenRun:
    """Messages and options of a run, as they were when it began."""

    def __init__(self, messages: Sequence[Message], options: Mapping[str, Any]) -> None:
        self.messages = messages
        self.options: dict[str, Any] = copy.deepcopy(dict(options))
        self._messages = tuple(messages)
        self._options = copy.deepcopy(self.options)

    def changed(self) -> Iterator[str]:
        """Yield the paths of what is no longer as it was."""
        if tuple(self.messages) != self._messages:
            yield "messages"
        if self.options != self._options:
            yield "options"


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
        *,
        rebuild: bool = False,
        leaves: int | None = None,
    ) -> None:
        """Play ``scenario`` on ``engine``; ``dress`` adds to its agents' configuration.

        Errors do not name the handlers in ``unnamed``, which may grow: names are the
        author's choice, and one who ports a handler may choose another. With
        ``rebuild`` an agent is built anew before it resumes a run. The consumer
        ``leaves`` each run behind so many events, and cancels nothing.
        """
        self._scenario = scenario
        self._engine = engine
        self._dress = dress
        self._unnamed = unnamed
        self._recorder = Recorder()
        # Whoever dresses an agent may look at the clock, so it has to go on.
        self._seconds = 0.0 if dress is None else MODEL_SECONDS
        self._rebuilds = rebuild
        self._leaves = leaves
        self._keeper = keeper_for(scenario, self._recorder)
        self._worlds = [self._world(spec) for spec in scenario.all_agents]
        self._agents: list[EngineAgent] = []
        self._given: list[GivenConfig] = []
        self._left: dict[int, Sequence[Message]] = {}
        self._outcome: RunResult | None = None
        self._early: dict[int, tuple[GivenRun, EngineRun]] = {}
        self._asked = 0.0
        self._reads: int | None = None
        self._pending: dict[str, Sequence[Pending]] = {}
        self._interrupts: Sequence[Pending] = ()
        self.moments: list[float] = []
        """The virtual seconds of its run at which the consumer got each event."""

    def _world(self, spec: AgentSpec) -> World:
        world = World(
            spec,
            self._scenario,
            self._recorder,
            model_seconds=self._seconds,
            keeper=self._keeper,
        )
        world.asks = self._ask_agent
        if self._dress is not None:
            # Whether equal names are refused is no matter of who stands beside them.
            world.name_handlers_apart()
        return world

    async def play(self) -> Trace:
        """Build the agents, play the runs, return all that was seen."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come as notices, in their place
            if await self._build():
                self._caller(self._scenario.after_build, 0)
                for number, run in enumerate(self._scenario.runs, 1):
                    if self._is_played(number):
                        await self._run(run, number)
        for world in self._worlds:
            if world.misused is not None:
                raise world.misused
        return self._recorder.trace()

    def _is_played(self, number: int) -> bool:
        """Tell whether a run is in the half of the session that is played here."""
        half = self._worlds[0].half
        return half is None or half.plays(number)

    async def _build(self) -> bool:
        for world in self._worlds:
            given = self._configured(world)
            agent = await self._built(given)
            if agent is None:
                return False
            self._agents.append(agent)
            self._given.append(given)
        return True

    async def _built(self, given: GivenConfig) -> EngineAgent | None:
        """Build an agent and put it down; None if it cannot be built."""
        try:
            agent = await self._engine.build(given.config, self._notice)
        except Exception as error:  # noqa: BLE001  # what building raised is data
            self._recorder.add("build_error", self._failed(error))
            return None
        self._recorder.add("build", {})
        self._look_at(given)
        return agent

    def _configured(self, world: World) -> GivenConfig:
        config = world.config()
        if self._dress is not None:
            config = self._dress(world, config)
        return GivenConfig(config)

    def _look_at(self, *given: GivenConfig | GivenRun) -> None:
        """Put down what the caller handed over and finds changed."""
        for path in (path for each in given for path in each.changed()):
            self._recorder.add("caller_object_changed", {"path": path})

    async def _run(self, spec: RunSpec, number: int) -> None:
        self._recorder.run = number
        self._worlds[spec.agent].run += 1
        anew = spec.resume is not None and (self._rebuilds or spec.rebuild)
        if anew and not await self._rebuild(spec.agent):
            return
        world = self._worlds[spec.agent]
        given, run = self._early.pop(number, None) or (self._given_of(spec), None)
        turn: dict[str, Json] = {"continues": True} if spec.continues else {}
        if spec.resume is not None:
            turn = {"resume": spec.resume}
        seen = messages_seen(given.messages)
        self._recorder.add("run_start", {"messages": seen, **turn})
        self._outcome, self._interrupts, self._reads = None, (), spec.reads
        try:
            run = run or self._started(spec, given)
            self._make_early(number + 1)
            await self._consumed(spec, run)
            outcome = self._outcome
        except KeepsNothingError as error:
            self._refused(error)
            outcome = None
        except (Exception, Interrupt) as error:
            # A run tells its error as its last event. An engine that lets it out
            # instead is to be judged for it, and not to end the session.
            if self._dress is not None:
                raise
            self._recorder.add("run_end", self._broke_off(error))
            outcome = None
        if outcome is not None:
            self._ended(spec, world, outcome)
        self._look_at(given, self._given[spec.agent])
        self._caller(spec.after, spec.agent)

    def _given_of(self, spec: RunSpec) -> GivenRun:
        earlier = self._left.get(spec.agent, ()) if spec.continues else ()
        return GivenRun([*earlier, *map(parse_message, spec.input)], spec.options)

    def _make_early(self, number: int) -> None:
        """Make the run of that number, if it is to be there before the last is read."""
        for spec in self._scenario.runs[number - 1 : number]:
            if spec.early:
                given = self._given_of(spec)
                self._early[number] = given, self._started(spec, given)

    async def _consumed(self, spec: RunSpec, run: EngineRun) -> None:
        """Read the events of a run to its end, or until it is cancelled as asked."""
        if spec.cancel is None:
            await self._consume(run)
            return
        playing = asyncio.ensure_future(self._consume(run))
        self._recorder.cancel_at(spec.cancel.when, spec.cancel.nth, playing.cancel)
        try:
            await playing
        except asyncio.CancelledError:
            if not self._recorder.cancelled:
                raise  # who plays the session was cancelled
        finally:
            cancelled = self._recorder.cancelled
            self._recorder.never_cancel()
        if cancelled:
            status = None if self._outcome is None else self._outcome.status
            entry = {"at": "cancel", "contributed": status == "cancelled"}
            self._recorder.note(entry)

    def _started(self, spec: RunSpec, given: GivenRun) -> EngineRun:
        agent = self._agents[spec.agent]
        options: dict[str, Any] = {"options": given.options} if spec.options else {}
        if "context" in spec.doors:
            options["ctx"] = Context(spec.doors["context"])
        if spec.resume is None and spec.checkpoint is None:
            return agent.run(given.messages, stream=spec.streaming, **options)
        if not hasattr(agent, "resume"):
            raise KeepsNothingError(self._engine.name)
        keeping = cast("KeepingAgent", agent)
        if spec.resume is None:
            key = spec.checkpoint
            messages = given.messages
            return keeping.run(messages, spec.streaming, checkpoint=key, **options)
        answers = answers_of(spec, self._pending.get(spec.resume, ()))
        entry = {"checkpoint": spec.resume, "answers": answers}
        self._recorder.add("resume", entry)
        return keeping.resume(spec.resume, answers, **options)

    async def _ask_agent(self, number: int, ctx: Context) -> str:
        """Run an agent inside a tool of another one; put down where its events are."""
        agent = cast("Any", self._agents[number])  # one that is given contexts
        async with agent.run([Message("user", "go")], ctx=ctx) as run:
            async for event in run:
                path = list(event.run_path)
                self._recorder.note({"at": "inner", "path": path}, event.call_id)
        answer = run.outcome.answer
        return "" if answer is None else str(answer.content)

    async def _consume(self, started: EngineRun) -> None:
        run = started
        received: list[ReceivedEvent] = []
        self._recorder.time_run()
        self._asked = 0.0
        try:
            async with started as run:
                async for event in run:
                    await self._received(event, received)
                    if len(received) == self._leaves:
                        break
                    self._asked = self._recorder.now()
        finally:
            self._outcome = run.outcome
            self._compare_events(received, run)

    def _compare_events(
        self, received: Sequence[ReceivedEvent], run: EngineRun
    ) -> None:
        """Put down where the result's events are not those that came (EVT-014)."""
        if run.outcome is None:
            return
        found = unlike(received, run.outcome.events)
        if found is not None:
            self._recorder.add("result_events", found)

    async def _received(self, event: AgentEvent, received: list[ReceivedEvent]) -> None:
        for each in event.interrupts:
            parts = address_parts(each.address)
            seen = {"address": parts, "payload": each.payload}
            self._recorder.add("interrupt", seen, each.address.call_id)
        self.moments.append(self._recorder.time())
        received.append(ReceivedEvent(event))
        seen = await self._seen(event, received)
        self._recorder.add("event", seen, event.call_id)
        if self._recorder.cancelled:
            await self._recorder.breathe()

    def _ended(self, spec: RunSpec, world: World, outcome: RunResult) -> None:
        key = spec.resume or spec.checkpoint
        self._interrupts = outcome.interrupts
        if key is not None:
            self._pending[key] = outcome.interrupts
        self._left[spec.agent] = outcome.messages.without(outcome.first)
        data = {
            "status": outcome.status,
            "answer": outcome.answer,
            "messages": messages_seen(outcome.messages),
            "iterations": outcome.iterations,
        }
        self._recorder.add("run_end", data)
        name = world.output_key
        if name is not None and outcome.answer is not None and _succeeded(outcome):
            seen = {"name": KEPT, "data": {name: outcome.answer.content}}
            self._recorder.add("effect", seen)

    async def _rebuild(self, at: int) -> bool:
        """Build an agent anew from new objects, as another process would."""
        world = self._world(self._scenario.all_agents[at])
        world.goes_on_from(self._worlds[at])
        self._worlds[at] = world
        given = self._configured(world)
        agent = await self._built(given)
        if agent is None:
            return False
        self._agents[at], self._given[at] = agent, given
        return True

    def _refused(self, error: KeepsNothingError) -> None:
        """Put down that a run could not begin, as an engine does that refuses it."""
        entry = {"kind": "error", "agent": "", **self._failed(error)}
        self._recorder.add("event", entry)
        nothing = {"answer": None, "messages": (), "iterations": 0}
        self._recorder.add("run_end", {"status": "error", **nothing})

    def _broke_off(self, error: BaseException) -> dict[str, Any]:
        nothing = {"answer": None, "messages": (), "iterations": 0}
        return {"status": "raised", **nothing, **self._failed(error)}

    def _caller(self, todo: Sequence[CallerOp], agent: int) -> None:
        for op in todo:
            if op.op == "record_built":
                self._recorder.note({"at": "caller", "built": True})
            elif op.op == "record_interrupts":
                for each in self._interrupts:
                    self._recorder.note(as_recorded(each))
            else:
                count = self._worlds[agent].factory_calls
                self._recorder.note({"at": "caller", "factory_calls": count})

    async def _seen(
        self, event: AgentEvent, received: list[ReceivedEvent]
    ) -> dict[str, Any]:
        """Return what the consumer received; a stream is read to its end here."""
        seen: dict[str, Any] = {"kind": event.kind, "agent": event.run_path[-1]}
        if event.action is not None:
            seen["action"] = event.action
        if event.error is not None:
            return {**seen, **self._failed(event.error)}
        if event.kind == "interrupt":
            return {**seen, "payloads": [each.payload for each in event.interrupts]}
        if event.stream is None:
            self._add_whole(seen, [event.message] if event.message else [])
            return {**seen, "message": event.message and show_message(event.message)}
        times: list[float] = []
        came = self._recorder.now()
        now, most = self._recorder.now, self._reads
        chunks, failure = await _read(event.stream, now, times, most)
        if self._recorder.timed:
            seen["times"] = [self._asked, came, *times]
        read = tuple(chunks) if failure is None and most is None else None
        received[-1] = ReceivedEvent(event, read, broke=failure is not None)
        self._add_whole(seen, chunks)
        seen["stream"] = [_shown(chunk, event.call_id) for chunk in chunks]
        if failure is None:
            return seen
        again = {"will_retry": True} if isinstance(failure, WillRetryError) else {}
        return {**seen, "stream_error": str(failure), **again}

    def _add_whole(
        self, seen: dict[str, Any], parts: Sequence[Chunk | Message]
    ) -> None:
        """Put down text and calls of a subject's event, however it was cut.

        The notation of messages cannot hold every text and id that a subject makes.
        """
        if self._dress is not None:
            seen["whole"] = whole(parts)

    def _failed(self, error: BaseException) -> dict[str, Any]:
        point = point_of(error)
        if isinstance(error, (HookError, HookReturnError)):
            # Where a tool call failed, ``of`` is the tool, whatever a handler is named.
            of_tool = isinstance(error, HookError) and error.tool is not None
            if not of_tool and point.get("of") in self._unnamed:
                del point["of"]
            if point.get("by") in self._unnamed:
                del point["by"]
        broke = _place(error) if self._dress is None else told(error)
        return {"error": point, "class": class_of(error), **broke}

    def _notice(self, notice: Notice) -> None:
        if notice.kind == "warning" and self._dress is not None:
            return  # of both lists, which whoever dresses an agent may have caused
        self._recorder.add(notice.kind, notice.data, notice.call_id)


async def play(
    scenario: Scenario,
    engine: Engine,
    *,
    rebuild: bool = False,
    leaves: int | None = None,
) -> Trace:
    """Play a scenario on an engine and return what was seen.

    With ``rebuild`` agents are built anew before they resume a run. The consumer
    ``leaves`` each run behind so many events, None for never.
    """
    return await Session(scenario, engine, rebuild=rebuild, leaves=leaves).play()


def _place(error: BaseException) -> dict[str, Json]:
    """Return where in the list the handler stands whose hook an error is of."""
    return {"position": error.position} if isinstance(error, HookError) else {}


def _succeeded(outcome: RunResult) -> bool:
    return outcome.status in {"completed", "returned_directly"}


async def _read(
    stream: StreamReader[Chunk],
    now: Callable[[], float],
    times: list[float],
    most: int | None = None,
) -> tuple[list[Chunk], Exception | None]:
    """Read so many chunks of a stream, or all; put down when each came."""
    chunks: list[Chunk] = []
    try:
        async for chunk in stream:
            chunks.append(chunk)
            times.append(now())
            if len(chunks) == most:
                await stream.aclose()
                break
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
