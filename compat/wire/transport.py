"""Playing a cassette without a recorder: a transport of one's own for one client.

    client = openai.OpenAI(
        http_client=httpx2.Client(transport=ReplayTransport(recording_of(path)))
    )

Nothing of the process is replaced, so any number of sessions play at once. A request
costs the same however long the cassette is. Nothing ever waits.

A recording keeps a stream as one body, so where its pieces were cut is lost, and with
it what a client does about a cut inside a character or an event, or about an end that
comes too soon. A ``Delivery`` says both instead.

``replay`` sends a cassette's own requests: it shows that the file can be played from
its first exchange to its last, and what is in it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx2

from compat.wire.errors import (
    ChangedFileError,
    DeliveryError,
    NoManifestError,
)
from compat.wire.exchanges import Request, headers_of, pairs_of
from compat.wire.manifest import NAME, hash_of, read_manifest
from compat.wire.matching import Playback, Recording, hides, recording_of
from refengine.testing.json_values import is_list, is_mapping


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
        self._playback = Playback(recording)
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
        at = self._playback.next(request)
        self._playback.take(at)
        self._requests.append(request)
        return at + 1

    def assert_played(self) -> None:
        """Raise the first error that was given, or NotAllPlayedError."""
        self._asserted = True
        self._playback.assert_played()

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
        ours = self._playback.error
        if exc_value is None:
            self.close()
        elif exc_value is ours:
            self._asserted = True
        elif ours is not None and hides(exc_value, ours):
            # Not "from" what hides it, which has it for a cause already.
            raise ours from None

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


SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Replayed:
    """One exchange: what was asked, and in short what was answered."""

    method: str
    path: str
    status: int
    answer: str

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.method} {self.path}  {self.status}  {self.answer}"


def replay(path: Path) -> Iterator[Replayed]:
    """Send each request of a cassette through the transport that replays it.

    Raises a CassetteError if the file cannot be played, a PlayingError if it does not
    play as it stands, and ChangedFileError if a manifest beside it tells another file.
    """
    recording = recording_of(path)
    _check_manifest(path)
    transport = ReplayTransport(recording)
    with httpx2.Client(transport=transport, trust_env=False) as client:
        for exchange in recording.exchanges:
            request = exchange.request
            answer = client.request(
                request.method,
                request.url,
                content=request.body,
                headers=pairs_of(request.headers),
            )
            shown = _short(answer.headers.get("content-type", ""), answer.text)
            address = urlsplit(request.url).path
            yield Replayed(request.method, address, answer.status_code, shown)


def _check_manifest(path: Path) -> None:
    """Compare a file with its entry, if it has one: not each folder has a manifest."""
    try:
        entries = read_manifest(path.parent).cassette
    except NoManifestError:
        return
    for entry in entries:
        if entry.file == path.name and entry.sha256 != hash_of(path):
            raise ChangedFileError(NAME, path.name, "the hash differs")


def _short(kind: str, text: str) -> str:
    """Return what an answer says: its text, calls or error, else how long it is."""
    streamed = kind.startswith("text/event-stream")
    trees = list(_events(text)) if streamed else [_tree(text)]
    words = "".join(word for tree in trees for word in _words(tree))
    said = " ".join(words.split()) or f"{len(text)} characters of {kind or 'no type'}"
    said = said if len(said) <= SHOWN else f"{said[: SHOWN - 1]}…"
    return f"{len(trees)} events: {said}" if streamed else said


def _events(text: str) -> Iterator[Any]:
    for line in text.splitlines():
        field, _, data = line.partition(":")
        if field == "data" and data.strip() != "[DONE]":
            yield _tree(data)


def _tree(text: str) -> Any:  # noqa: ANN401  # what a file holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _words(tree: Any) -> Iterator[str]:  # noqa: ANN401  # what a file holds
    """Yield what an object or event of chat completions says."""
    if not is_mapping(tree):
        return
    error = tree.get("error")
    if is_mapping(error):
        yield str(error.get("message", ""))
    choices = tree.get("choices")
    for choice in choices if is_list(choices) else ():
        part = choice.get("message") or choice.get("delta")
        yield from _part(part) if is_mapping(part) else ()


def _part(part: Mapping[str, Any]) -> Iterator[str]:
    for key in ("content", "refusal"):
        if isinstance(part.get(key), str):
            yield part[key]
    for call in part.get("tool_calls") or ():
        # Arguments of parallel calls may come in turns, so a line could not hold them.
        function: Mapping[str, Any] = call.get("function") or {}
        if function.get("name"):
            yield f" [calls {function['name']}]"
