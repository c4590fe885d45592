"""One run of an agent: its events, and how it ended (contract §0)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from refengine.context import Context
from refengine.events import AgentEvent
from refengine.history import History
from refengine.messages import Message
from refengine.react import Loop, Status
from refengine.tools import Options

if TYPE_CHECKING:
    from refengine.agent import Agent


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. ``messages`` is the whole history, ``answer`` its result."""

    status: Status
    messages: History
    answer: Message | None
    events: tuple[AgentEvent, ...]
    iterations: int
    first: Message | None = None
    """The system message that the engine itself put first, for ``Thread``."""


class Run:
    """One run: iterate over its events, then ask for the result.

    Leaving ``async with`` early stops the run and closes what it opened. ``outcome``
    is set once the run is over, also after an error, which is then in ``error``.
    """

    __slots__ = (
        "_agent",
        "_ctx",
        "_events",
        "_input",
        "_loop",
        "_options",
        "_streaming",
        "error",
        "outcome",
    )

    def __init__(
        self,
        agent: Agent,
        messages: tuple[Message, ...],
        ctx: Context | None,
        options: Options,
        *,
        streaming: bool,
    ) -> None:
        self._agent = agent
        self._input = messages
        self._ctx = ctx
        self._options = options
        self._streaming = streaming
        self._loop: Loop | None = None
        self._events: AsyncGenerator[AgentEvent, None] | None = None
        self.error: Exception | None = None
        self.outcome: RunResult | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Run:
        return self

    async def __anext__(self) -> AgentEvent:
        if self.outcome is not None:
            raise StopAsyncIteration
        try:
            events = self._events or await self._start()
            return await events.__anext__()
        except StopAsyncIteration:
            self._end()
            raise
        except Exception as error:  # noqa: BLE001  # becomes the run's last event
            return self._fail(error)
        except BaseException:
            self._end("cancelled")
            raise

    async def result(self) -> RunResult:
        """Run to the end and return the result; raises the error that ended it."""
        async for _ in self:
            pass
        if self.error is not None:
            raise self.error
        if self.outcome is None:
            raise AssertionError
        return self.outcome

    async def aclose(self) -> None:
        """Stop the run where it is; after its end this does nothing."""
        if self.outcome is not None:
            return
        if self._events is not None:
            await self._events.aclose()
        self._end("cancelled")

    async def _start(self) -> AsyncGenerator[AgentEvent, None]:
        plan, ctx = await self._agent.planned(self._input, self._ctx, self._options)
        self._loop = Loop(
            self._agent.machine, plan, ctx, self._input, self._streaming, self._options
        )
        self._events = self._loop.run()
        return self._events

    def _fail(self, error: Exception) -> AgentEvent:
        path = self._agent.run_path(self._ctx)
        event = AgentEvent("error", path, error=error)
        self.error = error
        self._end("error", event)
        return event

    def _end(self, status: Status | None = None, *more: AgentEvent) -> None:
        loop = self._loop
        if loop is None:  # it ended before its first step
            history = History(self._input)
            self.outcome = RunResult(status or "error", history, None, more, 0)
            return
        self.outcome = RunResult(
            status or loop.status,
            loop.history,
            loop.answer,
            (*loop.events, *more),
            loop.iterations,
            loop.first,
        )
