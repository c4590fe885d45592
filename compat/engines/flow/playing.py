"""Playing a Flow scenario: a door opens it, its turns are played, all is observed.

    trace = play_flow(scenario, FlowDialect("flow-safe"))

The consumer's side is observed here: events as they come, how each run ended, and what
is kept after it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from typing import Final, cast

from compat.dialects.flow.confirming import ORIGINAL
from compat.dialects.flow.content import Content, FunctionResponse, Part
from compat.dialects.flow.contents import CONFIRMATION
from compat.dialects.flow.events import Event, Events
from compat.dialects.flow.runner import error_code
from compat.engines.flow.doors import FlowEngine, FlowRunner, OpenedWorld, refuse_flow
from compat.engines.flow.observing import seen, seen_error
from compat.engines.flow.scenario import (
    ALL,
    FlowAnsweredSpec,
    FlowLateSpec,
    FlowScenario,
    FlowTurnSpec,
)
from compat.engines.flow.world import FlowWorld
from refengine.errors import ConfigurationError
from refengine.testing.clock import run
from refengine.testing.trace import Trace

NOTHING_WAITS: Final = "nothing of {of} waits"
"""What a user says who was to answer something that nobody asked."""


def play_flow(scenario: FlowScenario, engine: FlowEngine) -> Trace:
    """Play a scenario on virtual time, and return all that was seen."""
    return run(FlowSession(scenario, engine).play())


class FlowSession:
    """One scenario, played on one engine."""

    def __init__(self, scenario: FlowScenario, engine: FlowEngine) -> None:
        self._scenario, self._engine = scenario, engine
        self._world = FlowWorld(scenario)
        self._recorder = self._world.notes.recorder
        self._waiting = _Waiting()

    async def play(self) -> Trace:
        """Build the agents, play the turns, return all that was seen."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what an engine advises is not behaviour
            opened = await self._opened()
            runner = None if opened is None else self._runner(opened)
            for number, turn in enumerate(self._scenario.turns, 1):
                if opened is None or runner is None:
                    break
                self._recorder.run = number
                if turn.fresh:
                    runner = self._runner(opened)
                if runner is not None:
                    await self._turn(runner, turn)
                    await self._look(opened, turn.session)
        return self._recorder.trace()

    async def _opened(self) -> OpenedWorld | None:
        try:
            refuse_flow(self._engine, self._scenario)
        except ConfigurationError as error:
            self._cannot_build(error)
            return None
        opened = self._engine.open(self._world)
        for name, session in self._scenario.sessions.items():
            given = session.model_copy(deep=True)
            await opened.create(given.user, name, given.state, given.artifacts)
        return opened

    def _runner(self, opened: OpenedWorld) -> FlowRunner | None:
        """Build a runner and put it down; None if it cannot be built."""
        try:
            runner = opened.runner()
        except Exception as error:  # noqa: BLE001  # what building raised is data
            self._cannot_build(error)
            return None
        self._recorder.add("build", {})
        return runner

    def _cannot_build(self, error: Exception) -> None:
        name = type(error).__name__
        told = {"class": name, "error": str(error), "kind": error_code(error)}
        self._recorder.add("build_error", told)

    async def _turn(self, runner: FlowRunner, turn: FlowTurnSpec) -> None:
        content = self._waiting.message(turn)
        start = {"session": turn.session, "stream": turn.stream, "fresh": turn.fresh}
        self._recorder.add("run_start", {**start, "content": seen(content)})
        user = self._scenario.sessions[turn.session].user
        end: dict[str, object] = {}
        try:
            events = runner.run(user, turn.session, content, stream=turn.stream)
            end["left"] = await self._consumed(events, turn)
        except Exception as error:  # noqa: BLE001  # what a run raised is data
            end["error"] = seen_error(error)
        self._recorder.add("run_end", end)

    async def _consumed(self, events: Events, turn: FlowTurnSpec) -> bool:
        """Take the events; tell whether the consumer left before their end."""
        taken = 0
        async with aclosing(events) as told:
            async for event in told:
                self._recorder.add("event", {"event": seen(event)})
                self._waiting.saw(turn.session, event)
                taken += 1
                if taken == turn.leave_after:
                    return True
        return False

    async def _look(self, opened: OpenedWorld, session: str) -> None:
        """Put down what is kept of a session."""
        kept = await opened.kept(self._scenario.sessions[session].user, session)
        data = {
            "session": session,
            "events": [seen(each) for each in kept.events],
            "state": dict(sorted(kept.state.items())),
            "artifacts": {
                name: kept.artifacts[name] for name in sorted(kept.artifacts)
            },
        }
        self._recorder.add("checkpoint", data)


class _Waiting:
    """What the user of each session was asked, and which results are to come."""

    def __init__(self) -> None:
        self._asked: dict[str, dict[str, str]] = {}
        self._late: dict[str, dict[str, str]] = {}

    def saw(self, session: str, event: Event) -> None:
        """Take notice of questions, and of calls whose results come later."""
        for call in event.calls:
            if call.id not in event.long_running_ids:
                continue
            if call.name == CONFIRMATION:
                original = cast("Mapping[str, str]", call.args.get(ORIGINAL) or {})
                asked = self._asked.setdefault(session, {})
                asked[call.id] = original.get("name", "")
            else:
                self._late.setdefault(session, {})[call.name] = call.id

    def message(self, turn: FlowTurnSpec) -> Content:
        """Return the message of a turn, its answers among its parts."""
        parts = list(turn.said.parts) if turn.said else []
        for answer in turn.confirms:
            parts.extend(self._confirmed(turn.session, answer))
        parts.extend(self._result(turn.session, each) for each in turn.late)
        return Content("user", tuple(parts))

    def _confirmed(self, session: str, answer: FlowAnsweredSpec) -> Iterator[Part]:
        asked = self._asked.get(session, {})
        ids = [key for key, tool in asked.items() if answer.of in {tool, ALL}]
        if answer.of != ALL:
            ids = ids[-1:]
        said = {"confirmed": answer.confirmed, "payload": answer.payload}
        told = {"response": json.dumps(said)} if answer.wrapped else said
        for each in ids:
            if answer.of == ALL:
                del asked[each]
            yield Part(response=FunctionResponse(CONFIRMATION, told, each))
        if not ids:
            yield Part(text=NOTHING_WAITS.format(of=answer.of))

    def _result(self, session: str, late: FlowLateSpec) -> Part:
        found = self._late.get(session, {}).get(late.of)
        if found is None:
            return Part(text=NOTHING_WAITS.format(of=late.of))
        return Part(response=FunctionResponse(late.of, late.result, found))
