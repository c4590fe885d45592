"""vcrpy with settings under which a replayed session is the recorded one.

    with strict_cassette(Path("cassettes/weather.yaml")):
        client.chat.completions.create(…)

vcrpy by itself compares no bodies, keeps no order, and lets a session end early. Here
it only replaces the clients' transports: what comes next is decided by ``matching``.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final, NoReturn, Protocol

from compat.wire.cassette_files import exchange_of, request_of
from compat.wire.cassette_text import Anything, library
from compat.wire.errors import OpenCassetteError, PlayingError, check_absent
from compat.wire.exchanges import Exchange, Request
from compat.wire.matching import Recording, hides, recording_of
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
        self.recording = recording
        self.error: PlayingError | None = None
        self._vcr: Anything = None  # until vcrpy has loaded the file

    @property
    def played(self) -> int:
        """How many interactions were played so far."""
        return 0 if self._vcr is None else len(self._vcr.play_counts)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges that were played so far, as the file has them."""
        return self.recording.exchanges[: self.played]

    def assert_played(self) -> None:
        """Raise the first error that was given, or NotAllPlayedError."""
        if self.error is not None:
            raise self.error
        self.recording.check_all(self.played)

    def _judged(self, request: Anything) -> Anything:
        """Let a request through that comes next; vcrpy asks several times for each."""
        if self._vcr is None:
            return request
        if self.error is not None:
            raise self.error
        try:
            self.recording.check(self.played, _request(request))
        except PlayingError as error:
            self.error = error
            raise
        return request

    def _is_next(self, _sent: Anything, stored: Anything) -> bool:
        """Match by position only: the request was judged before."""
        at = self.played
        return at < len(self.recording) and self._vcr.data[at][0] is stored

    def load_cassette(self, _path: str, serializer: Anything) -> Anything:
        """Give vcrpy what it would have read, from formats that it does not read."""
        del serializer
        make = library("vcr.request").Request
        requests = [
            make(each.request.method, each.request.url, each.request.body, {})
            for each in self.recording.exchanges
        ]
        return requests, [_response(self.recording, at) for at in range(len(requests))]

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
        if session.error is None or not hides(error, session.error):
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
