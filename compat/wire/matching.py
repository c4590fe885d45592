"""The one order in which a cassette is played, and what is not that order.

The n-th request must be that of the n-th interaction. This is the only judge: vcrpy and
our own transport ask it, so that they cannot disagree.

A response is played at once, and as the body it has here. Clients sleep as long as
``retry-after`` says, and without one for a while of their own. On replay nobody is
overloaded, so each response that a client may try again for says that it may at once.
The file keeps what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from compat.wire.canonical import Canonical, canonical_request
from compat.wire.cassette_files import read_cassette
from compat.wire.errors import (
    ExtraRequestError,
    MismatchError,
    NotAllPlayedError,
    PlayingError,
    no_interaction,
)
from compat.wire.exchanges import Exchange, Request, Response, first
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
    ``positions`` are the interactions of each digest, counted from 1.
    """

    file: str
    exchanges: tuple[Exchange, ...]
    forms: tuple[Canonical, ...]
    responses: tuple[Response, ...]
    positions: Mapping[str, Sequence[int]]
    scrubber: Scrubber

    def __len__(self) -> int:
        """Return how many interactions it holds."""
        return len(self.exchanges)

    def check(self, played: int, request: Request) -> None:
        """Raise unless the request is the next one after that many were played.

        Raises ExtraRequestError or MismatchError. The request is compared as it is and,
        since a file has placeholders where requests have secrets, scrubbed. A file that
        was not scrubbed is compared by what stands in it.
        """
        if played >= len(self):
            sent = str(self.scrubber.request(request))
            raise ExtraRequestError(self.file, len(self), sent)
        if _same_bytes(self.exchanges[played].request, request):
            return
        digests = [form.digest for form in _forms_sent(request, self.scrubber)]
        if self.forms[played].digest not in digests:
            raise self._mismatch(played, request, digests)

    def _mismatch(
        self, played: int, sent: Request, digests: Sequence[str]
    ) -> MismatchError:
        """Return the error, which tells both sides only as scrubbed."""
        recorded = self.exchanges[played].request
        sides = [self.scrubber.request(each) for each in (recorded, sent)]
        trees = [canonical_request(each).tree for each in sides]
        difference = first_difference(*trees) or HIDDEN
        matches = {at for each in digests for at in self.positions.get(each, ())}
        found = difference, sorted(matches)
        shown = str(sides[0]), str(sides[1])
        return MismatchError(self.file, played + 1, shown, found)

    def check_all(self, played: int) -> None:
        """Raise NotAllPlayedError unless that many are all."""
        if played < len(self):
            left = [self._described(number) for number in range(played, len(self))]
            raise NotAllPlayedError(self.file, played, left)

    def _described(self, number: int) -> str:
        return str(self.scrubber.request(self.exchanges[number].request))


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
    rules = scrubber or Scrubber()
    forms = tuple(_without_credentials(each.request, rules) for each in given)
    responses = tuple(playable(each.response) for each in given)
    positions: dict[str, list[int]] = {}
    for number, form in enumerate(forms, 1):
        positions.setdefault(form.digest, []).append(number)
    return Recording(file, given, forms, responses, positions, rules)


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
