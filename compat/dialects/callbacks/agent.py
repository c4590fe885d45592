"""An agent of the engine with one slot for callbacks, which runs sessions.

A session is loaded, told to have started, plays its messages, is stored after each of
them, and is told to have ended, whatever happened in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final

from compat.dialects.callbacks.errors import (
    SecondManagerError,
    SessionBusyError,
    SessionIdError,
)
from compat.dialects.callbacks.facts import NOTIFIED, Notify, SessionFact, notify
from compat.dialects.callbacks.reporting import Reporting
from compat.dialects.callbacks.state import SessionState, state_of
from compat.dialects.callbacks.table import AgentCallbacks
from refengine.agent import DEFAULT_MAX_ITERATIONS, ChatModelAgentConfig, build_agent
from refengine.awaiting import ended, settled
from refengine.loop import Status
from refengine.messages import Message
from refengine.model import ChatModel
from refengine.tools import Tool, ToolMeta, ToolsConfig

SessionStatus: TypeAlias = "Status | Literal['cancelled']"

NO_CALLBACKS: Final = AgentCallbacks()


@dataclass(frozen=True, slots=True)
class SessionResult:
    """How a session ended: its last answer, how its last run ended, what is kept."""

    answer: Message | None
    status: SessionStatus
    state: SessionState


@final
class CallbackAgent:
    """Runs sessions on the engine and tells the callbacks in its slot."""

    def __init__(
        self,
        model: ChatModel,
        tools: Sequence[Tool | ToolMeta] = (),
        *,
        instruction: str = "",
        name: str = "agent",
        max_iterations: int = DEFAULT_MAX_ITERATIONS,
    ) -> None:
        self.name = name
        self._model, self._tools = model, tuple(tools)
        self._instruction, self._max_iterations = instruction, max_iterations
        self._callbacks = NO_CALLBACKS
        self._manager: object = None
        self._running: set[str] = set()

    def set_callbacks(self, callbacks: AgentCallbacks) -> None:
        """Put callbacks in the slot, in the place of those that were there."""
        self._callbacks = callbacks

    def claim(self, manager: object, *, replaces: bool) -> None:
        """Take the slot for a manager; raises SecondManagerError if another has it."""
        if self._manager is not None and self._manager is not manager and not replaces:
            raise SecondManagerError(self.name)
        self._manager = manager

    async def run(self, session_id: str, *texts: str) -> SessionResult:
        """Play a session: each text is a message of the user, with a run of its own.

        An exception of a run comes out; that run is not in the state that is kept.
        Raises SessionBusyError while a session of that id runs.
        """
        return await self._run(session_id, texts, None)

    async def stream(
        self, session_id: str, *texts: str
    ) -> AsyncGenerator[SessionFact, None]:
        """Play a session and yield its facts; leaving early cancels it.

        The session waits for its reader, so that nothing piles up.
        """
        facts: asyncio.Queue[SessionFact | None] = asyncio.Queue(1)
        reads = True

        async def tell(fact: SessionFact | None) -> None:
            if reads:
                await facts.put(fact)

        async def play() -> None:
            try:
                await self._run(session_id, texts, tell)
            finally:
                await tell(None)

        task = asyncio.ensure_future(play())
        try:
            while (fact := await facts.get()) is not None:
                yield fact
            await task
        finally:
            reads = False
            await ended((task,))
            if not task.cancelled():
                task.exception()  # who left early does not want it

    async def emit(self, name: str, *data: object) -> Any:  # noqa: ANN401  # a callback's
        """Tell a fact: to the reader of the stream, then to the slot.

        A tool may tell facts of a type of its own. Returns what the callback gave.
        """
        await notify(name, data)
        callback = self._callbacks.get(name)
        return None if callback is None else await settled(callback(*data))

    async def _run(
        self, session_id: str, texts: Sequence[str], reader: Notify | None
    ) -> SessionResult:
        if not isinstance(session_id, str) or not session_id or not texts:
            raise SessionIdError(session_id, len(texts))
        if session_id in self._running:
            raise SessionBusyError(session_id)
        self._running.add(session_id)
        token = NOTIFIED.set(reader)
        try:
            return await self._session(session_id, texts)
        finally:
            NOTIFIED.reset(token)
            self._running.discard(session_id)

    async def _session(self, session_id: str, texts: Sequence[str]) -> SessionResult:
        loaded = await self.emit("load_agent_storage", session_id)
        state = state_of(loaded, session_id)
        status: SessionStatus = "error"
        try:
            await self.emit("on_session_start", session_id)
            result = SessionResult(None, status, state)
            for text in texts:
                result = await self._turn(result.state, text)
                await self.emit("on_state_storage", result.state)
            status = result.status
        except asyncio.CancelledError:
            status = "cancelled"
            raise
        except Exception as error:
            await self.emit("on_error", error, "agent")
            raise
        finally:
            await self.emit("on_session_end", session_id, status)
        return result

    async def _turn(self, state: SessionState, text: str) -> SessionResult:
        asked = state.with_messages(Message("user", text))
        reporting = Reporting(self.emit)
        agent = await build_agent(self._config(reporting))
        given = tuple(asked.messages)
        async with agent.run(given, stream=True) as run:
            try:
                found = await run.result()
            except Exception:
                if reporting.raised is not None:
                    raise reporting.raised from None
                raise
        start = len(given) + (found.first is not None)
        new = found.messages.since(start)
        return SessionResult(found.answer, found.status, asked.with_messages(*new))

    def _config(self, reporting: Reporting) -> ChatModelAgentConfig:
        return ChatModelAgentConfig(
            self.name,
            "",
            self._model,
            self._instruction,
            ToolsConfig(self._tools),
            handlers=(reporting,),
            max_iterations=self._max_iterations,
        )
