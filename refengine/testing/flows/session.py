"""Playing a scenario with agents that keep sessions, as a caller of them would.

A run that continues is a further message to the same session; any other begins a new
one of the same user, so that state of the user and of the app is still there. What a
run's options name is the state of a session that begins, and for a further message the
state that comes with it. A run that waits for a confirmation is answered as the
scenario says, and goes on.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

from refengine.messages import Json, Message
from refengine.testing.clock import no_waiting, run_on
from refengine.testing.flows.consumer import FlowConsumer
from refengine.testing.flows.events import FlowQuestion, StoredSession
from refengine.testing.flows.person import FlowPerson
from refengine.testing.flows.stack import FlowRequest, FlowStack, Said
from refengine.testing.notation import parse_message
from refengine.testing.points import refusal
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.subjects import Played, SubjectError
from refengine.testing.tool_runs import point_of_scripted
from refengine.testing.world import World

CALLS: Final = 100
"""Model calls in one run, where a scenario does not say less."""
RESUMED: Final = 50
"""So often one run goes on after a question; one that asks for ever is none."""
TEMP: Final = "temp:"


class EndlessConfirmationError(RuntimeError):
    """A run was answered and answered, and asked again each time."""

    def __init__(self) -> None:
        super().__init__(
            f"the agent asked for a confirmation more than {RESUMED} times in one run;"
            " let it accept a yes or a no"
        )


class FlowPlay:
    """One scenario, played with one subject's agents."""

    def __init__(self, scenario: Scenario, world: World, stack: FlowStack) -> None:
        self._scenario = scenario
        self._world = world
        self._stack = stack
        self._person = FlowPerson(world)
        self._number = 0
        self._kept = 0
        self.refused: str | None = None
        """Why the framework refused what it was given, if it did."""

    def played(self, got: object, whose: str) -> Played:
        """Play the session on virtual time; raises SubjectError and EffectError.

        ``whose`` says what the subject returned in ``got``.
        """
        if len(self._scenario.all_agents) > 1:
            why = f"a world of several agents has no place for {whose}"
            raise SubjectError(got, why)
        run_on(self._world.clock, self.play())
        trace = self._world.recorder.trace()
        return Played(trace, self._stack.hooks, refused=self.refused)

    async def play(self) -> None:
        """Play the runs; the world's recorder has the trace. Raises EffectError."""
        with warnings.catch_warnings(), no_waiting(self._world.clock.sleep):
            warnings.simplefilter("ignore")  # of deprecation, which is not behaviour
            await self.play_elsewhere()

    async def play_elsewhere(self) -> None:
        """Play what runs in another process: nothing of this one waits or warns."""
        world = self._world
        world.recorder.add("build", {})
        for number, spec in enumerate(self._scenario.runs, 1):
            world.recorder.run = number
            world.run += 1
            await self._play(spec)
        await self._close()
        if world.misused is not None:
            raise world.misused

    async def _play(self, spec: RunSpec) -> None:
        recorder = self._world.recorder
        said = [parse_message(text) for text in spec.input]
        continues = spec.continues and self._number > 0
        given = [{"role": each.role, "content": each.content} for each in said]
        more = {"continues": True} if continues else {}
        recorder.add("run_start", {"messages": given, **more})
        calls = self._world.model.calls
        self._person.begins(frozenset(spec.denies), spec.replies)
        status, answer = "error", ""
        try:
            if not continues:
                await self._begin(spec)
            status, answer = await self._answered(spec, said, continues=continues)
        except Exception as error:  # noqa: BLE001  # how a run ends is data
            self._failed(error)
        await self._end(status, answer, self._world.model.calls - calls)

    async def _begin(self, spec: RunSpec) -> None:
        self._number += 1
        self._kept = 0
        kept = {k: v for k, v in spec.options.items() if not k.startswith(TEMP)}
        await self._stack.begin(self._session, kept)

    @property
    def _session(self) -> str:
        return f"session-{self._number}"

    async def _answered(
        self, spec: RunSpec, said: Sequence[Message], *, continues: bool
    ) -> tuple[str, str]:
        """Send the last message, and answers to questions; return status and answer."""
        for each in said[:-1]:
            await self._stack.remember(self._session, each)
        state = dict(spec.options) if continues else {}
        words: Said = said[-1].content if said else ""
        answer = ""
        for _ in range(RESUMED):
            calls = min(spec.steps or CALLS, CALLS)
            request = FlowRequest(self._session, words, state, spec.streaming, calls)
            answer, asked = await self._one(request)
            if not asked:
                return "completed", answer
            answers = self._person.answers(asked)
            if not answers:
                return "interrupted", answer
            words, state = answers, {}
        raise EndlessConfirmationError

    async def _one(self, request: FlowRequest) -> tuple[str, Sequence[FlowQuestion]]:
        """Play one call of the runner; return the last final text, and questions."""
        consumer = FlowConsumer(self._world.recorder)
        answer = ""
        asked: dict[str, FlowQuestion] = {}
        with consumer:
            async for event in self._stack.run(request):
                consumer.take(event)
                asked |= {each.id: each for each in event.questions}
                if event.final and event.text:
                    answer = event.text
        return answer, list(asked.values())

    def _failed(self, error: Exception) -> None:
        self.refused = self.refused or refusal(error, self._stack.answered)
        point = point_of_scripted(error)
        if point is None:
            of_ours = isinstance(error, self._stack.answered)
            point = "max_iterations" if of_ours else "run"
        entry: dict[str, Json] = {"point": point, "text": str(error)}
        causes: list[Json] = [*_causes(error)]
        if causes:
            entry["cause"] = causes
        data = {"kind": "error", "agent": "", "error": entry}
        self._world.recorder.add("event", {**data, "class": type(error).__name__})

    async def _end(self, status: str, answer: str, calls: int) -> None:
        stored = await self._stored()
        new = stored.events[self._kept :]
        self._kept = len(stored.events)
        data: dict[str, Any] = {
            "status": status,
            "answer": answer,
            "messages": [said for each in stored.events for said in each.messages],
            "iterations": calls,
            "stored": {
                "events": [each.kept for each in new],
                "state": stored.state,
                "artifacts": stored.artifacts,
            },
        }
        self._world.recorder.add("run_end", data)

    async def _stored(self) -> StoredSession:
        """Return what is kept; nothing where a run failed before its session began."""
        return await self._stack.stored(self._session)

    async def _close(self) -> None:
        try:
            await self._stack.close()
        except Exception as error:  # noqa: BLE001  # as where a run ends
            self._failed(error)


def _causes(error: BaseException) -> Sequence[str]:
    """Return the classes of what an exception was raised from, outermost first."""
    found: list[BaseException] = []
    inner = error.__cause__
    while inner is not None and inner not in found:
        found.append(inner)
        inner = inner.__cause__
    return [type(each).__name__ for each in found]
