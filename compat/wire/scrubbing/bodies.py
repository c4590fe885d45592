"""Replacing in bodies what must not reach a file, by what they turn out to be.

What a header says is not relied on: a body is JSON, a form or a stream if it reads as
one. A packed body without a ``content-encoding`` is unpacked, scrubbed and packed.

In a stream a secret may come in pieces. A model that repeats a key writes it as three
or four pieces, each in an event of its own, and none of them is the key. So the texts
that stand at the same path of all events are read as one text, and what is found there
is taken out of each piece.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlencode

from compat.wire.errors import PLACEHOLDER
from compat.wire.exchanges import NotDecodableError, decoded
from compat.wire.json_trees import NotJsonError, Tree, tree_of
from compat.wire.scrubbing.names import bare, names_a_secret
from compat.wire.scrubbing.texts import Finder, edited
from compat.wire.scrubbing.trees import TreeScrubber, dumped
from refengine.testing.json_values import is_list, is_mapping

_LINE_END: Final = re.compile(r"(\r\n|\n|\r)")
_FIELD: Final = re.compile(r"data: ?|[a-z]+: ?|:")
_COUNTERS: Final = ("index", "output_index", "content_index", "item_id")

Channel: TypeAlias = tuple[Any, ...]
"""The place of a text in its event, and which of several things told at once it is."""


@dataclass(slots=True)
class _Piece:
    """A text inside an event; ``owner[key]`` is where it stands."""

    owner: Any
    key: Any

    @property
    def text(self) -> str:
        return str(self.owner[self.key])


def clean_lines(text: str, scrubber: TreeScrubber) -> str:
    """Return a stream of lines with placeholders; events that had none as they were."""
    parts = _LINE_END.split(text)
    heads, payloads = zip(*map(_headed, parts[::2]), strict=True)
    trees = [_tree(payload) for payload in payloads]
    before = [_tree(payload) for payload in payloads]
    clean_events(trees, scrubber.finder, heads)
    found = [
        payload if tree == old else _shown(tree)
        for payload, old, tree in zip(
            payloads, before, map(scrubber.tree, trees), strict=True
        )
    ]
    cleaned = [*map("".join, zip(heads, found, strict=True))]
    return "".join(
        each for pair in zip(cleaned, [*parts[1::2], ""], strict=True) for each in pair
    )


def clean_events(events: list[Tree], finder: Finder, heads: Sequence[str] = ()) -> None:
    """Take out of the events, in place, what only several of them tell together.

    Events that are plain text are one text with those of the same head.
    """
    channels: dict[Channel, list[_Piece]] = {}
    for index, event in enumerate(events):
        if isinstance(event, str):
            head = heads[index].strip() if heads else ""
            channels.setdefault(("text", head), []).append(_Piece(events, index))
        for channel, piece in _pieces(event, ()):
            channels.setdefault(channel, []).append(piece)
    for pieces in channels.values():
        _clean_together(pieces, finder)


def _clean_together(pieces: list[_Piece], finder: Finder) -> None:
    texts = [piece.text for piece in pieces]
    spans = finder.spans("".join(texts))
    if not spans:
        return
    for piece, text in zip(pieces, edited(texts, spans), strict=True):
        piece.owner[piece.key] = text


def _pieces(tree: Tree, channel: Channel) -> Iterator[tuple[Channel, _Piece]]:
    """Yield each text below a tree; lists tell by ``index`` which thing they mean."""
    if is_mapping(tree):
        channel += tuple(tree[key] for key in _COUNTERS if _counts(tree.get(key)))
        items: list[tuple[Any, Any]] = list(tree.items())
    elif is_list(tree):
        items = list(enumerate(tree))
    else:
        return
    for key, value in items:
        counted = is_mapping(value) and _counts(value.get("index"))
        inner = (*channel, "[]" if counted and is_list(tree) else key)
        if isinstance(value, str):
            yield inner, _Piece(tree, key)
        else:
            yield from _pieces(value, inner)


def _counts(value: Tree) -> bool:
    return isinstance(value, (int, str))


def _headed(line: str) -> tuple[str, str]:
    """Split a line of a stream into its field and what that holds."""
    match = _FIELD.match(line)
    end = match.end() if match else 0
    return line[:end], line[end:]


def _tree(payload: str) -> Tree:
    """Return what a line holds: JSON, or its own text."""
    if payload[:1] not in {"{", "["}:
        return payload
    try:
        return tree_of(payload)
    except NotJsonError:
        return payload


def _shown(tree: Tree) -> str:
    return tree if isinstance(tree, str) else dumped(tree)


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
            PLACEHOLDER
            if value and (bare(name) in names or names_a_secret(name))
            else scrubber.text(value),
        )
        for name, value in pairs
    ]
    return scrubber.finder.clean(text if found == pairs else urlencode(found))
