"""Playing a scenario with agents that keep sessions, as a caller of them would.

A run that continues is a further message to the same session; any other begins a new
one of the same user, so that state of the user and of the app is still there. What a
run's options name is the state of a session that begins, and for a further message the
state that comes with it. A run that waits for a confirmation is answered as the
scenario says, and goes on.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from refengine.messages import Json, Message
from refengine.testing.clock import no_waiting, run_on
from refengine.testing.flows.events import (
    FlowEvent,
    FlowQuestion,
    FlowResponse,
    Said,
    StoredSession,
    known,
)
from refengine.testing.notation import in_one_part, parse_message
from refengine.testing.own_failures import told, unwrapped
from refengine.testing.person import APPROVAL, RepliesInTurn
from refengine.testing.points import refusal
from refengine.testing.recorder import Recorder, snapshot
from refengine.testing.scenario import RunSpec, Scenario
from refengine.testing.subjects import Played, SubjectError
from refengine.testing.tool_runs import calling, point_of_scripted
from refengine.testing.world import World

CALLS: Final = 100
"""Model calls in one run, where a scenario does not say less."""
RESUMED: Final = 50
"""So often one run goes on after a question; one that asks for ever is none."""
TEMP: Final = "temp:"


@dataclass(frozen=True, slots=True)
class FlowRequest:
    """One message of the user: to which session, with which state, and how to answer.

    ``calls`` is how many model calls a run may make.
    """

    session: str
    said: Said
    state: Mapping[str, Json]
    streaming: bool
    calls: int


class FlowStack(Protocol):
    """Agents and services of one framework, ready to be played."""

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each hook of the subject ran; those that never did are there."""
        ...

    @property
    def answered(self) -> tuple[type[BaseException], ...]:
        """Errors of the framework that say something of what a subject did."""
        ...

    async def begin(self, session: str, state: Mapping[str, Json]) -> None:
        """Create a session with this state."""
        ...

    async def remember(self, session: str, message: Message) -> None:
        """Put a message into a session that was said before it was played."""
        ...

    def run(self, request: FlowRequest) -> AsyncIterator[FlowEvent]:
        """Answer a message; an exception ends the run."""
        ...

    async def stored(self, session: str) -> StoredSession:
        """Return what is kept of a session."""
        ...

    async def close(self) -> None:
        """Let plugins and toolsets end; an exception is one of theirs."""
        ...


class FlowPerson(RepliesInTurn):
    """Answers confirmations: denied calls with no, others as the replies say in turn.

    A reply that is not a plain yes or no confirms with its value as the payload.
    """

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def answers(self, asked: Sequence[FlowQuestion]) -> Sequence[FlowResponse]:
        """Return the answers to these questions; none of those that stay open."""
        found = [(each, self._answer(each)) for each in asked]
        return [
            FlowResponse(question.id, question.name, answer)
            for question, answer in found
            if answer is not None
        ]

    def _answer(self, question: FlowQuestion) -> dict[str, Json] | None:
        reply = self.next_reply()
        call = question.call
        kind = "no" if call.id in self.denied else reply.kind
        confirmed = kind not in {"no", "nothing"}
        told: dict[str, Json] = {
            "name": call.name,
            "args": snapshot(call.args),
            "hint": question.hint,
            "approved": confirmed,
        }
        with calling(known(call.id)):
            self._world.effect(APPROVAL, told)
        if kind == "nothing":
            return None
        answer: dict[str, Json] = {"confirmed": confirmed}
        if kind in {"edited", "fewer", "text"}:
            answer["payload"] = reply.value
        return answer


class FlowConsumer:
    """Joins partial events to the one that ends them, and puts each event down.

    ``with`` it: pieces that nothing ended are put down at the end.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._pieces: list[FlowEvent] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._cut_off(failed=kind is not None)

    def take(self, event: FlowEvent) -> None:
        """Take the next event."""
        if self._pieces and self._pieces[-1].author != event.author:
            self._cut_off(failed=False)
        if event.partial:
            self._pieces.append(event)
            return
        streamed = event.kind == "model"
        pieces, self._pieces = (self._pieces if streamed else []), []
        self._put_down(event, pieces)

    def _cut_off(self, *, failed: bool) -> None:
        """Put down pieces that no whole event followed."""
        pieces, self._pieces = self._pieces, []
        if pieces:
            self._put_down(FlowEvent(author=pieces[0].author), pieces, failed=failed)

    def _put_down(
        self, event: FlowEvent, pieces: list[FlowEvent], *, failed: bool = False
    ) -> None:
        calls: list[Json] = [
            [each["id"], each["name"], each["arguments"]]
            for each in (call.json for call in event.calls)
        ]
        whole: dict[str, Json] = {"text": event.text, "tool_calls": calls}
        if event.responses:
            whole["responses"] = [
                [known(each.id), each.name, snapshot(each.response)]
                for each in event.responses
            ]
        data: dict[str, Any] = {
            "kind": "model" if pieces else event.kind,
            "agent": "",
            "author": event.author,
            "whole": whole,
            "actions": snapshot(event.actions),
            "more": snapshot(event.more),
        }
        if pieces:
            whole["streamed"] = "".join(each.text for each in pieces)
            data["stream"] = [each.text for each in pieces if each.text]
        if failed:
            data["stream_error"] = "cut off"
        self._recorder.add("event", data)


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
        self._classes: dict[str, str] = {}
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
        for number, spec in self._runs():
            world.recorder.run = number
            world.run += 1
            await self._play(spec)
        await self._close()
        if world.misused is not None:
            raise world.misused

    def _runs(self) -> Iterator[tuple[int, RunSpec]]:
        """Yield the runs that are played here, each with its number."""
        return enumerate(self._scenario.runs, 1)

    async def _play(self, spec: RunSpec) -> None:
        said = [parse_message(text) for text in spec.input]
        continues = spec.continues and self._number > 0
        self._starts(spec, said, continues=continues)
        await self._ended(self._asked(spec, said, continues=continues))

    def _starts(
        self, spec: RunSpec, said: Sequence[Message], *, continues: bool
    ) -> None:
        given = [
            {"role": each.role, "content": in_one_part(each.content)} for each in said
        ]
        more = {"continues": True} if continues else {}
        self._world.recorder.add("run_start", {"messages": given, **more})
        self._person.begins(frozenset(spec.denies), spec.replies)
        self._classes.clear()

    async def _ended(self, run: Awaitable[tuple[str, str]]) -> None:
        """Wait for a run, which returns its status and answer; put down its end."""
        calls = self._world.model.calls
        status, answer = "error", ""
        try:
            status, answer = await run
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

    async def _asked(
        self, spec: RunSpec, said: Sequence[Message], *, continues: bool
    ) -> tuple[str, str]:
        """Send the last message, to a new session unless it ``continues`` one."""
        if not continues:
            await self._begin(spec)
        for each in said[:-1]:
            await self._stack.remember(self._session, each)
        state = dict(spec.options) if continues else {}
        return await self._answered(spec, said[-1].content if said else "", state)

    async def _answered(
        self, spec: RunSpec, words: Said, state: Mapping[str, Json]
    ) -> tuple[str, str]:
        """Send this, and then answers to questions; return status and answer."""
        answer = ""
        for _ in range(RESUMED):
            calls = min(spec.steps or CALLS, CALLS)
            request = FlowRequest(self._session, words, state, spec.streaming, calls)
            answer, asked = await self._one(request)
            if not asked:
                return "completed", answer
            answers = self._answers(asked)
            if not answers:
                return "interrupted", answer
            words, state = answers, {}
        raise EndlessConfirmationError

    def _answers(self, asked: Sequence[FlowQuestion]) -> Sequence[FlowResponse]:
        return self._person.answers(asked)

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
        first, around = unwrapped(error)
        entry: dict[str, Json] = {"point": point, "text": str(error)}
        causes: list[Json] = [*_causes(first)]
        if causes:
            entry["cause"] = causes
        if around:
            entry["around"] = [*around]
            self._classes[around[0]] = type(first).__name__
            for each in self._world.recorder.trace().of("event"):
                if each.run == self._world.recorder.run:
                    self._unwrap(each.data)
        data = {"kind": "error", "agent": "", "error": entry, **told(error)}
        self._world.recorder.add("event", {**data, "class": type(first).__name__})

    def _unwrap(self, event: Mapping[str, Any]) -> None:
        """Have an event that announces an error name the class within its wrapping."""
        more = event.get("more")
        if more and more.get("error_code") in self._classes:
            more["error_code"] = self._classes[more["error_code"]]

    async def _end(self, status: str, answer: str, calls: int) -> None:
        stored = await self._stored()
        new = [each.kept for each in stored.events[self._kept :]]
        self._kept = len(stored.events)
        for each in new:
            self._unwrap(each)
        data: dict[str, Any] = {
            "status": status,
            "answer": answer,
            "messages": [said for each in stored.events for said in each.messages],
            "iterations": calls,
            "stored": {
                "events": new,
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
