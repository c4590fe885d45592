"""A server on loopback: in a thread while its block runs, or until a signal ends it.

There is no way to bind another host than 127.0.0.1. What it serves is the application
of the class that it is made with.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import FrameType
from typing import Final, Self, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as Asked
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from compat.wire.errors import WireError
from compat.wire.exchanges import Request, headers_of
from compat.wire.server.refusals import TOO_LONG, ApiError
from compat.wire.server.shapes import encoded

HOST: Final = "127.0.0.1"
GRACE: Final = 2
"""So many seconds a stream that nobody reads is waited for at the end."""


LIMIT: Final = 64 * 1024 * 1024
"""No request is longer than so many bytes."""


class PortTakenError(WireError):
    """The port cannot be bound."""

    def __init__(self, port: int, problem: str) -> None:
        self.port = port
        super().__init__(
            f"port {port} of {HOST} cannot be used ({problem}):"
            " name another, or 0 for one that is free"
        )


class _Protocol(H11Protocol):
    """Lets the application close the connection: see ``EventStream``."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self.app_state = {**self.app_state, "transport": transport}

    def let_go(self) -> None:
        """Abort what would be waited for at the end, and may never come.

        That is the rest of a request, and a client that reads its answer.
        """
        cycle = cast("RequestResponseCycle | None", self.cycle)  # none before a request
        if self.flow.write_paused or (cycle is not None and cycle.more_body):
            self.transport.abort()


class _Uvicorn(uvicorn.Server):
    """Tells when it listens, ends at once, and does not pass the signal on.

    uvicorn looks ten times a second whether it is to end, and raises a signal once more
    when it has ended, so that the process dies of it; a command that was asked to end
    has done so well.
    """

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening
        self._stopping = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self._listening()

    async def main_loop(self) -> None:
        if not await self.on_tick(0):
            await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in tuple(self.server_state.connections):
            if isinstance(connection, _Protocol):
                connection.let_go()
        await super().shutdown(sockets)

    def handle_exit(
        self,
        sig: int,  # noqa: ARG002  # every signal asks for the same
        frame: FrameType | None,  # noqa: ARG002  # as in the class above
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ask it to end, from any thread or a signal's handler."""
        self.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)


class LoopbackServer(ABC):
    """Serves an application on 127.0.0.1; ``port`` 0 is one that is free."""

    def __init__(self, *, port: int = 0) -> None:
        self._port = port
        self._root = ""
        self._ready = threading.Event()
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        """Listen; raises PortTakenError."""
        self._bind()
        self._uvicorn = _Uvicorn(self._config(), self._ready.set)
        self._thread = threading.Thread(target=self._run, name="loopback server")
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._end()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def serve(self, listening: Callable[[], None]) -> None:
        """Serve in this thread, the main one, until SIGINT or SIGTERM.

        ``listening`` is called when requests are taken. Raises PortTakenError.
        """
        self._bind()
        with self._socket:
            _Uvicorn(self._config(), listening).run(sockets=[self._socket])

    @property
    def root(self) -> str:
        """Where the server is: scheme, host and port, without a path."""
        return self._root

    @abstractmethod
    def _application(self) -> Starlette:
        """Return what is served; ``root`` is known by then."""

    def _listening(self) -> socket.socket:
        """Return a socket that listens; raises OSError."""
        return socket.create_server((HOST, self._port))

    def _bind(self) -> None:
        """Bind here and not in uvicorn, which tells nobody the port it was given."""
        try:
            self._socket = self._listening()
        except OSError as error:
            raise PortTakenError(self._port, str(error.strerror)) from error
        # Inherited by the sockets of clients; asyncio, which would set it, leaves those
        # alone that were made without the number of their protocol. Else an answer
        # waits 40 ms for the client to say that its first part has come.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._root = f"http://{HOST}:{self._socket.getsockname()[1]}"

    def _config(self) -> uvicorn.Config:
        return uvicorn.Config(
            self._application(),
            http=_Protocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,  # the same requests get the same bytes
            timeout_graceful_shutdown=GRACE,
        )

    def _run(self) -> None:
        try:
            self._uvicorn.run(sockets=[self._socket])
        except BaseException as error:  # noqa: BLE001  # told where the block was begun
            self._failure = error
        finally:
            self._ready.set()

    def _end(self) -> None:
        self._uvicorn.stop()
        self._thread.join()
        self._socket.close()
        if self._failure is not None:
            raise self._failure


class EventStream(StreamingResponse):
    """Sends each piece on its own, then the end, or closes the connection without one.

    Without a piece there is no answer at all. ASGI has no word for closing, so the
    protocol that the server runs puts the transport into the state of each request.
    """

    def __init__(
        self, pieces: Sequence[bytes], headers: Mapping[str, str], *, cut: bool = False
    ) -> None:
        super().__init__(_each(pieces), headers=headers, media_type="text/event-stream")
        self._pieces = pieces
        self._cut = cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if not self._cut:
            await super().__call__(scope, receive, send)
            return
        if self._pieces:
            start = {"type": "http.response.start", "status": self.status_code}
            await send({**start, "headers": self.raw_headers})
        for piece in self._pieces:
            body = {"type": "http.response.body", "body": piece, "more_body": True}
            await send(body)
        scope["state"]["transport"].close()
        while (await receive())["type"] != "http.disconnect":
            pass


async def _each(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def body_of(request: Asked) -> bytes:
    """Return the whole body; raises ApiError when it is longer than can be meant."""
    found = bytearray()
    async for piece in request.stream():
        found += piece
        if len(found) > LIMIT:
            raise ApiError(f"The body is longer than {LIMIT} bytes.", kind=TOO_LONG)
    return bytes(found)


def request_of(asked: Asked, origin: str, body: bytes) -> Request:
    """Return a request that came here as one that is sent to another origin."""
    path = asked.scope["raw_path"].decode("ascii")
    query = asked.scope["query_string"].decode("ascii")
    url = f"{origin}{path}{'?' if query else ''}{query}"
    return Request(asked.method, url, headers_of(asked.headers.items()), body)


def error_of(
    status: int, message: str, kind: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error in a shape that every vendor's client reads."""
    error = {"message": message, "type": kind, "code": status}
    body = encoded({"type": "error", "error": error})
    return Response(body, status, headers, "application/json")
