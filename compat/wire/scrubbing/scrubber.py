"""Taking out of exchanges what must not reach a file.

Headers are dropped unless they are on a list; query parameters and fields of bodies are
replaced by their name; what looks like a key, and the values the caller gives, are
replaced wherever they stand. The values are the strongest rule: whoever records knows
the keys in use, and names them.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from compat.wire.errors import PLACEHOLDER, ScrubbingError
from compat.wire.exchanges import (
    CUT,
    Exchange,
    Headers,
    NotDecodableError,
    Request,
    Response,
    decoded,
    first,
    is_text,
)
from compat.wire.json_trees import Tree
from compat.wire.scrubbing.bodies import TreeScrubber, clean_body, clean_pairs, names_of
from compat.wire.scrubbing.names import FIELDS, bare, names_a_secret
from compat.wire.scrubbing.texts import Finder, settled

RULES_VERSION: Final = 3
"""Goes up with each change after which a new recording would have other text."""

RULES: Final = ("headers", "addresses", "fields", "shapes", "values")
"""What is done, as a manifest names it."""

KEPT: Final = frozenset(
    [
        "accept",
        "content-type",
        "anthropic-beta",
        "anthropic-version",
        "openai-beta",
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        CUT,
    ]
)
"""Headers that are kept, in both directions: what the body is, and when to retry."""

KEPT_FAMILIES: Final = ("x-ratelimit-", "anthropic-ratelimit-")
"""How headers begin that are kept as well: what is left of a vendor's limits."""

REPLACED: Final = frozenset({"request-id", "x-request-id"})
"""Headers that clients read and whose value is nobody's business."""

CREDENTIALS: Final = frozenset(
    [
        "api-key",
        "authorization",
        "cookie",
        "cookie2",
        "ocp-apim-subscription-key",
        "proxy-authorization",
        "set-cookie",
        "set-cookie2",
        "www-authenticate",
        "x-amz-security-token",
        "x-api-key",
        "x-auth-token",
        "x-goog-api-key",
    ]
)
LEAST: Final = 8
"""So many characters a credential has that is taken for a secret by itself."""
_QUERY: Final = frozenset(
    [
        "auth",
        "code",
        "key",
        "sig",
        "signature",
        "xamzcredential",
        "xamzsecuritytoken",
        "xamzsignature",
        "xgoogcredential",
        "xgoogsignature",
    ]
)
"""Names that mean a credential in an address, and something else in a body."""


def credentials_of(request: Request) -> frozenset[str]:
    """Return the credentials that a request was sent with: values to be scrubbed.

    Short ones are none: what a test gives a client stands in other texts, too.
    """
    headers = [
        value
        for name in CREDENTIALS & request.headers.keys()
        for each in request.headers[name]
        for value in parts_of(name, each)
    ]
    query = parse_qsl(urlsplit(request.url).query)
    named = [
        value
        for name, value in query
        if bare(name) in _QUERY | FIELDS or names_a_secret(name)
    ]
    return frozenset(each for each in (*headers, *named) if len(each) >= LEAST)


def parts_of(name: str, value: str) -> list[str]:
    """Return the secrets of a header: a token, a name's password, values of cookies."""
    if "cookie" in name:
        return [part.partition("=")[2].strip() for part in value.split(";")]
    scheme, _, token = value.strip().rpartition(" ")
    if scheme.lower() != "basic":
        return [token]
    try:
        return [token, b64decode(token).decode().partition(":")[2]]
    except ValueError:
        return [token]


class Scrubber:
    """The rules of one recording; its repr shows no secret.

    ``secrets`` are the values in use: keys, passwords, names of accounts. ``fields``
    are more names of fields and query parameters whose value is replaced, and
    ``keep_headers`` more headers to keep.
    """

    __slots__ = ("_finder", "_kept", "_trees", "fields")

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        fields: Iterable[str] = (),
        keep_headers: Iterable[str] = (),
    ) -> None:
        self._finder = Finder(secrets)
        self.fields = frozenset(fields)
        self._trees = TreeScrubber(self._finder, names_of(self.fields))
        more = {name.lower() for name in keep_headers}
        if more & CREDENTIALS:
            names = ", ".join(sorted(more & CREDENTIALS))
            raise ScrubbingError(
                f"{names} may hold credentials and is never kept:"
                " take it out of keep_headers"
            )
        self._kept = KEPT | more

    def exchange(self, exchange: Exchange) -> Exchange:
        """Return the exchange with placeholders; doing it again changes nothing."""
        request, response = exchange.request, exchange.response
        return Exchange(self.request(request), self.response(response), exchange.after)

    def request(self, request: Request) -> Request:
        """Return the request with placeholders."""
        return Request(
            request.method,
            self.url(request.url),
            self.headers(request.headers),
            self.body(request.headers, request.body),
        )

    def response(self, response: Response) -> Response:
        """Return the response with placeholders."""
        return Response(
            response.status,
            self.text(response.reason),
            self.headers(response.headers),
            self.body(response.headers, response.body),
            self.url(response.url) if response.url else "",
        )

    def headers(self, headers: Headers) -> Headers:
        """Return the headers that are kept, without what their values give away."""
        found = dict.fromkeys(headers.keys() & REPLACED, (PLACEHOLDER,))
        kept = {
            name: tuple(map(self.text, values))
            for name, values in headers.items()
            if name in self._kept or name.startswith(KEPT_FAMILIES)
        }
        return {name: {**kept, **found}[name] for name in sorted({*kept, *found})}

    def url(self, url: str) -> str:
        """Return an address without user and fragment, and with placeholders."""
        return settled(self._url, url)

    def _url(self, url: str) -> str:
        parts = urlsplit(url)
        host = self.text(parts.netloc.rpartition("@")[2])
        path = "/".join(map(self._segment, parts.path.split("/")))
        query = clean_pairs(parts.query, self._trees, _QUERY) if parts.query else ""
        return self.text(urlunsplit((parts.scheme, host, path, query, "")))

    def _segment(self, segment: str) -> str:
        plain = unquote(segment)
        found = self.text(plain)
        return segment if found == plain else quote(found, safe="")

    def body(self, headers: Headers, body: bytes) -> bytes:
        """Return the body with placeholders, decoded; raises ScrubbingError."""
        encoding = ", ".join(headers.get("content-encoding", ()))
        try:
            body = decoded(body, encoding)
        except NotDecodableError as error:
            if not is_text(body):
                raise ScrubbingError(
                    f"a body with content-encoding {encoding!r} cannot be looked into:"
                    " have the client ask for gzip with the header accept-encoding"
                ) from error
        kind = first(headers, "content-type")
        return settled(lambda each: clean_body(each, kind, self._trees), body)

    def tree(self, tree: Tree) -> Tree:
        """Return JSON values with placeholders."""
        return settled(self._trees.tree, tree)

    def text(self, text: str) -> str:
        """Return any text with placeholders."""
        return self._finder.clean(text)

    def knows(self, text: str) -> bool:
        """Tell whether one of the given secrets stands there, in any form."""
        return self._finder.known(text)


def secrets_of(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the values that variables name as secrets; short ones stand elsewhere."""
    return frozenset(
        value
        for name, value in environment.items()
        if len(value) >= LEAST and names_a_secret(name)
    )


def output_scrubber(environment: Mapping[str, str] | None = None) -> Scrubber:
    """Return what scrubs outputs; the environment is this process's unless given."""
    return Scrubber(secrets_of(os.environ if environment is None else environment))


def without_secrets(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return files as they may be kept; one that is not text is searched as it is."""
    scrubber = output_scrubber()
    return {name: scrubber.body({}, data) for name, data in files.items()}


def json_without_secrets(value: object) -> Any:  # noqa: ANN401  # JSON as it was given
    """Return JSON values as they may be written."""
    return output_scrubber().tree(value)
