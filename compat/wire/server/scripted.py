"""The scripted server: a scenario's model behind OpenAI's interface, on loopback.

``ScriptedServer`` runs it in a thread, for tests; ``serve`` runs it until a signal ends
it, for the command. It answers chat completions and the list of models. Each path also
stands below the name of a session: ``/v1/…`` is the session ``default``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from compat.wire.server.loopback import EventStream, LoopbackServer, body_of
from compat.wire.server.refusals import (
    NOT_FOUND,
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
from refengine.testing.scenario import Scenario

HERE: Final = "POST /v1/chat/completions and GET /v1/models"


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


MODEL: Final = "scripted"
"""What the list of models has in it, unless another name is given."""


class ScriptedServer(LoopbackServer):
    """Serves a scenario while its ``with`` block runs, in a thread of its own.

    ``base_url`` is the session ``default``; ``session(name)`` is another client's, with
    its own place in the script; ``open(name, scenario)`` one with its own script.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        port: int = 0,
        model: str = MODEL,
    ) -> None:
        super().__init__(port=port)
        self._sessions = Sessions(scenario)
        self._endpoints = Endpoints(self._sessions, (model,))

    @property
    def base_url(self) -> str:
        """The base URL to give a client that names no session."""
        return f"{self.root}/v1"

    @property
    def requests(self) -> Mapping[str, tuple[Mapping[str, Any], ...]]:
        """The bodies that each session received, by its name, in their order."""
        return {session.name: session.requests for session in self._sessions}

    @property
    def sessions(self) -> tuple[ServedSession, ...]:
        """The sessions there are so far."""
        return tuple(self._sessions)

    def session(self, name: str = DEFAULT) -> ServedSession:
        """Return a session, begun if nobody asked yet; raises SessionNameError."""
        return self._sessions.get(name)

    def open(self, name: str, scenario: Scenario) -> ServedSession:
        """Return a new session with a script of its own.

        Raises SessionNameError and NotAnAnswerError.
        """
        return self._sessions.open(name, scenario)

    def _application(self) -> Starlette:
        self._sessions.root = self.root
        return application(self._endpoints)
