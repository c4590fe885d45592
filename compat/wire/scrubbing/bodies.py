"""Replacing in bodies what must not reach a file, by what they turn out to be.

What a header says is not relied on: a body is JSON, a form or a stream if it reads as
one. A packed body without a ``content-encoding`` is unpacked, scrubbed and packed. In
JSON the name of a field may say that its value is a secret.

In a stream a secret may come in pieces. A model that repeats a key writes it as three
or four pieces, each in an event of its own, and none of them is the key. So the texts
that stand at the same path of all events are read as one text, and what is found there
is taken out of each piece.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlencode

from compat.wire.errors import PLACEHOLDER
from compat.wire.exchanges import NotDecodableError, decoded, packing_of
from compat.wire.json_trees import NotJsonError, Tree, tree_of
from compat.wire.scrubbing.names import FIELDS, bare, names_a_secret
from compat.wire.scrubbing.texts import Finder, edited
from refengine.testing.json_values import is_list, is_mapping

_JWK: Final = frozenset(("d", "p", "q", "dp", "dq", "qi", "k"))
"""The private members of a JSON Web Key, which is an object with ``kty``."""


@dataclass(frozen=True, slots=True)
class TreeScrubber:
    """Replaces in trees; ``names`` are fields whose value is a secret."""

    finder: Finder
    names: frozenset[str] = field(default=FIELDS)

    def body(self, text: str) -> str:
        """Return JSON with placeholders, letter for letter where nothing was found.

        Raises NotJsonError.
        """
        tree = tree_of(text)
        found = self.tree(tree)
        return text if found == tree else dumped(found)

    def tree(self, tree: Tree) -> Tree:
        """Return the tree with placeholders."""
        if is_mapping(tree):
            if isinstance(tree.get("kty"), str):
                tree = {k: PLACEHOLDER if k in _JWK else x for k, x in tree.items()}
            return {
                self.finder.clean(key): self.value(tree, key, each)
                for key, each in tree.items()
            }
        if is_list(tree):
            return self.items(tree)
        return self.text(tree) if isinstance(tree, str) else self.scalar(tree)

    def items(self, tree: Sequence[Tree]) -> Tree:
        """Return an array; one of two texts may be a header and what it holds."""
        if len(tree) == 2 and self.is_named(tree[0]):
            return [tree[0], _emptied(tree[1])]
        if len(tree) == 2 and isinstance(tree[0], str) and names_a_secret(tree[0]):
            return [tree[0], self.named(tree[1])]
        return [self.tree(each) for each in tree]

    def is_named(self, name: Tree) -> bool:
        """Tell whether it is the name of a field whose value is a secret."""
        return isinstance(name, str) and bare(name) in self.names

    def value(self, owner: Mapping[str, Tree], key: str, value: Tree) -> Tree:
        """Return what stands under a key, replaced if the key says what it is."""
        if key == "properties" and is_mapping(value):
            # A schema names the fields of something else here; it holds none itself.
            return {self.finder.clean(name): self.tree(value[name]) for name in value}
        field = owner.get("name", owner.get("key")) if key == "value" else key
        if _is_of_a_text(owner, key):
            return self.tree(value)
        if self.is_named(field):
            return _emptied(value)
        if isinstance(field, str) and names_a_secret(field):
            return self.named(value)
        return self.tree(value)

    def named(self, value: Tree) -> Tree:
        """Return what a longer name says is a secret: texts, not what holds others."""
        if is_list(value):
            return [self.named(each) for each in value]
        return PLACEHOLDER if isinstance(value, str) and value else self.tree(value)

    def text(self, text: str) -> str:
        """Return a text; one that is JSON itself is looked into, such as arguments."""
        if text.lstrip()[:1] in {"{", "["}:
            with suppress(NotJsonError):
                text = self.body(text)
        return self.finder.clean(text)

    def scalar(self, value: Tree) -> Tree:
        """Return a number, unless its digits are a secret."""
        if value is None or isinstance(value, bool):
            return value
        return PLACEHOLDER if self.finder.spans(json.dumps(value)) else value


def names_of(fields: Iterable[str]) -> frozenset[str]:
    """Return FIELDS and more names of fields."""
    return FIELDS | {bare(name) for name in fields}


def dumped(tree: Tree) -> str:
    """Return a tree as clients send it, letters as they are."""
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    # Half an emoji can only be sent escaped.
    return text if _whole(text) else json.dumps(tree, separators=(",", ":"))


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_of_a_text(owner: Mapping[str, Tree], key: str) -> bool:
    """Tell whether ``token`` is a word the model wrote, told with its probability."""
    return key == "token" and "logprob" in owner


def _emptied(value: Tree) -> Tree:
    """Return the shape of a secret value with nothing left in it."""
    if is_mapping(value):
        return {key: _emptied(each) for key, each in value.items()}
    if is_list(value):
        return [_emptied(each) for each in value]
    return value if value is None or isinstance(value, bool) else PLACEHOLDER


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


_FORM: Final = "application/x-www-form-urlencoded"


def clean_body(body: bytes, kind: str, scrubber: TreeScrubber) -> bytes:
    """Return a decoded body with placeholders; ``kind`` is its content type."""
    packing = packing_of(body)
    if packing:
        return _clean_packed(body, packing, kind, scrubber)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return scrubber.finder.clean(body.decode("latin-1")).encode("latin-1")
    return _clean_text(text, kind, scrubber).encode()


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
