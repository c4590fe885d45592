"""The session manager: keeps sessions, and brings each callback to its owners once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias, final

from compat.dialects.callbacks.agent import CallbackAgent
from compat.dialects.callbacks.client import SessionClient
from compat.dialects.callbacks.delivering import (
    CallbackMiddleware,
    Delivery,
    delivered,
)
from compat.dialects.callbacks.errors import (
    CallbackWarning,
    ClientNotConnectedError,
    ListenerTypesError,
    NoClientsError,
)
from compat.dialects.callbacks.facts import notify
from compat.dialects.callbacks.profile import CallbacksProfile, callbacks_profile
from compat.dialects.callbacks.state import SessionState
from compat.dialects.callbacks.stores import MemorySessionStore, SessionStore
from compat.dialects.callbacks.table import (
    CALLBACK_TYPES,
    AgentCallbacks,
    Callback,
    CallbackTable,
    CallbackType,
    Owner,
)

Receiver: TypeAlias = "tuple[Owner, int, Callback]"

LOAD, SAVE, ERROR = "load_agent_storage", "on_state_storage", "on_error"
TOOL_END: Final = "on_tool_execution_end"
SPREAD_OVER: Final = frozenset(("on_session_start", "on_session_end"))
"""What the seed's sketch has in its own callbacks without a call of the client's."""


@final
class SessionManager:
    """Owns the life of an agent's sessions; clients and a listener hear of it."""

    __refengine_player__: ClassVar = "compat.dialects.playing.sessions:play"

    def __init__(
        self,
        agent: CallbackAgent,
        store: SessionStore | None = None,
        *,
        profile: str | CallbacksProfile = "callbacks-v2",
        middleware: Sequence[CallbackMiddleware] = (),
        table: CallbackTable = CALLBACK_TYPES,
    ) -> None:
        self.agent = agent
        self.store = MemorySessionStore() if store is None else store
        self.profile = (
            callbacks_profile(profile) if isinstance(profile, str) else profile
        )
        self._table, self._middleware = table, tuple(middleware)
        self._clients: list[SessionClient] = []
        self._at_setup: list[AgentCallbacks | None] = []
        self._listener = AgentCallbacks()
        self._stored: dict[str, tuple[int, SessionState | None]] = {}
        self.watch: Callable[[str, tuple[Any, ...]], object] | None = None
        """Hears of each fact before its owners do, and whether it has any or not."""
        replaces = self.profile.second_manager == "replaces"
        agent.claim(self, replaces=replaces)
        self.setup_agent_callbacks()

    @property
    def clients(self) -> tuple[SessionClient, ...]:
        """The clients, in the order in which they were connected."""
        return tuple(self._clients)

    @property
    def listener(self) -> AgentCallbacks:
        """The callbacks of the external listener; without one there are none in it."""
        return self._listener

    def add_middleware(self, middleware: CallbackMiddleware) -> None:
        """Put one around all others; it sees each delivery from now on."""
        self._middleware = (middleware, *self._middleware)

    def set_client(self, client: SessionClient) -> None:
        """Connect a client; one that is connected already stays where it is.

        Raises NoClientsError under a profile that has none.
        """
        if self.profile.clients == "none":
            raise NoClientsError(self.profile.name)
        if self.profile.clients == "one":
            self._clients.clear()
        if not any(each is client for each in self._clients):
            self._clients.append(client)
        self.setup_agent_callbacks()

    def remove_client(self, client: SessionClient) -> None:
        """Take a client away; raises ClientNotConnectedError if it is not there."""
        left = [each for each in self._clients if each is not client]
        if len(left) == len(self._clients):
            raise ClientNotConnectedError(client)
        self._clients = left
        self.setup_agent_callbacks()

    def set_callbacks(self, callbacks: AgentCallbacks) -> None:
        """Set the external listener, in the place of the one before.

        Raises ListenerTypesError for callbacks that a listener does not share.
        """
        shared = tuple(
            name for name, row in self._table.items() if "listener" in row.owners
        )
        if self.profile.listener_hears == "shared":
            others = tuple(each for each in callbacks.names if each not in shared)
            if others:
                raise ListenerTypesError(others, shared)
        self._listener = callbacks

    def setup_agent_callbacks(self) -> None:
        """Put what brings facts to their owners into the agent's slot."""
        self._at_setup = [each.agent_callbacks for each in self._clients]
        rows = self._table.values()
        merged = {each.name: partial(self._deliver, each) for each in rows}
        self.agent.set_callbacks(AgentCallbacks(table=self._table, **merged))

    async def load_session(self, session_id: str) -> SessionState | None:
        """Return the session as the local store has it, None if it has none."""
        found = await self.store.load(session_id)
        self._stored[session_id] = (found.revision, found.state) if found else (0, None)
        return found.state if found else None

    async def save_session(self, state: SessionState) -> None:
        """Store a state locally; it costs what changed since it was loaded or stored.

        Raises StaleStateError if somebody else has stored it since.
        """
        known = self._stored.get(state.session_id)
        if known is None:  # a client had loaded it, and what is here is older
            known = await self.store.revision(state.session_id), None
        revision, last = known
        since = 0 if last is None else state.messages.shared(last.messages)
        revision = await self.store.save(state, since, revision)
        self._stored[state.session_id] = (revision, state)

    async def _deliver(self, row: CallbackType, *data: Any) -> Any:  # noqa: ANN401  # of any row
        if self.watch is not None:
            self.watch(row.name, data)
        if row.name == LOAD:
            return await self._load(row, data)
        if row.name == SAVE and self.profile.saving == "stored_then_told":
            await self.save_session(*data)
        for receiver in self._receivers(row):
            await self._call(receiver, row, data)
        if row.name == SAVE and self.profile.saving == "told_then_stored":
            await self.save_session(*data)
        if row.name == "on_session_end":
            self._stored.pop(data[0], None)
        return None

    async def _load(self, row: CallbackType, data: tuple[Any, ...]) -> object:
        """Return the first state that a receiver has, else the local one."""
        for receiver in self._receivers(row):
            found = await self._call(receiver, row, data)
            empty = not found and self.profile.loaded_state == "truthy"
            if found is not None and not empty:
                return found
        return await self.load_session(*data)

    def _receivers(self, row: CallbackType) -> list[Receiver]:
        """Return who hears a fact of that type, in order.

        Callbacks are read here, while others may already have been told, so that one
        who is connected or taken away by a callback counts from the next fact on.
        """
        listener = self._listener.get(row.name)
        found: list[Receiver] = []
        if "client" in row.owners and not self._spread_over(row):
            found.extend(self._of_clients(row.name))
        if listener is not None and self._listener_hears(row):
            found.append(("listener", 0, listener))
        return found

    def _of_clients(self, name: str) -> Iterator[Receiver]:
        late = self.profile.client_callbacks == "late"
        current = [each.agent_callbacks for each in self._clients]
        for number, callbacks in enumerate(current if late else self._at_setup):
            callback = None if callbacks is None else callbacks.get(name)
            if callback is not None:
                yield "client", number, callback

    def _spread_over(self, row: CallbackType) -> bool:
        overwritten = self.profile.session_callbacks == "overwritten"
        return overwritten and row.name in SPREAD_OVER

    def _listener_hears(self, row: CallbackType) -> bool:
        if self.profile.shared == "tool_end_only":
            return row.name == TOOL_END
        everything = self.profile.listener_hears == "everything"
        return everything or "listener" in row.owners

    async def _call(
        self, receiver: Receiver, row: CallbackType, data: tuple[Any, ...]
    ) -> Any:  # noqa: ANN401  # a callback's
        owner, number, callback = receiver
        delivery = Delivery(owner, number, row.name, data)
        try:
            return await delivered(delivery, callback, self._middleware)
        except Exception as error:
            if self.profile.failures == "aborts":
                raise
            if row.name == ERROR:
                text = f"{delivery.where} raised {error!r} when told of {data[0]!r}"
                warnings.warn(CallbackWarning(text), stacklevel=2)
            else:
                await self._failed(error, delivery.where)
            return None

    async def _failed(self, error: Exception, where: str) -> None:
        await notify(ERROR, (error, where))
        await self._deliver(self._table.row(ERROR), error, where)
