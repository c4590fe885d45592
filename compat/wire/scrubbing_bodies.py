"""Replacing in bodies what must not reach a file, by what they turn out to be.

What a header says is not relied on: a body is JSON, a form or a stream if it reads as
one. A packed body without a ``content-encoding`` is unpacked, scrubbed and packed.
"""

from __future__ import annotations

import gzip
import zlib
from typing import Final
from urllib.parse import parse_qsl, urlencode

from compat.wire.encodings import NotDecodableError, decoded
from compat.wire.json_text import NotJsonError, Tree, tree_of
from compat.wire.scrubbing_streams import clean_events, clean_lines
from compat.wire.scrubbing_text import PLACEHOLDER
from compat.wire.scrubbing_trees import TreeScrubber, bare, dumped
from refengine.testing.narrowing import is_list

_GZIP: Final = b"\x1f\x8b"
_ZLIB: Final = (b"x\x01", b"x^", b"x\x9c", b"x\xda")
_FORM: Final = "application/x-www-form-urlencoded"


def clean_body(body: bytes, kind: str, scrubber: TreeScrubber) -> bytes:
    """Return a decoded body with placeholders; ``kind`` is its content type."""
    packing = _packing(body)
    if packing:
        return _clean_packed(body, packing, kind, scrubber)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return scrubber.finder.clean(body.decode("latin-1")).encode("latin-1")
    return _clean_text(text, kind, scrubber).encode()


def _packing(body: bytes) -> str:
    if body.startswith(_GZIP):
        return "gzip"
    return "deflate" if body.startswith(_ZLIB) else ""


def _clean_packed(
    body: bytes, packing: str, kind: str, scrubber: TreeScrubber
) -> bytes:
    try:
        inside = decoded(body, packing)
    except NotDecodableError:
        return scrubber.finder.clean(body.decode("latin-1")).encode("latin-1")
    found = clean_body(inside, kind, scrubber)
    if found == inside:
        return body
    return gzip.compress(found, mtime=0) if packing == "gzip" else zlib.compress(found)


def _clean_text(text: str, kind: str, scrubber: TreeScrubber) -> str:
    if kind.partition(";")[0].strip().lower() == _FORM:
        return clean_pairs(text, scrubber)
    try:
        return _clean_json(text, scrubber)
    except NotJsonError:
        # After that, what only the text as a whole tells, such as a broken object.
        return scrubber.finder.clean(clean_lines(text, scrubber))


def _clean_json(text: str, scrubber: TreeScrubber) -> str:
    """Clean JSON; an array may be a stream, as Gemini sends one without events."""
    if text.lstrip()[:1] not in {"{", "["}:
        raise NotJsonError("no object and no array")
    tree = tree_of(text)
    if not is_list(tree):
        return scrubber.body(text)
    events: list[Tree] = list(tree_of(text))
    clean_events(events, scrubber.finder)
    found = scrubber.tree(events)
    return text if found == tree else dumped(found)


def clean_pairs(
    text: str, scrubber: TreeScrubber, more: frozenset[str] = frozenset()
) -> str:
    """Return a form or query with placeholders; ``more`` are names only here."""
    pairs = parse_qsl(text, keep_blank_values=True)
    names = scrubber.names | more
    found = [
        (
            scrubber.finder.clean(name),
            PLACEHOLDER if value and bare(name) in names else scrubber.text(value),
        )
        for name, value in pairs
    ]
    return scrubber.finder.clean(text if found == pairs else urlencode(found))
