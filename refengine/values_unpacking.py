"""From trees to values. A tree is data of others: nothing in it is believed.

What it names is looked up in the registry, and nowhere else. What is unpacked shares
nothing with the tree or with another value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, cast

from refengine.errors import BadTreeError, DecodeError, UnknownTypeError, shortened
from refengine.messages import FrozenDict, Json
from refengine.values_builtin import Opaque, Registered, Steps, same
from refengine.values_packing import (
    HIGHEST,
    LOWEST,
    MAX_DEPTH,
    Step,
    Where,
    rendered,
    steps_in,
)

TAG: Final = frozenset(("$type", "$version", "$data"))


class Unpacking:
    """Unpacks one tree; errors say where in it, as a key path."""

    __slots__ = ("_at", "_by_name", "_keeps_unknown")

    def __init__(
        self, by_name: Mapping[str, Registered], at: str, *, keeps_unknown: bool
    ) -> None:
        self._by_name = by_name
        self._at = at
        self._keeps_unknown = keeps_unknown

    def value(
        self, tree: object, where: Where, depth: int, steps: Steps = "item"
    ) -> object:
        """Return the value; raises UnknownTypeError, DecodeError or BadTreeError."""
        kind = type(tree)
        if kind is list:
            items = cast("list[object]", tree)
            self._enter(depth)
            found: list[object] = []
            for at, each in enumerate(items):
                step: Step = (steps, each if steps == "member" else at)
                found.append(self.value(each, (where, tree, step), depth + 1))
            return found
        if kind is dict:
            return self._dict(cast("dict[str, object]", tree), where, depth, steps)
        return self._scalar(tree, where)

    def frozen(self, tree: object, where: Where, depth: int) -> object:
        """Return the value of what ``Packing.frozen`` made."""
        if type(tree) is list:
            self._enter(depth)
            found: list[object] = []
            for at, each in enumerate(cast("list[object]", tree)):
                inner: Where = (where, cast("object", tree), ("item", at))
                found.append(self.frozen(each, inner, depth + 1))
            return tuple(found)
        if type(tree) is dict and "$type" not in tree:
            self._enter(depth)
            made: dict[str, object] = {}
            for key, each in cast("dict[str, object]", tree).items():
                inner = (where, cast("object", tree), ("item", key))
                made[self._key(key, where)] = self.frozen(each, inner, depth + 1)
            # Registered values stand in extra, though its annotation says Json.
            return FrozenDict(cast("dict[str, Json]", made))
        return self.value(cast("Any", tree), where, depth)

    def _scalar(self, tree: object, where: Where) -> object:
        kind = type(tree)
        if tree is None or kind is bool or kind is str:
            return tree
        if kind is int and LOWEST <= cast("int", tree) <= HIGHEST:
            return tree
        if kind is float and math.isfinite(cast("float", tree)):
            return tree
        raise self._bad(where, f"is {shortened(tree)}, which is never packed so")

    def _dict(
        self, tree: dict[str, object], where: Where, depth: int, steps: Steps
    ) -> object:
        self._enter(depth)
        if "$type" in tree:
            return self._tag(tree, where, depth)
        found: dict[str, object] = {}
        for key, each in tree.items():
            name = self._key(key, where)
            inner: Where = (where, tree, (steps, name))
            found[name] = self.value(each, inner, depth + 1, steps_in(steps))
        return found

    def _key(self, key: object, where: Where) -> str:
        if type(key) is not str or (key[:1] == "$" and key[:2] != "$$"):
            raise self._bad(where, f"has the key {shortened(key)}")
        return key.removeprefix("$")

    def _tag(self, tree: dict[str, object], where: Where, depth: int) -> object:
        name, version = tree["$type"], tree.get("$version")
        if tree.keys() != TAG or type(name) is not str or type(version) is not int:
            raise self._bad(where, "has a tag without name, version or data")
        if not 1 <= version <= HIGHEST or not name:
            raise self._bad(where, "has a tag without a name or a version of 1 or more")
        known = self._by_name.get(name)
        if known is None or version > known.version:
            return self._unknown(name, version, known, tree["$data"], where)
        inner: Where = (where, tree, None)
        data = self.value(tree["$data"], inner, depth + 1, known.steps)
        return self._decoded(known, version, data, where)

    def _unknown(
        self,
        name: str,
        version: int,
        known: Registered | None,
        data: object,
        where: Where,
    ) -> Opaque:
        if not self._keeps_unknown:
            has = None if known is None else known.version
            path = self._at + rendered(where)
            raise UnknownTypeError(name, version, path, has)
        try:
            return Opaque(name, version, json.dumps(data, allow_nan=False))
        except (ValueError, TypeError) as error:
            raise self._bad(where, "has data that is no JSON") from error

    def _decoded(
        self, known: Registered, version: int, data: object, where: Where
    ) -> object:
        try:
            for at in range(version, known.version):
                data = known.upgrades[at](data)
            found = known.decode(data)
            exact = not known.exact or same(known.encode(found), data)
        except Exception as error:
            what = f"reading it raised {type(error).__name__}: {shortened(str(error))}"
            raise self._undecoded(known, version, where, what) from error
        if type(found) is not known.cls:
            what = f"decode gave {type(found).__name__}, not {known.cls.__name__}"
            raise self._undecoded(known, version, where, what)
        if not exact:
            what = f"{shortened(data)} is not how one is packed"
            raise self._undecoded(known, version, where, what)
        return found

    def _undecoded(
        self, known: Registered, version: int, where: Where, what: str
    ) -> DecodeError:
        return DecodeError(known.name, version, self._at + rendered(where), what)

    def _enter(self, depth: int) -> None:
        if depth >= MAX_DEPTH:
            why = f"is more than {MAX_DEPTH} levels deep"
            raise BadTreeError(self._at, why)

    def _bad(self, where: Where, why: str) -> BadTreeError:
        return BadTreeError(self._at + rendered(where), why)
