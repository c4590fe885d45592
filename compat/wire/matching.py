"""The one order in which a cassette is played, and what is not that order.

The n-th request must be that of the n-th interaction; of those that overlapped when
they were recorded each may come first. This is the only judge: vcrpy and our own
transport ask it, so that they cannot disagree.

A response is played at once, and as the body it has here. Clients sleep as long as
``retry-after`` says, and without one for a while of their own. On replay nobody is
overloaded, so each response that a client may try again for says that it may at once.
The file keeps what was recorded.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Final

from compat.wire.canonical import Canonical, canonical_request
from compat.wire.cassette_files import read_cassette
from compat.wire.errors import (
    CassetteError,
    ExtraRequestError,
    MismatchError,
    NotAllPlayedError,
    PlayingError,
    no_interaction,
)
from compat.wire.exchanges import Exchange, Request, Response, first, is_address
from compat.wire.json_trees import JsonDifference, first_difference
from compat.wire.scrubbing import Scrubber

_RETRIED: Final = {408, 409, 425, 429}
_WAIT: Final = {"retry-after", "retry-after-ms"}
_TRANSFER: Final = {"content-encoding", "transfer-encoding"}
_NOW: Final = {"retry-after": ("0",), "retry-after-ms": ("0.001",)}
"""Clients of OpenAI and Anthropic read the second one first and take no 0 there; others
read the first, of which it is the smallest value."""


def playable(response: Response) -> Response:
    """Return the response to be given to a client.

    Its length is that of the decoded body; the reset times of a rate limit are past.
    """
    headers = {
        name: _played(name, values, response)
        for name, values in response.headers.items()
        if name not in _TRANSFER
    }
    if headers.keys() & _WAIT or _is_retried(response.status):
        headers |= _NOW
    return replace(response, headers=headers)


def _played(name: str, values: tuple[str, ...], response: Response) -> tuple[str, ...]:
    if name == "content-length":
        return (str(len(response.body)),)
    return ("0",) if name.startswith("x-ratelimit-reset") else values


def _is_retried(status: int) -> bool:
    return status in _RETRIED or status >= 500


HIDDEN: Final = JsonDifference("a value that is scrubbed", "(not told)", "(not told)")
"""Where two requests differ only in what no error may show."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A cassette made ready: forms to compare with, responses to give.

    It is never changed, so that any number of sessions may play it at once.
    ``positions`` are the interactions of each digest, counted from 1; ``last`` says of
    each place how far the interactions reach that may be played there.
    """

    file: str
    exchanges: tuple[Exchange, ...]
    digests: tuple[frozenset[str], ...]
    responses: tuple[Response, ...]
    positions: Mapping[str, Sequence[int]]
    last: Sequence[int]
    scrubber: Scrubber

    def __len__(self) -> int:
        """Return how many interactions it holds."""
        return len(self.exchanges)

    def next(self, place: int, taken: Container[int], request: Request) -> int:
        """Return which interaction is played, counted from 0.

        ``place`` is the first that was not played, and ``taken`` are those behind it
        that were. Raises ExtraRequestError or MismatchError. The request is compared as
        it is and, since a file has placeholders where requests have secrets, scrubbed.
        A file that was not scrubbed is compared by what stands in it, but for fields
        that the caller names.
        """
        if place >= len(self):
            sent = str(self.scrubber.request(request))
            raise ExtraRequestError(self.file, len(self), sent)
        if _same_bytes(self.exchanges[place].request, request):
            return place
        digests = [form.digest for form in _forms_sent(request, self.scrubber)]
        open_ = self._open(place, taken)
        for at in open_:
            if not self.digests[at].isdisjoint(digests):
                return at
        raise self._mismatch([at + 1 for at in open_], request, digests)

    def _open(self, place: int, taken: Container[int]) -> Sequence[int]:
        """Return what may come: the first, and what overlapped it when recorded."""
        behind = (
            at
            for at in range(place + 1, self.last[place] + 1)
            if at not in taken and _after(self.exchanges[at], at) <= place
        )
        return [place, *behind]

    def _mismatch(
        self, numbers: Sequence[int], sent: Request, digests: Sequence[str]
    ) -> MismatchError:
        """Return the error, which tells both sides only as scrubbed."""
        recorded = self.exchanges[numbers[0] - 1].request
        sides = [self.scrubber.request(each) for each in (recorded, sent)]
        trees = [canonical_request(each).tree for each in sides]
        difference = first_difference(*trees) or HIDDEN
        matches = {at for each in digests for at in self.positions.get(each, ())}
        found = difference, sorted(matches)
        shown = str(sides[0]), str(sides[1])
        return MismatchError(self.file, numbers, shown, found)

    def described(self, at: int) -> str:
        """Return an interaction, counted from 0, in a line without a secret."""
        return str(self.scrubber.request(self.exchanges[at].request))


class Playback:
    """One session of a recording: what was played of it, and what went wrong first."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.error: PlayingError | None = None
        self.place = 0
        """The first interaction that was not played, counted from 0."""
        self._taken: set[int] = set()

    @property
    def played(self) -> int:
        """How many interactions were played so far."""
        return self.place + len(self._taken)

    def next(self, request: Request) -> int:
        """Return which interaction comes next, counted from 0; raises a PlayingError.

        A client that tries again gets the error that it got, not what comes after it.
        """
        if self.error is not None:
            raise self.error
        try:
            return self.recording.next(self.place, self._taken, request)
        except PlayingError as error:
            self.error = error
            raise

    def take(self, at: int) -> None:
        """Note that an interaction was played."""
        self._taken.add(at)
        while self.place in self._taken:
            self._taken.discard(self.place)
            self.place += 1

    def assert_played(self) -> None:
        """Raise the first error that was given, or NotAllPlayedError."""
        if self.error is not None:
            raise self.error
        places = range(self.place, len(self.recording))
        left = [at for at in places if at not in self._taken]
        if left:
            named = {at + 1: self.recording.described(at) for at in left}
            raise NotAllPlayedError(self.recording.file, self.played, named)


def recording_of(path: Path, scrubber: Scrubber | None = None) -> Recording:
    """Read a cassette and make it ready; raises a CassetteError."""
    return ready(path.name, read_cassette(path), scrubber)


def ready(
    file: str, exchanges: Iterable[Exchange], scrubber: Scrubber | None = None
) -> Recording:
    """Make exchanges ready to be played; raises CassetteError without any."""
    given = tuple(exchanges)
    if not given:
        raise no_interaction(file)
    _check_addresses(file, given)
    rules = scrubber or Scrubber()
    digests = tuple(frozenset(_forms_of(each.request, rules)) for each in given)
    responses = tuple(playable(each.response) for each in given)
    positions: dict[str, list[int]] = {}
    for number, each in enumerate(digests, 1):
        for digest in each:
            positions.setdefault(digest, []).append(number)
    return Recording(
        file, given, digests, responses, positions, _reach(file, given), rules
    )


def _reach(file: str, exchanges: Sequence[Exchange]) -> Sequence[int]:
    """Return for each place the last interaction whose request came before its end."""
    reach = list(range(len(exchanges)))
    for at, each in enumerate(exchanges):
        after = _after(each, at)
        if after > at:
            problem = f"it is after {after} interactions, and {at} stand before it"
            raise CassetteError(file, f"{problem}: record it again", at + 1)
        reach[after] = max(reach[after], at)
    return list(accumulate(reach, max))


def _check_addresses(file: str, exchanges: Sequence[Exchange]) -> None:
    for number, each in enumerate(exchanges, 1):
        if not is_address(each.request.url):
            problem = (
                "the uri is not an address, so no request can be compared with it:"
                " record it with its address (migrate check --worlds reads it as it is)"
            )
            raise CassetteError(file, problem, number)


def _after(exchange: Exchange, at: int) -> int:
    return at if exchange.after is None else exchange.after


def _forms_of(request: Request, scrubber: Scrubber) -> Iterator[str]:
    """Yield the digests of a recorded request: as it is, without fields that differ."""
    yield _without_credentials(request, scrubber).digest
    if scrubber.fields:
        yield canonical_request(scrubber.request(request)).digest


def _without_credentials(request: Request, scrubber: Scrubber) -> Canonical:
    """Return a form without the keys of its address, which everybody names his own."""
    return canonical_request(replace(request, url=scrubber.url(request.url)))


def _forms_sent(request: Request, scrubber: Scrubber) -> Iterator[Canonical]:
    yield _without_credentials(request, scrubber)
    yield canonical_request(scrubber.request(request))


def _same_bytes(recorded: Request, sent: Request) -> bool:
    """Tell the usual case apart without reading a body."""
    return (
        recorded.body == sent.body
        and recorded.url == sent.url
        and recorded.method == sent.method
        and first(recorded.headers, "content-type")
        == first(sent.headers, "content-type")
        and "content-encoding" not in sent.headers
    )


def hides(seen: BaseException, error: PlayingError) -> bool:
    """Tell whether an error on its way out is to be replaced by ours, noting which.

    Clients turn ours into one of a lost connection. What ends a process or skips a test
    is let through.
    """
    if seen is error or not isinstance(seen, Exception):
        return False
    error.add_note(f"The client turned this error into {type(seen).__name__}")
    return True
