"""What went over the wire, as frozen values: a request, its response, and both.

Bodies are decoded: what a ``content-encoding`` named is undone, and the header is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Headers: TypeAlias = Mapping[str, tuple[str, ...]]
"""The values of each header, by its name in lower case, in the order they came in."""


def headers_of(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return headers by lower-cased name; a name that comes again keeps all values."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        key = name.lower()
        found[key] = (*found.get(key, ()), value)
    return found


def pairs_of(headers: Headers) -> list[tuple[str, str]]:
    """Return name and value of each header line, as clients and servers take them."""
    return [(name, value) for name, values in headers.items() for value in values]


def first(headers: Headers, name: str) -> str:
    """Return the first value of a header, named in lower case; ``""`` without one."""
    values = headers.get(name, ())
    return values[0] if values else ""


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent; ``body`` is empty where there was none."""

    method: str
    url: str
    headers: Headers = field(default_factory=dict[str, tuple[str, ...]])
    body: bytes = b""

    def __str__(self) -> str:
        """Return method and address without its query, which may hold a key."""
        return f"{self.method} {self.url.partition('?')[0]}"


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered, the whole body of a stream included.

    ``url`` is the address that answered in the end, which some recorders write.
    """

    status: int
    reason: str = ""
    headers: Headers = field(default_factory=dict[str, tuple[str, ...]])
    body: bytes = b""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response."""

    request: Request
    response: Response
