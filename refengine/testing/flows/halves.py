"""Playing half of a scenario: up to where a session is left, or on from there.

What an application knows of a run that it left is what it was told then, which is the
questions; all else the other process reads from the service that keeps sessions. A run
that failed is over: the next message to its session shows what is left of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from refengine.messages import Json
from refengine.testing.flows.events import (
    FlowCall,
    FlowQuestion,
    FlowResponse,
    StoredSession,
)
from refengine.testing.flows.session import FlowPlay, FlowStack
from refengine.testing.hand_over import (
    LeftSession,
    SessionHalf,
    calls_made,
    handed_over,
    types_in,
)
from refengine.testing.recorder import snapshot
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.world import World


class KeptStack(FlowStack, Protocol):
    """Agents of a framework whose sessions another process can go on with."""

    async def leave(self) -> Sequence[Json]:
        """Return what is kept of all sessions and is in no file."""
        ...

    async def bring(self, held: Sequence[Json]) -> None:
        """Keep that, unless it is there already; raises what the service refuses."""
        ...

    async def state(self, session: str) -> Mapping[str, object]:
        """Return the state of a session as it is kept, nothing if there is none."""
        ...


class HalfPlay(FlowPlay):
    """The first half of a scenario, or the second one with what was given."""

    def __init__(
        self, scenario: Scenario, world: World, stack: KeptStack, half: SessionHalf
    ) -> None:
        super().__init__(scenario, world, stack)
        self._keeper, self._half = stack, half
        self._open: Sequence[FlowQuestion] = ()
        self._refusal: Exception | None = None

    def _runs(self) -> Iterator[tuple[int, RunSpec]]:
        given = self._half.given
        if given is not None:
            self._world.stand(given.world)
            self._world.run = given.run - 1
            self._number = given.session["number"]
        for number, spec in super()._runs():
            if self._half.plays(number):
                yield number, spec

    async def _play(self, spec: RunSpec) -> None:
        given, run = self._half.given, self._world.recorder.run
        if given is None:
            await super()._play(spec)
            await self._left_behind(run)
        elif run > given.run:
            await super()._play(spec)
        else:
            await self._handed(spec, given)

    # The first half

    def _answers(self, asked: Sequence[FlowQuestion]) -> Sequence[FlowResponse]:
        if self._half.given or self._scenario.hand_over != "interrupted":
            return super()._answers(asked)
        self._open = asked
        return ()

    async def _left_behind(self, run: int) -> None:
        """Leave the session if the run has come to where it is handed over."""
        ended = self._world.recorder.last("run_end")
        status = None if ended is None else ended.data["status"]
        goes_on = any(e.continues for e in self._scenario.runs[run : run + 1])
        point = self._scenario.hand_over
        between = {"between turns": "completed", "failed": "error"}
        if self._open or (goes_on and point and between.get(point) == status):
            await self._leave(run)

    async def _leave(self, run: int) -> None:
        recorder = self._world.recorder
        try:
            state = await self._keeper.state(self._session)
            session: dict[str, Any] = {
                "number": self._number,
                "held": [*await self._keeper.leave()],
                "types": dict(types_in(state)),
                "open": [asdict(each) for each in self._open],
                "calls": recorder.last_calls,
                "ran": calls_made(recorder.trace(), run) if self._open else [],
            }
        except Exception as error:  # noqa: BLE001  # a service of anybody's
            self.refused = f"its session service cannot be read: {error}"
            return
        after = 0 if self._open else 1
        self._half.left = LeftSession(run + after, self._world.standing, session)

    # The second half

    async def _handed(self, spec: RunSpec, left: LeftSession) -> None:
        """Play the run that is begun or resumed here, with what the service has."""
        stored = StoredSession()
        state: Mapping[str, object] = {}
        try:
            await self._keeper.bring(left.session["held"])
            stored = await self._stored()
            state = await self._keeper.state(self._session)
        except Exception as error:  # noqa: BLE001  # as above
            self._refusal = error
        self._kept = len(stored.events)
        self._put_down(stored, state, left)
        if self._refusal is None and not left.session["open"]:
            await super()._play(spec)
            return
        self._world.recorder.earlier_calls = left.session["calls"]
        self._starts(spec, (), continues=True)
        await self._ended(self._resumed(spec, left))

    async def _resumed(self, spec: RunSpec, left: LeftSession) -> tuple[str, str]:
        """Answer what the run was left with; raises what it was refused with."""
        if self._refusal is not None:
            raise self._refusal
        answers = super()._answers([*map(_question, left.session["open"])])
        if not answers:
            return "interrupted", ""
        return await self._answered(spec, answers, {})

    async def _stored(self) -> StoredSession:
        """Return what is kept; of a session that was refused nothing can be read."""
        return StoredSession() if self._refusal else await super()._stored()

    def _put_down(
        self, stored: StoredSession, state: Mapping[str, object], left: LeftSession
    ) -> None:
        """Put down what a side has of a session that it was handed."""
        data = handed_over(
            left,
            messages=[said for each in stored.events for said in each.messages],
            values=snapshot(stored.state),
            types=dict(types_in(state)),
            pending=[each.call.json for each in _unanswered(stored)],
        )
        self._world.recorder.add("checkpoint", data)


def _question(told: Mapping[str, Any]) -> FlowQuestion:
    call = told["call"]
    return FlowQuestion(told["id"], told["name"], FlowCall(**call), told["hint"])


def _unanswered(stored: StoredSession) -> Sequence[FlowQuestion]:
    """Return the questions of a session that nobody has answered."""
    asked = {q.id: q for each in stored.events for q in each.questions}
    answered = {r.id for each in stored.events for r in each.responses}
    return [question for id_, question in asked.items() if id_ not in answered]
