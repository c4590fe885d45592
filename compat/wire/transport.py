"""Playing a cassette without a recorder: a transport of one's own for one client.

    client = openai.OpenAI(
        http_client=httpx2.Client(transport=ReplayTransport(recording_of(path)))
    )

Nothing of the process is replaced, so any number of sessions play at once. A request
costs the same however long the cassette is. Nothing ever waits.

A recording keeps a stream as one body, so where its pieces were cut is lost, and with
it what a client does about a cut inside a character or an event, or about an end that
comes too soon. A ``Delivery`` says both instead.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Final, Self

import httpx2

from compat.wire.errors import DeliveryError, PlayingError
from compat.wire.exchanges import Request, headers_of, pairs_of
from compat.wire.matching import Recording, hides


@dataclass(frozen=True, slots=True)
class Delivery:
    """How one body is delivered; as it is made, in one piece and to its end.

    ``cuts`` are places between bytes at which it is cut, in any order. ``every`` cuts
    it after each so many bytes. After ``breaks_at`` bytes the connection breaks.
    """

    cuts: tuple[int, ...] = ()
    every: int = 0
    breaks_at: int | None = None

    def __post_init__(self) -> None:
        """Raise DeliveryError for places that no body has."""
        if self.every < 0 or min([*self.cuts, self.breaks_at or 0]) < 0:
            raise DeliveryError(f"{self} names a place before the body")


def rechunked(body: bytes, delivery: Delivery) -> tuple[bytes, ...]:
    """Return the pieces that arrive, none of them empty; together they are the body.

    Of a body that breaks off, together they are its beginning. Raises DeliveryError if
    a place lies behind the body.
    """
    end = len(body) if delivery.breaks_at is None else delivery.breaks_at
    if max([*delivery.cuts, end]) > len(body):
        raise DeliveryError(
            f"{delivery} names a place behind the last of {len(body)} bytes"
        )
    steps = range(0, end, delivery.every) if delivery.every else ()
    bounds = sorted({0, end, *steps, *(cut for cut in delivery.cuts if cut < end)})
    return tuple(body[start:stop] for start, stop in pairwise(bounds))


def check_numbers(deliveries: Mapping[int, Delivery], interactions: int) -> None:
    """Raise DeliveryError if one is for an interaction that is not there."""
    unknown = sorted(set(deliveries) - set(range(1, interactions + 1)))
    if unknown:
        raise DeliveryError(f"there is no interaction {unknown[0]} of {interactions}")


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
        self._breaks |= {
            number for number, each in enumerate(recording.responses, 1) if each.cut
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
