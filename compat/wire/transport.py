"""Playing a cassette without a recorder: a transport of one's own for one client.

    client = openai.OpenAI(
        http_client=httpx2.Client(transport=ReplayTransport(recording_of(path)))
    )

Nothing of the process is replaced, so any number of sessions play at once. A request
costs the same however long the cassette is. Nothing ever waits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Final, Self

import httpx2

from compat.wire.errors import PlayingError
from compat.wire.exchanges import Request, headers_of, pairs_of
from compat.wire.matching import Recording, hides
from compat.wire.rechunk import Delivery, check_numbers, rechunked

WHOLE: Final = Delivery()
_NONE: Final[Mapping[int, Delivery]] = MappingProxyType({})


class ReplayTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Plays one recording once, in its order, to synchronous or asynchronous clients.

    ``deliveries`` say how bodies arrive, by the number of the interaction from 1.
    Leaving it, or closing its client, raises the first error it gave, which the client
    may have hidden, or NotAllPlayedError.
    """

    def __init__(
        self, recording: Recording, *, deliveries: Mapping[int, Delivery] = _NONE
    ) -> None:
        check_numbers(deliveries, len(recording))
        self.recording = recording
        self._pieces = {
            number: rechunked(recording.responses[number - 1].body, delivery)
            for number, delivery in deliveries.items()
        }
        self._breaks = {
            number
            for number, delivery in deliveries.items()
            if delivery.breaks_at is not None
        }
        self._requests: list[Request] = []
        self._error: PlayingError | None = None
        self._asserted = False
        self._lock = Lock()

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests that were played so far, as they were sent."""
        return tuple(self._requests)

    @property
    def played(self) -> int:
        """How many interactions were played so far."""
        return len(self._requests)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer with the next response; raises a PlayingError."""
        return self._play(request, request.read())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer with the next response; raises a PlayingError."""
        return self._play(request, await request.aread())

    def _play(self, sent: httpx2.Request, body: bytes) -> httpx2.Response:
        headers = headers_of(sent.headers.multi_items())
        request = Request(sent.method, str(sent.url), headers, body)
        with self._lock:
            number = self._next(request)
        response = self.recording.responses[number - 1]
        pieces = self._pieces.get(number, (response.body,))
        return httpx2.Response(
            response.status,
            headers=pairs_of(response.headers),
            stream=_Pieces(pieces, breaks=number in self._breaks),
            extensions={"reason_phrase": response.reason.encode("ascii", "replace")},
        )

    def _next(self, request: Request) -> int:
        """Return the number of the interaction that is played; the lock is held."""
        if self._error is not None:
            # A client that tries again gets the same answer, not the one after it.
            raise self._error
        try:
            self.recording.check(len(self._requests), request)
        except PlayingError as error:
            self._error = error
            raise
        self._requests.append(request)
        return len(self._requests)

    def assert_played(self) -> None:
        """Raise the first error that was given, or NotAllPlayedError."""
        self._asserted = True
        if self._error is not None:
            raise self._error
        self.recording.check_all(len(self._requests))

    def close(self) -> None:
        """As assert_played, once: a client may close what its user has left."""
        if not self._asserted:
            self.assert_played()

    async def aclose(self) -> None:
        """As close."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """Close; of two errors, ours is why the other one came."""
        if exc_value is None:
            self.close()
        elif exc_value is self._error:
            self._asserted = True
        elif self._error is not None and hides(exc_value, self._error):
            # Not "from" what hides it, which has it for a cause already.
            raise self._error from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """As __exit__."""
        self.__exit__(exc_type, exc_value, traceback)


class _Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that arrives in pieces, and may break off behind the last one."""

    def __init__(self, pieces: tuple[bytes, ...], *, breaks: bool) -> None:
        self._given = pieces
        self._breaks = breaks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._given
        if self._breaks:
            raise httpx2.RemoteProtocolError(
                "peer closed connection without sending complete message body"
                " (incomplete chunked read)"
            )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in iter(self):
            yield piece
