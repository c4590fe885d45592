"""The application: OpenAI's chat completions and list of models, from a script.

Each path also stands below the name of a session: ``/v1/…`` is the session ``default``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from compat.wire.server.refusals import (
    NOT_FOUND,
    TOO_LONG,
    UNAUTHORIZED,
    WRONG_METHOD,
    ApiError,
)
from compat.wire.server.requests import check_request, parsed
from compat.wire.server.sessions import (
    DEFAULT,
    ConnectionCut,
    ServedSession,
    Sessions,
)
from compat.wire.server.shapes import Reply, chat_options, encoded, model, models

LIMIT: Final = 64 * 1024 * 1024
"""No request is longer than so many bytes."""
HERE: Final = "POST /v1/chat/completions and GET /v1/models"


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


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What is answered at each path."""

    sessions: Sessions
    names: tuple[str, ...]

    async def chat(self, request: Request) -> Response:
        """Answer ``POST /chat/completions``."""
        session = self._session(request)
        body = parsed(await body_of(request))
        session.receive(body)
        headers = {"x-request-id": f"req-{session.name}-{len(session.requests)}"}
        try:
            check_request(body)
            return self._reply(session, body, headers)
        except ApiError as error:
            return _error(error, headers)
        except ConnectionCut:
            return EventStream((), headers, cut=True)

    def _reply(
        self,
        session: ServedSession,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> Response:
        options = chat_options(session.name, body)
        answer = session.script.answer(stream=options.stream)
        reply = Reply(answer, options)
        if not options.stream:
            return _json(reply.whole(), headers)
        headers = {**headers, "cache-control": "no-cache"}
        return EventStream(tuple(reply.pieces()), headers, cut=answer.cut)

    async def models(self, request: Request) -> Response:
        """Answer ``GET /models``."""
        self._session(request)
        return _json(models(self.names))

    async def model(self, request: Request) -> Response:
        """Answer ``GET /models/NAME``."""
        self._session(request)
        name = request.path_params["model"]
        if name not in self.names:
            text = f"There is no model '{name}' in the list of models."
            raise ApiError(text, param="model", code="model_not_found", kind=NOT_FOUND)
        return _json(model(name))

    def _session(self, request: Request) -> ServedSession:
        """Return whose request it is; raises ApiError if it has no key."""
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            text = "There is no key: send 'Authorization: Bearer KEY', with any KEY."
            raise ApiError(text, kind=UNAUTHORIZED)
        return self.sessions.session(request.path_params.get("session", DEFAULT))


def application(endpoints: Endpoints) -> Starlette:
    """Return the application."""
    paths: list[tuple[str, Callable[[Request], Any], str]] = [
        ("/v1/chat/completions", endpoints.chat, "POST"),
        ("/v1/models", endpoints.models, "GET"),
        ("/v1/models/{model}", endpoints.model, "GET"),
    ]
    return Starlette(
        routes=[
            Route(f"{below}{path}", answer, methods=[method])
            for path, answer, method in paths
            for below in ("", "/{session}")
        ],
        exception_handlers={
            ApiError: _refused,
            HTTPException: _no_such_path,
            ClientDisconnect: _nobody_there,
        },
    )


async def body_of(request: Request) -> bytes:
    """Return the whole body; raises ApiError when it is longer than can be meant."""
    found = bytearray()
    async for piece in request.stream():
        found += piece
        if len(found) > LIMIT:
            raise ApiError(f"The body is longer than {LIMIT} bytes.", kind=TOO_LONG)
    return bytes(found)


async def _refused(_: Request, error: Exception) -> Response:
    return _error(error) if isinstance(error, ApiError) else Response(status_code=500)


async def _nobody_there(_: Request, __: Exception) -> Response:
    return Response(status_code=400)  # which nobody reads


async def _no_such_path(request: Request, error: Exception) -> Response:
    kind = WRONG_METHOD if getattr(error, "status_code", 404) == 405 else NOT_FOUND
    what = f"{request.method} {request.url.path}"
    return _error(ApiError(f"{what} is not served here, only {HERE}.", kind=kind))


def _error(error: ApiError, headers: Mapping[str, str] | None = None) -> Response:
    return _json(error.body, {**(headers or {}), **error.kind.headers}, error)


def _json(
    body: object,
    headers: Mapping[str, str] | None = None,
    error: ApiError | None = None,
) -> Response:
    status = 200 if error is None else error.kind.status
    return Response(encoded(body), status, headers, "application/json")
