"""A server that replays a cassette to a program: the same requests, in the same order.

It is as strict as the ways to replay inside a process, and asks the same judge. The
first request that differs is told, and answered with an error that clients do not try
again; so is every request after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Asked
from starlette.responses import Response as Answer
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from compat.wire.errors import PlayingError
from compat.wire.exchanges import Request, Response, first, pairs_of
from compat.wire.matching import Playback, Recording
from compat.wire.server.loopback import LoopbackServer, body_of, error_of, request_of
from compat.wire.server.passing import METHODS
from compat.wire.server.refusals import ApiError

_BELOW: Final = re.compile(
    r"/(chat/completions|responses(/.*)?|models/[^/]+:\w+|messages(/\w+)?)$"
)
"""What interfaces have below the base URL of their clients; Anthropic's also have /v1
there, and Gemini's the version."""
_OWN_VERSION: Final = re.compile(r"/v\d\w*$")
_EVENT: Final = re.compile(rb".*?(?:\r\n\r\n|\n\n|\r\r)", re.DOTALL)


def base_path(url: str) -> str:
    """Return the path of the base URL that a client was given, by what it asked."""
    path = urlsplit(url).path
    below = _BELOW.search(path)
    if below is None:
        return ""
    base = path[: below.start()]
    own = below[1].startswith(("messages", "models/"))
    return _OWN_VERSION.sub("", base) if own else base


class ReplayServer(LoopbackServer):
    """Replays one recording once; ``say`` is told the first request that differs.

    The origin of an address is not compared, since it is this server's: all else is.
    """

    def __init__(
        self, recording: Recording, say: Callable[[str], None], *, port: int = 0
    ) -> None:
        super().__init__(port=port)
        self.playback = Playback(recording)
        self._say = say

    @property
    def base_url(self) -> str:
        """What to give a client in place of the base URL that was recorded."""
        first_asked = self.playback.recording.exchanges[0].request
        return f"{self.root}{base_path(first_asked.url)}"

    async def answer(self, asked: Asked) -> Answer:
        """Answer a request with the next response, if it is the next request."""
        try:
            request = self._request(asked, await body_of(asked))
        except ApiError as error:
            return _refused(error.message)
        except ClientDisconnect:
            return Answer(status_code=400)  # which nobody reads
        told = self.playback.error
        try:
            at = self.playback.next(request)
        except PlayingError as error:
            if told is None:
                self._say(str(error))
            return _refused(str(error))
        self.playback.take(at)
        return _Replayed(self.playback.recording.responses[at])

    def _request(self, asked: Asked, body: bytes) -> Request:
        """Return a request as it would have been sent to the vendor of its turn."""
        recording = self.playback.recording
        at = min(self.playback.place, len(recording) - 1)
        there = urlsplit(recording.exchanges[at].request.url)
        return request_of(asked, f"{there.scheme}://{there.netloc}", body)

    def _application(self) -> Starlette:
        return Starlette(
            routes=[Route("/{path:path}", self.answer, methods=[*METHODS])]
        )


class _Replayed(Answer):
    """Sends a recorded response, a stream event by event, or broken off as it was."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self._response = response

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002  # as of the class above
        send: Send,
    ) -> None:
        """Answer one request."""
        told = self._response
        lines = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in pairs_of(told.headers)
        ]
        start = {"type": "http.response.start", "status": told.status}
        await send({**start, "headers": lines})
        for piece in _pieces(told):
            body = {"type": "http.response.body", "body": piece, "more_body": True}
            await send(body)
        if told.cut:
            scope["state"]["transport"].close()
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _pieces(response: Response) -> Sequence[bytes]:
    body = response.body
    if "event-stream" not in first(response.headers, "content-type"):
        return [body]
    events = _EVENT.findall(body)
    rest = body[sum(map(len, events)) :]
    return [*events, rest] if rest else events


def _refused(text: str) -> Answer:
    return error_of(400, text, "invalid_request_error", {"x-should-retry": "false"})
