"""Secrets that stand in cassettes of a team's own: where, and taking them out.

    for path in cassettes_in([Path("tests/cassettes")]):
        for leak in leaks_in(read_cassette(path)):
            print(path, leak)  # interaction 1, request header x-api-key

The rules are those by which refengine scrubs what it records. A header that a cassette
of ours would leave out is no leak by that; one that holds a credential is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from compat.wire.cassette_files import is_cassette, read_whole
from compat.wire.errors import CassetteError
from compat.wire.exchanges import Exchange, Headers
from compat.wire.json_trees import NotJsonError, first_difference, tree_of
from compat.wire.scrubbing.names import names_a_secret
from compat.wire.scrubbing.scrubber import (
    CREDENTIALS,
    Scrubber,
    credentials_of,
    parts_of,
)
from compat.wire.writing import write_cassette

SUFFIXES: Final = (".yaml", ".yml", ".json", ".gz")
"""How the names of cassettes end in a folder."""
TAKEN_OUT: Final = re.compile(
    r"(?:(?:basic|bearer) )?\W*"
    r"(?:(?:changeme|dummy|example|fake|filtered|hidden|masked|mock|omitted|placeholder"
    r"|redacted|removed|sanitized|scrubbed|test)[\w-]{0,32}|none|null|x{3,}|)\W*",
    re.IGNORECASE,
)
"""What other tools put in the place of a credential."""


SET: Final = "set-cookie"
"""A header with one cookie, behind which its attributes stand."""
ALLOWING: Final = "access-control-"
"""How headers begin that say what a browser may send; their names name no secret."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A place that holds a secret; ``interaction`` counts from 1."""

    interaction: int
    place: str

    def __str__(self) -> str:
        """Return where it is, and nothing of what it is."""
        return f"interaction {self.interaction}, {self.place}"


def cassettes_in(paths: Iterable[Path]) -> list[Path]:
    """Return these files and, of folders, the cassettes below them; raises OSError."""
    found: dict[Path, None] = {}
    for path in paths:
        inside = path.rglob("*") if path.is_dir() else ()
        found.update(
            (each, None)
            for each in ([path] if not path.is_dir() else sorted(inside))
            if each == path or (each.suffix in SUFFIXES and _is_one(each))
        )
    return list(found)


def _is_one(path: Path) -> bool:
    return path.is_file() and is_cassette(path)


def scrubber_of(exchanges: Sequence[Exchange], fields: Iterable[str] = ()) -> Scrubber:
    """Return what knows the credentials that these exchanges were sent with."""
    known = (credentials_of(each.request) for each in exchanges)
    secrets = reduce(frozenset[str].union, known, frozenset[str]())
    given = (each for each in secrets if not TAKEN_OUT.fullmatch(each))
    return Scrubber(given, fields=fields)


def leaks_in(
    exchanges: Sequence[Exchange], fields: Iterable[str] = ()
) -> Iterator[Leak]:
    """Yield each place of a cassette that holds a secret, in their order.

    ``fields`` are more names of fields and parameters whose values are secrets.
    """
    scrubber = scrubber_of(exchanges, fields)
    for number, exchange in enumerate(exchanges, 1):
        for place in _places(exchange, scrubber):
            yield Leak(number, place)


def _places(exchange: Exchange, scrubber: Scrubber) -> Iterator[str]:
    request, response = exchange.request, exchange.response
    if scrubber.url(request.url) != urlunsplit(
        urlsplit(request.url)._replace(fragment="")
    ):
        yield "the address"
    yield from _headers("request header", request.headers, scrubber)
    yield from _body("request body", request.headers, request.body, scrubber)
    yield from _headers("response header", response.headers, scrubber)
    yield from _body("response body", response.headers, response.body, scrubber)


def _headers(what: str, headers: Headers, scrubber: Scrubber) -> Iterator[str]:
    for name, values in headers.items():
        is_named = name in CREDENTIALS or (
            names_a_secret(name) and not name.startswith(ALLOWING)
        )
        for each in values:
            held = parts_of(name, each.partition(";")[0] if name == SET else each)
            taken_out = is_named and all(map(TAKEN_OUT.fullmatch, held))
            if not taken_out and (is_named or scrubber.text(each) != each):
                yield f"{what} {name}"
                break


def _body(
    what: str, headers: Headers, body: bytes, scrubber: Scrubber
) -> Iterator[str]:
    clean = scrubber.body(headers, body)
    if clean != body:
        yield f"{what}{_path(body, clean)}"


def _path(body: bytes, clean: bytes) -> str:
    """Return where two bodies of JSON differ first, "" where they are not JSON."""
    try:
        found = first_difference(tree_of(body), tree_of(clean))
    except NotJsonError:
        return ""
    return "" if found is None else f" at {found.path}"


def mend(path: Path, fields: Iterable[str] = ()) -> None:
    """Write a cassette anew without its secrets, all of it or nothing.

    Headers that no replay needs go, too. Raises CassetteError, of one that is packed or
    has metadata, which would be lost, and ScrubbingError.
    """
    found = read_whole(path)
    if path.suffix == ".gz" or found.metadata:
        what = "has metadata" if found.metadata else "is packed"
        raise CassetteError(path.name, f"it {what}, so it is not written anew")
    write_cassette(path, found.exchanges, scrubber_of(found.exchanges, fields))
