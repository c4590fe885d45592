"""The person whom a subject asks: runs it interrupts are answered, and go on.

A subject's session is played without keeping anything, which is fast. If one of its
runs is interrupted all the same, it is played again from the start with checkpoints:
each resume then goes by what was read from bytes. What is asked and answered belongs to
the run that asked it. Runs that the scenario itself keeps or resumes are answered by
the scenario alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, cast

from refengine.agent import ChatModelAgentConfig
from refengine.testing.doors import Engine
from refengine.testing.hand_over import (
    LeftSession,
    as_bytes,
    as_text,
    calls_made,
    handed_over,
)
from refengine.testing.kept_runs import RecordingKeeper
from refengine.testing.scenario import ReplySpec

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from refengine.events import AgentEvent
    from refengine.interrupts import Pending
    from refengine.messages import Json, Message
    from refengine.plan import OnNotice
    from refengine.resume.checkpoint import Keeper
    from refengine.run import RunResult
    from refengine.state import CheckpointStore
    from refengine.state.values import Types
    from refengine.testing.doors import EngineAgent, EngineRun
    from refengine.testing.recorder import Recorder
    from refengine.testing.scenario import RunSpec, Scenario
    from refengine.testing.world import World

ANSWERED: Final = 50
"""So often one run is answered, as of graphs; one that goes on asking is none."""
AGAIN: Final = frozenset(("ctx", "options"))
"""What is given to a run, and not kept of it."""


APPROVAL: Final = "approval"
"""The effect under which each call that a person was asked about is put down."""
SHOWN: Final = "shown"
"""Its key of a question in a form of the subject's own, which its application reads."""


class RepliesInTurn:
    """Which calls a run denies, and what its questions are answered, one by one."""

    def __init__(self) -> None:
        self.denied: Collection[str] = ()
        self.replies: Sequence[ReplySpec] = ()
        self.asked: int = 0

    def begins(self, denied: Collection[str], replies: Sequence[ReplySpec]) -> None:
        """Begin another run."""
        self.denied, self.replies, self.asked = denied, replies, 0

    def next_reply(self) -> ReplySpec:
        """Return the reply to the next question: yes if the run says nothing."""
        self.asked += 1
        if not self.replies:
            return ReplySpec()
        return self.replies[(self.asked - 1) % len(self.replies)]


class NotKeptError(BaseException):
    """A run was interrupted in a session that keeps none: it has to be played again.

    No Exception: it is not an error of the subject, and nothing may catch it.
    """


class EndlessQuestionsError(RuntimeError):
    """A run was answered and answered, and asked again each time."""

    def __init__(self, payload: Json) -> None:
        self.payload = payload
        super().__init__(
            f"it interrupted one run more than {ANSWERED} times, and asks"
            f" {payload!r} again: use what interrupt() returns, which is True or False,"
            " instead of raising Interrupt anew"
        )


class Person:
    """Answers what is asked in a session: True, False for calls that a run denies."""

    def __init__(self, scenario: Scenario, *, keeps: bool) -> None:
        """Answer as ``scenario`` says; where runs are kept (``keeps``), else refuse."""
        self.keeps = keeps
        self._runs = scenario.runs
        self._recorder: Recorder | None = None
        self._world: World | None = None

    def sees(self, recorder: Recorder) -> None:
        """Put down there what is asked and answered."""
        self._recorder = recorder

    def takes(self, world: World) -> None:
        """Play a half of a session, if only that is played in this world.

        Raises NotKeptError where runs are not kept, which they have to be then.
        """
        if world.half is None:
            return
        if not self.keeps:
            raise NotKeptError
        self._world, given = world, world.half.given
        if given is not None:
            world.stand(given.world)
            world.run = given.run - 1

    def keeper(self, given: Keeper | None) -> Keeper:
        """Return what keeps the runs of an agent, with the types of what it was given.

        In one store for the session, so that an agent built anew finds them; all that
        is kept is put down, too.
        """
        from refengine.state import Checkpoints  # noqa: PLC0415  # seldom used

        # What keeps steps by another registry cannot be put on top of a store.
        types = None if given is None else cast("Types", given.types)
        return RecordingKeeper(self._seen, Checkpoints(self._store, types))

    @cached_property
    def _store(self) -> CheckpointStore:
        from refengine.state import MemoryStore  # noqa: PLC0415  # seldom used

        return MemoryStore()

    @property
    def leaves(self) -> bool:
        """Whether the session is left as soon as a run asks."""
        half = None if self._world is None else self._world.half
        return half is not None and half.given is None and half.left is None

    @property
    def given(self) -> LeftSession | None:
        """What another process left of the run that is played, if it is that one."""
        half = None if self._world is None else self._world.half
        given = None if half is None else half.given
        return given if given is not None and given.run == self.run else None

    async def bring(self) -> None:
        """Have the store hold what another process left in its own."""
        half = None if self._world is None else self._world.half
        if half is None or half.given is None:
            return
        kept: Mapping[str, Sequence[str]] = half.given.session["records"]
        for key, records in kept.items():
            for at, record in enumerate(records):
                await self._store.append(key, at, as_bytes(record))

    async def leave(self, key: str, pending: Sequence[Pending]) -> None:
        """Leave the session in its run, with what its store holds of that."""
        assert self._world is not None  # noqa: S101  # or nothing would be left
        assert self._world.half is not None  # noqa: S101  # as above
        session = {
            "key": key,
            "pending": [
                [str(e.address), e.address.call_id, e.payload] for e in pending
            ],
            "ran": calls_made(self._seen.trace(), self.run),
            "records": {key: [as_text(e) for e in await self._store.read(key)]},
        }
        left = LeftSession(self.run, self._world.standing, session)
        self._world.half.left = left

    def answers_left(self, left: LeftSession) -> dict[str, Json]:
        """Return the answers to what a run asked elsewhere, and put both down."""
        pending = left.session["pending"]
        asked = [payload for _, _, payload in pending]
        data = handed_over(left, messages=[], values={}, types={}, pending=asked)
        self._seen.add("checkpoint", data)
        denies = self.spec.denies
        given: dict[str, Json] = {at: call not in denies for at, call, _ in pending}
        self._seen.add("resume", {"answers": [*given.values()]})
        return given

    @property
    def run(self) -> int:
        """The number of the run that is played."""
        return self._seen.run

    @property
    def spec(self) -> RunSpec:
        """What the scenario says of the run that is played."""
        return self._runs[self.run - 1]

    @property
    def _seen(self) -> Recorder:
        if self._recorder is None:
            raise AssertionError
        return self._recorder

    def answers(self, pending: Sequence[Pending]) -> dict[str, Json]:
        """Return the answers to what a run asks, by address, and put them down.

        Without the addresses, which name handlers: names are their author's choice.
        """
        denies = self.spec.denies
        given: dict[str, Json] = {
            str(each.address): each.address.call_id not in denies for each in pending
        }
        self._seen.add("resume", {"answers": [*given.values()]})
        return given


class AnsweringEngine:
    """An engine whose agents' runs go on when somebody has answered."""

    def __init__(self, engine: Engine, person: Person) -> None:
        self._engine = engine
        self._person = person
        self.name: str = engine.name

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent; one that keeps its runs if they are to be answered."""
        if self._person.keeps:
            keeper = self._person.keeper(config.checkpoints)
            config = replace(config, checkpoints=keeper)
        await self._person.bring()
        agent = await self._engine.build(config, on_notice)
        return _Agent(agent, self._person)


class _Agent:
    """An agent whose runs are answered, but for those that a scenario keeps."""

    def __init__(self, agent: Any, person: Person) -> None:  # noqa: ANN401  # whose runs can be resumed
        self._agent = agent
        self._person = person

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        **how: Any,  # noqa: ANN401  # options, and under which key it is kept
    ) -> EngineRun:
        key = f"run {self._person.run}"
        if how.get("checkpoint") is not None:
            run: EngineRun = self._agent.run(messages, stream=stream, **how)
            return run
        again = {each: how[each] for each in how if each in AGAIN}
        if left := self._person.given:
            key = left.session["key"]
            answers = self._person.answers_left(left)
            run = self._agent.resume(key, answers, **again)
            return _Run(run, self._agent, self._person, key, again)
        if self._person.keeps:
            how["checkpoint"] = key
        run = self._agent.run(messages, stream=stream, **how)
        return _Run(run, self._agent, self._person, key, again)

    def resume(self, *given: Any, **how: Any) -> EngineRun:  # noqa: ANN401  # as the agent takes them
        run: EngineRun = self._agent.resume(*given, **how)
        return run


class _Run:
    """A run that is resumed with answers as long as it asks."""

    def __init__(
        self,
        run: EngineRun,
        agent: Any,  # noqa: ANN401  # as above
        person: Person,
        key: str,
        again: Mapping[str, Any],
    ) -> None:
        self._run = run
        self._events: AsyncIterator[AgentEvent] | None = None
        self._agent = agent
        self._person = person
        self._key = key
        self._again = again
        self._answered = 0

    @property
    def outcome(self) -> RunResult | None:
        return self._run.outcome

    async def __aenter__(self) -> Self:
        await self._run.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._run.__aexit__(kind, error, trace)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        while True:
            if self._events is None:
                self._events = aiter(self._run)
            try:
                return await anext(self._events)
            except StopAsyncIteration:
                if not self._asks or await self._is_left():
                    raise
            await self._go_on()

    @property
    def _asks(self) -> bool:
        ended = self.outcome
        return ended is not None and ended.status == "interrupted"

    async def _is_left(self) -> bool:
        """Leave the session here if it is to be left; tell whether it was."""
        ended = self.outcome
        if ended is None or not self._person.leaves:
            return False
        await self._person.leave(self._key, ended.interrupts)
        return True

    async def _go_on(self) -> None:
        """Resume the run with the person's answers."""
        ended = self.outcome
        if ended is None or not self._person.keeps:
            raise NotKeptError
        if self._answered == ANSWERED:
            raise EndlessQuestionsError(ended.interrupts[0].payload)
        self._answered += 1
        await self._run.__aexit__(None, None, None)
        answers = self._person.answers(ended.interrupts)
        self._run = self._agent.resume(self._key, answers, **self._again)
        self._events = None
        await self._run.__aenter__()
