"""A generated world cancelled at a drawn moment, and the laws it keeps all the same.

A moment is an observation of the world: whatever it is that the world notices as the
nth thing, the run's task is cancelled there. Two handlers of ours, one outside and one
inside all others, pause at each of their points, so the cancellation is delivered soon;
without pauses it is the engine that has to notice. They also rebuild every stream.
"""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from refengine.agent import Agent, ChatModelAgentConfig, build_agent
from refengine.context import Context
from refengine.hooks import ModelEndpoint, Rewritten
from refengine.messages import Message
from refengine.model import MessageStream, ModelRequest
from refengine.profile import Profile
from refengine.run import Run, RunResult
from refengine.stream import StreamReader
from refengine.testing import Scenario, World, clock
from refengine.testing.notation import parse_message
from refengine.testing.recorder import Recorder
from refengine.testing.trace import ObservationKind
from refengine.tools import (
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Moment:
    """When a run is cancelled, and how it is looked at meanwhile.

    ``at`` is the observation, counted from 0 and round again past the last one.
    ``again`` are the rounds of the event loop after which it is cancelled a second
    time, 0 for never. A ``kept`` run is one of an agent that looks at its state as if
    it were kept.
    """

    at: int
    again: int = 0
    pausing: bool = True
    reading: bool = False
    kept: bool = False


class Stopper(Recorder):
    """A recorder that cancels a task at an observation."""

    def __init__(self, at: int | None) -> None:
        super().__init__()
        self.seen = 0
        self.stopped = asyncio.Event()
        self.in_after_agent = False
        self._at = at
        self._task: asyncio.Task[None] | None = None

    def begin(self, task: asyncio.Task[None]) -> None:
        """Count from now on, for this task."""
        self.seen = 0
        self._task = task

    def add(
        self,
        kind: ObservationKind,
        data: Mapping[str, object],
        call_id: str | None = None,
    ) -> None:
        """Put down an observation; the one asked for cancels the task."""
        super().add(kind, data, call_id)
        if self._task is not None and self.seen == self._at:
            self.stopped.set()
            self.in_after_agent = "after_agent" in str(data)
            self._task.cancel()
        self.seen += 1


@dataclass
class LeftOpen:
    """What was entered and opened, left and closed."""

    entered: Counter[str] = field(default_factory=Counter[str])
    left: Counter[str] = field(default_factory=Counter[str])
    closed: Counter[int] = field(default_factory=Counter[int])
    opened: int = 0
    late: bool = False

    @contextmanager
    def inside(self, name: str) -> Generator[None]:
        """Count who comes in and who goes out."""
        self.entered[name] += 1
        try:
            yield
        finally:
            self.left[name] += 1


class CountedSource(AsyncIterator[T]):
    """A source that counts how often it is closed."""

    def __init__(self, source: StreamReader[T], left: LeftOpen, pauses: bool) -> None:
        self._source = source
        self._left = left
        self._number = left.opened
        self._pauses = pauses
        left.opened += 1

    async def __anext__(self) -> T:
        if self._pauses:
            await asyncio.sleep(0)
        return await self._source.__anext__()

    async def aclose(self) -> None:
        """Close the source, which takes a moment."""
        self._left.closed[self._number] += 1
        if self._pauses:
            await asyncio.sleep(0)
        await self._source.aclose()


class Pausing:
    """A handler with all hooks that changes nothing and waits a moment everywhere."""

    def __init__(self, at: int, left: LeftOpen, stopper: Stopper, pauses: bool) -> None:
        self.name = f"pausing-{at}"
        self._left = left
        self._stopper = stopper
        self._pauses = pauses

    async def _pause(self) -> None:
        if self._pauses:
            await asyncio.sleep(0)

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> Rewritten:
        """Pause before the model."""
        with self._left.inside("before_model"):
            await self._pause()
        return ctx, messages

    async def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> Rewritten:
        """Pause after the model."""
        with self._left.inside("after_model"):
            await self._pause()
        return ctx, messages

    async def after_agent(self, ctx: Context, messages: Sequence[Message]) -> Context:
        """Pause, and say whether this comes too late."""
        del messages
        if self._stopper.stopped.is_set() and not self._stopper.in_after_agent:
            self._left.late = True
        await self._pause()
        return ctx

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> Message | MessageStream:
        """Pause around the model."""
        with self._left.inside("wrap_model"):
            await self._pause()
            got = await next(ctx, request)
            await self._pause()
        # Last of all: until it is handed on, a new stream is the wrapper's to close.
        return self._counted(got) if isinstance(got, StreamReader) else got

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Pause around a tool."""
        with self._left.inside("wrap_invokable"):
            await self._pause()
            got = await next(ctx, input)
            await self._pause()
        return got

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Pause around a tool that streams."""
        with self._left.inside("wrap_streamable"):
            await self._pause()
            got = await next(ctx, input)
            await self._pause()
        return StreamToolCallResult(self._counted(got.result))

    def _counted(self, reader: StreamReader[T]) -> StreamReader[T]:
        return StreamReader(CountedSource(reader, self._left, self._pauses))


@dataclass(frozen=True)
class CancelledRun:
    """A run of a world that was cancelled, or came to its end before."""

    run: Run
    left: LeftOpen
    stopper: Stopper
    tasks: int
    faults: Sequence[str]
    error: BaseException | None
    under: Profile

    @property
    def stopped(self) -> bool:
        """Whether the moment came."""
        return self.stopper.stopped.is_set()

    @property
    def outcome(self) -> RunResult:
        """How the run ended; raises AssertionError if that is not reported."""
        if self.run.outcome is None:
            raise AssertionError("the run has no outcome")
        return self.run.outcome


def cut(scenario: Scenario, under: Profile, moment: Moment) -> CancelledRun | None:
    """Play the first run of a world and cancel it at the moment; None if it has none.

    A world has no moment if its agent cannot be built, or nothing is ever observed.
    """
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        whole = clock.run(_cut(scenario, under, replace(moment, at=-1)))
        if whole is None or not whole.stopper.seen:
            return None
        at = moment.at % whole.stopper.seen
        made = clock.run(_cut(scenario, under, replace(moment, at=at)))
        gc.collect(1)  # a coroutine that nobody awaited says so when it goes
    if made is None:
        raise AssertionError("what could be built once can be built again")
    never = [str(each.message) for each in given if each.category is RuntimeWarning]
    return replace(made, faults=(*made.faults, *never))


async def _cut(
    scenario: Scenario, under: Profile, moment: Moment
) -> CancelledRun | None:
    stopper, left, faults = Stopper(moment.at), LeftOpen(), list[str]()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(
        lambda _, reported: faults.append(str(reported["message"]))
    )
    spec = scenario.runs[0]
    world = World(list(scenario.all_agents)[spec.agent], scenario, stopper)
    config = world.config(strict_state=moment.kept)
    agent = await _built(config, under, (left, stopper, moment.pausing))
    if agent is None:
        return None
    world.run += 1
    given = list(map(parse_message, spec.input))
    run = agent.run(given, stream=spec.streaming, options=spec.options or None)
    task = asyncio.create_task(_consume(run, reading=moment.reading))
    stopper.begin(task)
    await _cancel_again(task, stopper, moment)
    error = await _end_of(task)
    tasks = len(asyncio.all_tasks()) - 1
    gc.collect(0)
    return CancelledRun(run, left, stopper, tasks, faults, error, under)


async def _built(
    config: ChatModelAgentConfig, under: Profile, parts: tuple[LeftOpen, Stopper, bool]
) -> Agent | None:
    around = [Pausing(at, *parts) for at in range(2)]
    handlers = [around[0], *config.handlers, around[1]]
    try:
        return await build_agent(replace(config, handlers=handlers), under)
    except Exception:  # noqa: BLE001  # some worlds have no agent
        return None


async def _consume(run: Run, *, reading: bool) -> None:
    async with run:
        async for event in run:
            if reading and event.stream is not None:
                try:
                    async for _ in event.stream:
                        pass
                except Exception:  # noqa: BLE001, S110  # it is the run's error, too
                    pass


async def _cancel_again(
    task: asyncio.Task[None], stopper: Stopper, moment: Moment
) -> None:
    """Wait until it was cancelled, and cancel it a second time if that is asked for."""
    if not moment.again:
        return
    waits = asyncio.create_task(stopper.stopped.wait())
    await asyncio.wait((task, waits), return_when=asyncio.FIRST_COMPLETED)
    if stopper.stopped.is_set():
        for _ in range(moment.again):
            await asyncio.sleep(0)
        task.cancel()
    waits.cancel()
    await asyncio.wait((waits,))


async def _end_of(task: asyncio.Task[None]) -> BaseException | None:
    try:
        await task
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  # judged later
        return error
    return None


def broken_laws(made: CancelledRun) -> list[str]:
    """Return which laws of a cancelled run do not hold; empty if all do."""
    outcome, left = made.outcome, made.left
    kinds = {event.kind for event in outcome.events}
    laws: dict[str, Any] = {
        "CancelledError comes out": isinstance(made.error, asyncio.CancelledError),
        "the status says so": outcome.status == "cancelled",
        "there is no answer": outcome.answer is None,
        "no event tells it": "error" not in kinds and made.run.error is None,
        "no task is left": made.tasks == 0,
        "nothing is reported to the loop": not made.faults,
        "who entered has left": left.entered == left.left,
        "streams are closed once": sorted(left.closed.values()) == [1] * left.opened,
        "after_agent is not called": not left.late,
        "no call is without a result": not dangling(outcome, made.under),
    }
    return [law for law, holds in laws.items() if not holds]


def dangling(outcome: RunResult, under: Profile) -> list[str]:
    """Return the calls of the model's last answer that have no result in the history.

    Those whose result was seen do not count: it was a hook that took it out; nor those
    of an answer that a hook wrote, or the caller. Where a wrapper's id is taken over,
    a result cannot be known by its id: there have to be as many as calls.
    """
    messages = outcome.messages
    last = next((m for m in reversed(messages) if m.role == "assistant"), None)
    reported = [event.message for event in outcome.events]
    if last is None or not any(last is message for message in reported):
        return []
    results = sum(m.role == "tool" for m in (*messages, *reported) if m is not None)
    if under.changed_call_id == "taken_over" and results >= len(last.tool_calls):
        return []
    ids = {m.tool_call_id for m in (*messages, *reported) if m is not None}
    return [call.id for call in last.tool_calls if call.id not in ids]
