"""The door to sessions with callbacks behind a driver.

    door = RemoteCallbacks("mine", KeptDriver(lambda: ["/path/to/driver"]))

Clients, the listener and what stands around a delivery are the harness's; agent,
manager and store are the driver's. It is told before each call which clients have other
callbacks than before: when it reads them is its own choice.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import (
    AsyncGenerator,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from compat.dialects.callbacks import (
    CALLBACK_TYPES,
    AgentCallbacks,
    CallbacksProfile,
    Delivery,
    SessionClient,
    SessionFact,
    SessionResult,
    SessionState,
    callbacks_profile,
)
from compat.dialects.callbacks.errors import CallbackWarning
from compat.drivers.agents import DialectAgent, call_read
from compat.drivers.connection import DriverProcess, KeptDriver, Params
from compat.drivers.node_building import own_driver
from compat.drivers.values import Wire, message_read, plain
from compat.engines.callbacks.world import CallbacksWorld
from refengine.awaiting import settled
from refengine.messages import History, Json, Message, ToolCall

FIRST: Final = "first"
"""Where a world keeps the agent whose store the later ones share."""


class RemoteCallbacks:
    """Sessions in another process, which says itself what it is.

    They are played under ``profile`` if that is given, and else under their own. Raises
    UnknownProfileError.
    """

    def __init__(
        self, name: str, driver: KeptDriver, profile: str | None = None
    ) -> None:
        self.name = name
        self._driver = driver
        self.about = driver.about
        self.version: str = driver.about["version"]
        self.capabilities = frozenset[str](driver.about["capabilities"])
        said: str = driver.about["profile"]
        self.profile: CallbacksProfile = callbacks_profile(profile or said)

    def open(self, world: CallbacksWorld) -> RemoteSessions:
        """Make an agent and its manager, over what an earlier one has stored."""
        made = RemoteSessions(self._driver.connected(), world)
        world.memory.setdefault(FIRST, made)
        return made


class RemoteSessions(DialectAgent):
    """One agent of a driver with its manager: what it is told, and what it calls."""

    def __init__(self, driver: DriverProcess, world: CallbacksWorld) -> None:
        super().__init__(driver, world.model)
        weakref.finalize(self, driver.remove, self.number)
        self._world = world
        self._clients: dict[int, tuple[SessionClient, AgentCallbacks | None]] = {}
        self._warned: list[str] = []
        self.serves(hook=self._around)
        self.takes(warning=lambda params: self._warned.append(params["text"]))
        self.ask("build", dialect="callbacks", config=self._config())

    def _config(self) -> Mapping[str, object]:
        world = self._world
        first: RemoteSessions | None = world.memory.get(FIRST)
        rows = [x for x in world.table.values() if x.name not in CALLBACK_TYPES]
        return {
            "tools": list(map(self.held.tool, world.tools)),
            "rows": [{"name": x.name, "owners": list(x.owners)} for x in rows],
            "middleware": len(world.middleware),
            "path": None if world.path is None else str(world.path),
            "store": None if first is None else first.number,
        }

    # Between sessions

    def set_client(self, client: SessionClient) -> None:
        """Connect a client."""
        number = self.held.number(client)
        self._clients[number] = client, client.agent_callbacks
        told = self._callbacks_told(client.agent_callbacks)
        self._does("connect", client=number, callbacks=told)

    def remove_client(self, client: SessionClient) -> None:
        """Take a client away."""
        self._does("remove", client=self.held.number(client))

    def set_callbacks(self, callbacks: AgentCallbacks) -> None:
        """Set the external listener."""
        self._does("listen", callbacks=self._callbacks_told(callbacks))

    def manage(self) -> None:
        """Make a second manager for the agent."""
        self._does("manage")

    def _does(self, do: str, **params: object) -> None:
        self.ask("session", do=do, **params)

    def _callbacks_told(self, callbacks: AgentCallbacks | None) -> object:
        if callbacks is None:
            return None
        number = self.held.number(callbacks)
        self.hears(number, partial(self._told, callbacks))
        return {"callbacks": number, "names": list(callbacks.names)}

    # Sessions

    async def run(self, session_id: str, *texts: str) -> SessionResult:
        """Play a session; raises what comes out of it."""
        async with self._heard():
            asked = {"session_id": session_id, "texts": list(texts), "stream": False}
            told = await self.ran(**asked)
        answer = told["answer"]
        state = _state_read(told["state"])
        read = None if answer is None else message_read(answer)
        return SessionResult(read, told["status"], state)

    async def stream(
        self, session_id: str, *texts: str
    ) -> AsyncGenerator[SessionFact, None]:
        """Play a session and yield its facts; leaving early cancels it."""
        async with self._heard():
            asked = {"session_id": session_id, "texts": list(texts), "stream": True}
            stream: int = (await self.ran(**asked))["stream"]
            async with aclosing(self.pulled(stream, self._fact)) as facts:
                async for fact in facts:
                    yield fact

    def _fact(self, piece: Wire) -> SessionFact:
        name, data = piece["fact"]["name"], piece["fact"]["data"]
        return SessionFact(name, tuple(self._data(name, data)))

    async def emit(self, name: str, *data: object) -> object:
        """Tell a fact of a type of one's own."""
        async with self._heard():
            told = await self.call("session", do="emit", name=name, data=list(data))
        return told["given"]

    async def stored(self, session_id: str) -> SessionState | None:
        """Return what is stored of a session."""
        async with self._heard():
            told = await self.call("session", do="stored", session_id=session_id)
        return None if told["state"] is None else _state_read(told["state"])

    @asynccontextmanager
    async def _heard(self) -> AsyncGenerator[None, None]:
        """Hear the driver, which knows what callbacks clients have now."""
        self._set_again()
        try:
            with self.attached():
                yield
        finally:
            warned, self._warned = self._warned, []
            for text in warned:
                warnings.warn(CallbackWarning(text), stacklevel=4)

    def _set_again(self) -> None:
        """Tell of clients that have other callbacks than they had."""
        for number, (client, known) in self._clients.items():
            now = client.agent_callbacks
            if now is not known:
                self._clients[number] = client, now
                told = self._callbacks_told(now)
                self._does("set", client=number, callbacks=told)

    # What a driver calls

    async def _told(
        self, callbacks: AgentCallbacks, name: str, data: Sequence[Any]
    ) -> object:
        callback = callbacks.get(name)
        if callback is None:
            return None
        given: Json = await settled(callback(*self._data(name, data)))
        return plain(given)

    async def _around(self, params: Params) -> object:
        data = tuple(self._data(params["name"], params["data"]))
        delivery = Delivery(params["owner"], params["number"], params["name"], data)

        async def inner(_: Delivery) -> object:
            return (await self.call("next", token=params["token"]))["given"]

        at: int = params["handler"]
        given: Json = await settled(self._world.middleware[at](delivery, inner))
        return {"given": plain(given)}

    def _data(self, name: str, data: Sequence[Any]) -> Sequence[object]:
        """Return what a callback is called with."""
        reads = READS.get(name, ())
        more = (None,) * (len(data) - len(reads))
        pairs = zip((*reads, *more), data, strict=False)
        return [each if read is None else read(self, each) for read, each in pairs]


def _state_read(told: Wire) -> SessionState:
    messages = History(tuple(map(message_read, told["messages"])))
    return SessionState(told["session_id"], messages, told["more"])


def _error(agent: DialectAgent, told: Wire | None) -> BaseException | None:
    return None if told is None else agent.error_read(told)


def _call(_: DialectAgent, told: Wire) -> ToolCall:
    return call_read(told)


def _state(_: DialectAgent, told: Wire) -> SessionState:
    return _state_read(told)


def _messages(_: DialectAgent, told: Sequence[Wire]) -> Sequence[Message]:
    return tuple(map(message_read, told))


READS: Final[Mapping[str, tuple[Callable[..., object] | None, ...]]] = MappingProxyType(
    {
        "on_agent_step": (None, _messages),
        "on_tool_call_start": (_call,),
        "on_tool_execution_end": (None, None, None, _error),
        "on_error": (_error, None),
        "on_state_storage": (_state,),
    }
)
"""How what a type of callback is told is read; None where it is as it stands."""


def typescript_callbacks(profile: str | None = None) -> RemoteCallbacks:
    """Return sessions in TypeScript, built once; raises MissingToolchainError."""
    driver = own_driver("callbacks", "driver")
    return RemoteCallbacks("typescript-callbacks", driver, profile)


def typescript_callbacks_sketch(profile: str | None = None) -> RemoteCallbacks:
    """Return sessions as their guide sketches them; raises MissingToolchainError."""
    driver = own_driver("callbacks", "sketch_driver")
    return RemoteCallbacks("typescript-callbacks-sketch", driver, profile)
