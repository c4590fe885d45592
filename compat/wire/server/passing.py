"""A server that hands each request on to a vendor, and each answer back as it comes.

    http://127.0.0.1:PORT/v1/responses  →  https://api.openai.com/v1/responses

The pieces of an answer are sent as they arrive: nothing waits for its end. It is told
that a request came, and what went over the wire when its answer has ended. A thread
hears that, so that no program waits while the long body of another is looked through.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import httpx2
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Asked
from starlette.responses import Response as Answer
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from compat.wire.errors import WireError
from compat.wire.exchanges import CUT, Exchange, Request, Response, headers_of
from compat.wire.server.loopback import LoopbackServer, body_of, error_of, request_of
from compat.wire.server.refusals import ApiError

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_HOP: Final = frozenset(
    [
        "connection",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
"""Headers that are between two neighbours and are not handed on."""
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
BEHIND: Final = 100
"""When so many things are not yet heard, the next request is kept waiting."""
TIMEOUT: Final = httpx2.Timeout(None, connect=30.0)
"""How long an answer may take is the business of the program's own client."""


class TargetError(WireError, ValueError):
    """An address to which nothing can be handed on."""

    def __init__(self, to: str, problem: str) -> None:
        self.to = to
        super().__init__(
            f"{to!r} {problem}: give the base URL that the program's client has, such"
            " as https://api.openai.com/v1 or https://api.anthropic.com"
        )


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests are handed on to: an origin, and the path of its base URL."""

    origin: str
    path: str = ""

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine, so that no proxy stands in between."""
        return urlsplit(self.origin).hostname in _LOOPBACK


def target_of(to: str) -> Target:
    """Return the target that a base URL names; raises TargetError."""
    try:
        parts = urlsplit(to)
        there = parts.hostname and parts.port != 0
    except ValueError as error:
        raise TargetError(to, "is not an address") from error
    if parts.scheme not in {"http", "https"} or not there:
        raise TargetError(to, "is not an address of HTTP")
    if "@" in parts.netloc or parts.query or parts.fragment:
        shown = f"{parts.scheme}://{parts.hostname}{parts.path}"
        raise TargetError(shown, "has a user, a query or a fragment")
    return Target(f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/"))


@dataclass(frozen=True, slots=True)
class BegunExchange:
    """A request that came; ``number`` counts them from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class PassedExchange:
    """An exchange that has ended."""

    number: int
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class FailedExchange:
    """A request that got no answer from the vendor, and why."""

    number: int
    problem: str


Heard: TypeAlias = "BegunExchange | PassedExchange | FailedExchange"
Hear: TypeAlias = Callable[[Heard], None]


@dataclass(slots=True)
class Passing:
    """Hands requests on to a target, and tells what came of them.

    ``hear`` is called in a thread of its own, in the order in which things happened.
    """

    target: Target
    hear: Hear
    _count: int = 0
    _verify: ssl.SSLContext | None = field(default=None, repr=False)
    _told: int = 0
    _heard: int = 0
    _failure: BaseException | None = None
    _thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, "hearing"), repr=False
    )

    def tell(self, each: Heard) -> None:
        """Let it be heard, when all before it was."""
        self._told += 1
        self._thread.submit(self._hear, each)

    def _hear(self, each: Heard) -> None:
        try:
            self.hear(each)
        except BaseException as error:  # noqa: BLE001  # raised where all was heard
            self._failure = self._failure or error
        self._heard += 1

    async def keep_up(self) -> None:
        """Wait while much is to be heard, which is held in memory until then."""
        if self._told - self._heard > BEHIND:
            await asyncio.wrap_future(self._thread.submit(int))

    def end(self) -> None:
        """Wait until all was heard; raises what could not be."""
        self._thread.shutdown()
        if self._failure is not None:
            raise self._failure

    def client(self) -> httpx2.AsyncClient:
        """Return a client of one request; the certificates are read once."""
        direct = self.target.is_loopback
        if self._verify is None:
            self._verify = httpx2.create_ssl_context()
        return httpx2.AsyncClient(
            timeout=TIMEOUT, trust_env=not direct, verify=self._verify
        )

    async def answer(self, asked: Asked) -> Answer:
        """Answer a request with what the vendor answers."""
        self._count += 1
        number = self._count
        self.tell(BegunExchange(number))
        await self.keep_up()
        try:
            request = request_of(asked, self.target.origin, await body_of(asked))
        except ApiError as error:
            self.tell(FailedExchange(number, error.message))
            return _failed(413, error.message)
        except ClientDisconnect:
            self.tell(
                FailedExchange(
                    number, "the program closed the connection before it was answered"
                )
            )
            return Answer(status_code=400)  # which nobody reads
        return _Passed(self, number, request)


class _Passed(Answer):
    """Sends the answer of a vendor on, piece by piece."""

    def __init__(self, passing: Passing, number: int, request: Request) -> None:
        super().__init__()
        self._passing = passing
        self._number = number
        self._request = request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            async with self._passing.client() as client:
                sent = client.build_request(
                    self._request.method,
                    self._request.url,
                    content=self._request.body,
                    headers=_handed(self._request),
                )
                answer = await client.send(sent, stream=True)
                try:
                    await self._hand(answer, scope, send)
                finally:
                    await answer.aclose()
        except httpx2.HTTPError as error:
            problem = f"{type(error).__name__}: {str(error) or 'no more is known'}"
            self._passing.tell(FailedExchange(self._number, problem))
            text = f"the vendor cannot be asked ({type(error).__name__})"
            await _failed(502, text)(scope, receive, send)

    async def _hand(self, answer: httpx2.Response, scope: Scope, send: Send) -> None:
        """Send what arrives; a connection that breaks off is broken off here, too."""
        lines = [
            (name.lower(), value)
            for name, value in answer.headers.raw
            if name.decode("latin-1").lower() not in _HOP
        ]
        start = {"type": "http.response.start", "status": answer.status_code}
        await send({**start, "headers": lines})
        body, ended = bytearray(), False
        size = answer.headers.get("content-length")
        try:
            async for piece in answer.aiter_raw():
                body += piece
                if size == str(len(body)):
                    # First: with this piece the program has all, and may ask again.
                    ended = self._told(answer, body, ended=True)
                more = {"type": "http.response.body", "body": piece, "more_body": True}
                await send(more)
            ended = ended or self._told(answer, body, ended=True)
        except httpx2.TransportError:
            scope["state"]["transport"].close()
        finally:
            # Also where this server is ended in the middle of an answer.
            if not ended:
                self._told(answer, body, ended=False)
        if ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _told(self, answer: httpx2.Response, body: bytearray, *, ended: bool) -> bool:
        headers = headers_of(answer.headers.multi_items())
        if not ended:
            headers[CUT] = ("1",)
        said = Response(answer.status_code, answer.reason_phrase, headers, bytes(body))
        exchange = Exchange(self._request, said)
        self._passing.tell(PassedExchange(self._number, exchange))
        return True


def _handed(request: Request) -> list[tuple[str, str]]:
    """Return the headers to send; answers are packed only as they can be looked into.

    ``content-length`` is that of the whole body, which a client may have sent in parts.
    """
    own = {*_HOP, "accept-encoding", "content-length"}
    found = [
        (name, value)
        for name, values in request.headers.items()
        if name not in own
        for value in values
    ]
    packed = "gzip" in "".join(request.headers.get("accept-encoding", ()))
    return [*found, ("accept-encoding", "gzip" if packed else "identity")]


def _failed(status: int, text: str) -> Answer:
    return error_of(status, f"refengine cassette proxy: {text}", "api_error")


class PassingServer(LoopbackServer):
    """Hands requests on to ``to``, a vendor's base URL; raises TargetError."""

    def __init__(self, to: str, hear: Hear, *, port: int = 0) -> None:
        super().__init__(port=port)
        self._target = target_of(to)
        self._passing = Passing(self._target, hear)

    def __exit__(self, *_: object) -> None:
        try:
            super().__exit__()
        finally:
            self._passing.end()

    def serve(self, listening: Callable[[], None]) -> None:
        """Serve as any of them does, until all that came was heard, too."""
        try:
            super().serve(listening)
        finally:
            self._passing.end()

    @property
    def base_url(self) -> str:
        """What to give a client in place of the vendor's base URL."""
        return f"{self.root}{self._target.path}"

    def _application(self) -> Starlette:
        answer = self._passing.answer
        return Starlette(routes=[Route("/{path:path}", answer, methods=[*METHODS])])
