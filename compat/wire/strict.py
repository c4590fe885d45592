"""vcrpy with settings under which a replayed session is the recorded one.

    with strict_cassette(Path("cassettes/weather.yaml")):
        client.chat.completions.create(…)

vcrpy by itself compares no bodies, keeps no order, and lets a session end early. Here
it only replaces the clients' transports: what comes next is decided by ``matching``.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final, NoReturn, Protocol

from compat.wire.cassette_files import exchange_of, request_of
from compat.wire.cassette_text import Anything, library
from compat.wire.errors import OpenCassetteError, check_absent
from compat.wire.exchanges import Exchange, Request
from compat.wire.matching import Playback, Recording, hides, recording_of
from compat.wire.scrubbing import Scrubber
from compat.wire.writing import write_cassette

_OPEN: Final = Lock()
"""Held while a cassette is open. It is the one state of a module here, because what
vcrpy replaces is one for the process, too."""


class StrictCassette(Protocol):
    """An open cassette, whether it is being played or recorded."""

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """What went over the wire so far; recorded ones are not scrubbed yet."""
        ...


class PlayedCassette:
    """A cassette that is played: how far, and what went wrong first."""

    def __init__(self, recording: Recording) -> None:
        self.playback = Playback(recording)
        self._vcr: Anything = None  # until vcrpy has loaded the file
        self._next = 0

    @property
    def played(self) -> int:
        """How many interactions were played so far."""
        return len(self._played)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges that were played so far, as the file has them."""
        return tuple(self.playback.recording.exchanges[at] for at in self._played)

    @property
    def _played(self) -> Sequence[int]:
        """What vcrpy has played, in the order in which it did."""
        return () if self._vcr is None else tuple(self._vcr.play_counts)

    def assert_played(self) -> None:
        """Raise the first error that was given, or NotAllPlayedError."""
        self._note()
        self.playback.assert_played()

    def _note(self) -> None:
        for at in self._played[self.playback.played :]:
            self.playback.take(at)

    def _judged(self, request: Anything) -> Anything:
        """Let a request through that comes next; vcrpy asks several times for each."""
        if self._vcr is not None:
            self._note()
            self._next = self.playback.next(_request(request))
        return request

    def _is_next(self, _sent: Anything, stored: Anything) -> bool:
        """Match by position only: the request was judged before."""
        return self._vcr.data[self._next][0] is stored

    def load_cassette(self, _path: str, serializer: Anything) -> Anything:
        """Give vcrpy what it would have read, from formats that it does not read."""
        del serializer
        make, recording = library("vcr.request").Request, self.playback.recording
        requests = [
            make(each.request.method, each.request.url, each.request.body, {})
            for each in recording.exchanges
        ]
        return requests, [_response(recording, at) for at in range(len(requests))]

    def save_cassette(
        self, path: str, cassette: Anything, serializer: Anything
    ) -> None:
        """Write nothing: what was played is in the file."""


class RecordedCassette:
    """A cassette that is being recorded; it is written when it is left."""

    def __init__(self) -> None:
        self._vcr: Anything = None

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges so far, as they were; they hold secrets."""
        seen: Anything = [] if self._vcr is None else self._vcr.data
        return tuple(
            exchange_of(
                {"request": _tree(request), "response": response}, "recording", number
            )
            for number, (request, response) in enumerate(seen, 1)
        )

    def load_cassette(self, path: str, serializer: Anything) -> NoReturn:
        """Begin with nothing, also if the file is to be written over."""
        del path, serializer
        raise library("vcr.persisters.filesystem").CassetteNotFoundError

    def save_cassette(
        self, path: str, cassette: Anything, serializer: Anything
    ) -> None:
        """Write nothing: vcrpy stays installed if this raises, so we write later."""


@contextmanager
def strict_cassette(
    path: Path,
    *,
    record: bool = False,
    overwrite: bool = False,
    scrubber: Scrubber | None = None,
) -> Generator[StrictCassette]:
    """Replay a cassette: each request in its order, all of them, each exactly once.

    Raises a CassetteError if the file cannot be played and OpenCassetteError if another
    one is open; inside and on leaving MismatchError, ExtraRequestError or
    NotAllPlayedError. On leaving they come out also if a client or a test caught them.

    With ``record`` it is recorded instead, then scrubbed, and written on leaving unless
    an error is on its way out. Raises RecordingError for a file that is there, if not
    ``overwrite`` is given, or without a request, and a ScrubbingError if a secret
    would be in the file. ``scrubber`` knows the secrets in use; give the same to both.
    """
    rules = scrubber or Scrubber()
    if record:
        check_absent(path, overwrite=overwrite)
    opened = _recorded(path, rules) if record else _played(path, rules)
    with opened as session:
        yield session


@contextmanager
def _played(path: Path, scrubber: Scrubber) -> Generator[PlayedCassette]:
    session = PlayedCassette(recording_of(path, scrubber))
    settings = {
        "record_mode": "none",
        "before_record_request": session._judged,  # noqa: SLF001  # our own session
        "match_on": ("refengine",),
    }
    try:
        with _installed(path, session, settings):
            yield session
    except Exception as error:
        ours = session.playback.error
        if ours is None or not hides(error, ours):
            raise
    session.assert_played()


@contextmanager
def _recorded(path: Path, scrubber: Scrubber) -> Generator[RecordedCassette]:
    session = RecordedCassette()
    settings = {"record_mode": "all", "record_on_exception": False}
    with _installed(path, session, settings):
        yield session
    write_cassette(path, session.exchanges, scrubber)


@contextmanager
def _installed(
    path: Path, session: Anything, settings: dict[str, Any]
) -> Generator[None]:
    """Have vcrpy replace the transports of this process for the session."""
    vcr = library("vcr").VCR()
    if "match_on" in settings:
        vcr.register_matcher("refengine", session._is_next)  # noqa: SLF001  # our own
    vcr.register_persister(session)
    if not _OPEN.acquire(blocking=False):
        raise OpenCassetteError(path.name)
    try:
        with _quiet(), vcr.use_cassette(str(path), **settings) as opened:
            session._vcr = opened  # noqa: SLF001  # our own session
            yield
    finally:
        _OPEN.release()


@contextmanager
def _quiet() -> Generator[None]:
    """Keep vcrpy from logging: on level INFO it tells whole responses."""
    logger = logging.getLogger("vcr")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _response(recording: Recording, at: int) -> dict[str, Any]:
    response = recording.responses[at]
    return {
        "status": {"code": response.status, "message": response.reason},
        "headers": {name: list(values) for name, values in response.headers.items()},
        "body": {"string": response.body},
        "url": response.url,
    }


def _request(request: Anything) -> Request:
    return request_of(_tree(request), "the request", 0)


def _tree(request: Anything) -> dict[str, Any]:
    """Return a request of vcrpy's as a file would hold it."""
    body = request.body
    if hasattr(body, "read"):
        body = body.read()
    elif not isinstance(body, (bytes, str, type(None))):
        body = list(body)
    headers = dict(request.headers.items())
    return {
        "method": request.method,
        "uri": request.uri,
        "headers": headers,
        "body": body,
    }
