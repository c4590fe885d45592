"""Replacing in JSON what must not reach a file, by the name of a field or anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from compat.wire.errors import PLACEHOLDER
from compat.wire.json_trees import NotJsonError, Tree, tree_of
from compat.wire.scrubbing.names import FIELDS, bare, names_a_secret
from compat.wire.scrubbing.texts import Finder
from refengine.testing.json_values import is_list, is_mapping


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
