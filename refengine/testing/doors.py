"""The door: what the harness asks of an engine, and what its author need not write.

A world gives real objects (model, tools, handlers, struct middlewares). An engine whose
hooks have our shape passes them on; another one wires them to its own, and makes a door
of an async generator:

    async def build(self, config, on_notice):
        handlers = [handler_hooks(each) for each in config.handlers]

        async def start(messages, stream, options):
            agent = theirs.Agent(config.model, config.tools_config.tools, handlers)
            async for message in agent.run(messages, run_context(config.name)):
                yield event_of(message, config.name)
            yield ended(agent.history, iterations=agent.model_calls)

        return door_agent(config.name, start)

What the generator raises becomes the error of the run, as its last event (contract
ERR), and the history is lost: ``refengine.testing.telling`` keeps it, and helps engines
that run ahead. Nothing else is made up: an event that it does not yield is not there.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

from refengine.agent import Agent, ChatModelAgentConfig, build_agent
from refengine.context import Context, at_point
from refengine.events import AgentEvent, EventKind
from refengine.extensions import as_hooks
from refengine.hooks import hooks_of
from refengine.loop import Status
from refengine.messages import History, Json, Message
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.run import RunResult
from refengine.testing.blaming import AsyncHook, as_async, blamed
from refengine.tools import NO_OPTIONS, Options


class EngineRun(Protocol):
    """One run in progress: its events, then its outcome."""

    @property
    def outcome(self) -> RunResult | None:
        """How it ended, once it has."""
        ...

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...
    def __aiter__(self) -> AsyncIterator[AgentEvent]: ...


class EngineAgent(Protocol):
    """An agent that an engine built."""

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
    ) -> EngineRun:
        """Start a run; ``options`` are given only where a scenario has some."""
        ...


class KeepingAgent(Protocol):
    """An agent that also keeps runs, and goes on with them."""

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
        checkpoint: str | None = None,
    ) -> EngineRun:
        """Start a run that is kept under a key."""
        ...

    def resume(
        self,
        checkpoint: str,
        answers: Mapping[str, Json] | None = None,
        *,
        options: Options | None = None,
    ) -> EngineRun:
        """Go on with the run of that key; ``answers`` are by the text of addresses."""
        ...


class KeepsNothingError(TypeError):
    """A scenario keeps runs, and the engine's agents cannot."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(
            f"agents of {engine} have no 'resume': play scenarios without 'checkpoint'"
            " and 'resume' on it"
        )


class Engine(Protocol):
    """Something that builds agents."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build an agent, or raise why it cannot be built."""
        ...


class ReferenceEngine:
    """The reference engine under one profile."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.name: str = f"reference ({profile.name})"

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent under this profile."""
        return await build_agent(config, self.profile, on_notice=on_notice)


class Thread:
    """Plays turns of one agent.

    A turn starts from the last result's messages, without the system message that the
    engine itself put first: it is told by object, so one of the same text that a hook
    or the caller put there stays.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.messages: tuple[Message, ...] = ()

    async def turn(
        self, messages: Sequence[Message], *, stream: bool = False
    ) -> RunResult:
        """Run the agent on the history so far and the new messages; raises as a run."""
        given = (*self.messages, *messages)
        async with self._agent.run(given, stream=stream) as run:
            result = await run.result()
        self.messages = result.messages.without(result.first)
        return result


@dataclass(frozen=True, slots=True)
class FailedRun:
    """How a run ended that failed: what was raised, and what it had come to."""

    error: Exception
    outcome: RunResult


Yielded: TypeAlias = "AsyncGenerator[AgentEvent | RunResult | FailedRun, None]"
"""What a run tells: its events, and at last how it ended."""
Start: TypeAlias = Callable[[Sequence[Message], bool, Options], Yielded]
"""Starts a run over messages; the flag is whether it streams."""

_INSTEAD: Final = "yield AgentEvents and, at last, refengine.testing.doors.ended(...)"


class DoorError(TypeError):
    """A generator of a run told something that no run tells: its door is wrong."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the generator of a run {why}; {_INSTEAD}")


def event_of(message: Message, *run_path: str) -> AgentEvent:
    """Return the event of an answer of the model, or of a result of a tool."""
    kind: EventKind = "tool" if message.role == "tool" else "model"
    return AgentEvent(kind, run_path, message, message.tool_call_id)


def ended(
    messages: Iterable[Message],
    status: Status = "completed",
    *,
    answer: Message | None = None,
    iterations: int = 0,
    first: Message | None = None,
) -> RunResult:
    """Return how a run ended, for the last ``yield`` of its generator.

    ``messages`` is the whole history; the answer is its last assistant message if none
    is given. ``first`` is the system message that the engine itself put first.
    """
    history = History(tuple(messages))
    found = [each for each in history if each.role == "assistant"]
    answer = answer or (found[-1] if found else None)
    return RunResult(status, history, answer, (), iterations, first)


def failed(
    error: Exception,
    messages: Iterable[Message],
    *,
    iterations: int = 0,
    first: Message | None = None,
) -> FailedRun:
    """Return how a run failed, for the last ``yield`` of its generator.

    ``messages`` is the history as it was before what failed began: a pass of hooks that
    failed has left nothing, and calls of which one failed have no results. A generator
    that raises instead leaves what the run was given.
    """
    how = ended(messages, "error", iterations=iterations, first=first)
    return FailedRun(error, how)


def handler_hooks(handler: object) -> Mapping[str, AsyncHook]:
    """Return the hooks that a handler has, by name, all of them async.

    Which they are its ``hooks`` says, if it has that: having the method is not enough.
    Raises ConfigurationError for a handler that is none.
    """
    _, found = hooks_of(handler, set())
    return {name: as_async(hook) for name, hook in as_hooks(found).items()}


def run_context(*run_path: str) -> Context:
    """Return the context that a run starts with, of an engine whose hooks take ours.

    ``run_path`` names the agents from the outermost inwards. Make one for every run:
    it holds what ``set_run_local`` keeps.
    """
    return at_point(Context(), run_path, None, {})


def at_call(ctx: Context, run: Context, call_id: str) -> Context:
    """Return the context as a tool sees it, with nothing lost (contract CTX).

    ``run`` is the context that the run started with: a wrapper may hand on another one
    that does not know where it is.
    """
    return at_point(ctx, run.run_path, call_id, run._locals)  # noqa: SLF001  # what set_run_local keeps


def door_agent(name: str, start: Start) -> GeneratedAgent:
    """Return an agent of that name whose runs are made by an async generator."""
    return GeneratedAgent(name, start)


class GeneratedAgent:
    """An agent whose runs are made by an async generator."""

    def __init__(self, name: str, start: Start) -> None:
        self._name = name
        self._start = start

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
    ) -> GeneratedRun:
        """Start a run; nothing happens before it is iterated."""
        yielded = self._start(messages, stream, options or NO_OPTIONS)
        return GeneratedRun(self._name, messages, yielded)


class GeneratedRun:
    """One run: what its generator yields are its events, the last of all its outcome.

    Leaving ``async with`` early closes the generator; then it was cancelled.
    """

    def __init__(
        self, name: str, messages: Sequence[Message], yielded: Yielded
    ) -> None:
        self.outcome: RunResult | None = None
        self._name = name
        self._given = tuple(messages)
        self._generator = yielded
        self._events: list[AgentEvent] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        await self._generator.aclose()
        if self.outcome is None:
            self._end(ended(self._given, "cancelled"))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        if self.outcome is not None:
            raise StopAsyncIteration
        try:
            yielded = await anext(self._generator)
        except StopAsyncIteration:
            raise DoorError("ended without saying how the run ended") from None
        except Exception as error:  # noqa: BLE001  # becomes the run's last event
            return self._failed(FailedRun(error, ended(self._given, "error")))
        if isinstance(yielded, FailedRun):
            return self._failed(yielded)
        if isinstance(yielded, RunResult):
            self._end(yielded)
            raise StopAsyncIteration
        if not isinstance(yielded, AgentEvent):
            raise DoorError(f"yielded {yielded!r}, of type {type(yielded).__name__}")
        self._events.append(yielded)
        return yielded

    def _failed(self, told: FailedRun) -> AgentEvent:
        event = AgentEvent("error", (self._name,), error=blamed(told.error))
        self._events.append(event)
        self._end(told.outcome)
        return event

    def _end(self, outcome: RunResult) -> None:
        self.outcome = replace(outcome, events=tuple(self._events))
