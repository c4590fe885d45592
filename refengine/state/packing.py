"""From values to trees and back: what comes back as it is is packed, all else refused.

Types are asked for exactly: a subclass, such as a bool among ints or an OrderedDict, is
not its base, because it would come back as its base. A tree is data of others: nothing
in it is believed. What it names is looked up in the registry, and nowhere else. What is
unpacked shares nothing with the tree or with another value.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from refengine.errors import Refused, shortened
from refengine.messages import FrozenDict, Json
from refengine.state.errors import BadTreeError, DecodeError, UnknownTypeError
from refengine.state.kinds import (
    BUILT_IN,
    PLAIN,
    Opaque,
    Registered,
    Steps,
    Tree,
    same,
    splits,
)

MAX_DEPTH: Final = 100
"""Levels of lists and objects in a packed value; a tag is one of them."""
MAX_ITEMS: Final = 1_000_000
"""Values in one packed value."""
LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1
_CLASSES: Final = frozenset(each.cls for each in BUILT_IN)
Step: TypeAlias = "tuple[Steps, object]"
Where: TypeAlias = "tuple[Where, object, Step | None] | None"
"""A place in a value: the place around it, what stands there, the step to here."""


class Packing:
    """Packs one value; ``own`` is whether a type that a user registered was met."""

    __slots__ = ("_at", "_by_class", "_by_name", "_keeps_unknown", "_left", "own")

    def __init__(
        self,
        by_name: Mapping[str, Registered],
        by_class: Mapping[type, Registered],
        at: str,
        *,
        keeps_unknown: bool,
    ) -> None:
        self._by_name = by_name
        self._by_class = by_class
        self._at = at
        self._keeps_unknown = keeps_unknown
        self._left = MAX_ITEMS
        self.own: bool = False

    def value(
        self, value: object, where: Where, depth: int, steps: Steps = "item"
    ) -> Tree:
        """Return the tree of a value; raises Refused."""
        kind = type(value)
        if value is None or kind is bool:
            return cast("bool | None", value)
        if kind is str and not splits(cast("str", value)):
            return cast("str", value)
        if kind is int or kind is float:
            return self._number(cast("float", value), where)
        if kind is list:
            return self._items(cast("list[object]", value), where, depth, steps)
        if kind is dict:
            return self._dict(cast("dict[object, object]", value), where, depth, steps)
        return self._tag(value, where, depth)

    def frozen(self, value: object, where: Where, depth: int) -> Tree:
        """Return the tree of a message's ``extra``, where sequences are tuples."""
        kind = type(value)
        if kind in {dict, FrozenDict}:
            self._enter(value, where, depth)
            found: dict[str, Tree] = {}
            for key, each in cast("Mapping[object, object]", value).items():
                inner: Where = (where, value, ("item", key))
                name = self._key(key, where, value)
                found[name] = self.frozen(each, inner, depth + 1)
            return found
        if kind in {list, tuple}:
            items = cast("Sequence[object]", value)
            self._enter(value, where, depth)
            return [
                self.frozen(each, (where, value, ("item", at)), depth + 1)
                for at, each in enumerate(items)
            ]
        return self.value(value, where, depth)

    def _number(self, value: float, where: Where) -> float:
        if type(value) is float and not math.isfinite(value):
            advice = f"JSON has no {value}: keep None or a text instead"
            raise self._refused(value, where, advice)
        if type(value) is int and not LOWEST <= value <= HIGHEST:
            advice = "an integer has at most 64 bits: keep str(value)"
            raise self._refused(value, where, advice)
        return value

    def _items(
        self, items: list[object], where: Where, depth: int, steps: Steps
    ) -> list[Tree]:
        self._enter(items, where, depth)
        found: list[Tree] = []
        for at, each in enumerate(items):
            step: Step = (steps, each if steps == "member" else at)
            found.append(self.value(each, (where, items, step), depth + 1))
        return found

    def _dict(
        self, value: dict[object, object], where: Where, depth: int, steps: Steps
    ) -> dict[str, Tree]:
        self._enter(value, where, depth)
        found: dict[str, Tree] = {}
        for key, each in value.items():
            name = self._key(key, where, value)
            inner: Where = (where, value, (steps, key))
            found[name] = self.value(each, inner, depth + 1, steps_in(steps))
        return found

    def _key(self, key: object, where: Where, owner: object) -> str:
        if type(key) is not str:
            advice = "keys are exactly str: use str(key), or a list of pairs"
            raise self._refused(key, (where, owner, ("item", key)), advice)
        if splits(key):
            advice = "JSON would join the halves of a character in this key: join them"
            raise self._refused(key, (where, owner, ("item", key)), advice)
        # So that no key of a user can look like a tag.
        return "$" + key if key.startswith("$") else key

    def _tag(self, value: object, where: Where, depth: int) -> Tree:
        self._enter(value, where, depth)
        if type(value) is Opaque:
            return self._opaque(value, where)
        found = self._by_class.get(type(value))
        if found is None:
            raise self._refused(value, where, _advice(value))
        self.own = self.own or found.cls not in _CLASSES
        plain = self._encoded(found, value, where)
        data = self.value(plain, (where, value, None), depth + 1, found.steps)
        if found.unordered:
            cast("list[Tree]", data).sort(key=json.dumps)
        return {"$type": found.name, "$version": found.version, "$data": data}

    def _encoded(self, found: Registered, value: object, where: Where) -> object:
        try:
            return found.encode(value)
        except Refused as error:  # a part of a built-in value
            path = self._at + rendered(where) + error.path
            raise Refused(path, error.got, error.advice) from None
        except Exception as error:
            advice = f"encode of {found.name!r} raised {type(error).__name__}: {error}"
            raise self._refused(value, where, advice) from error

    def _opaque(self, value: Opaque, where: Where) -> Tree:
        known = self._by_name.get(value.name)
        if known is not None and value.version <= known.version:
            raise self._refused(value, where, "this registry knows that type")
        if not self._keeps_unknown:
            raise self._refused(value, where, "use Types(keep_unknown=True)")
        try:
            data: Tree = json.loads(value.text)
        except ValueError as error:
            raise self._refused(value, where, "its text is not JSON") from error
        return {"$type": value.name, "$version": value.version, "$data": data}

    def _enter(self, value: object, where: Where, depth: int) -> None:
        self._left -= 1
        if type(value) in {list, dict, FrozenDict, tuple}:
            self._left -= len(cast("Sequence[object]", value))
        if self._left < 0:
            advice = f"it has more than {MAX_ITEMS:,} values: keep less"
            raise Refused(self._at, type(value).__name__, advice)
        if depth >= MAX_DEPTH:
            raise self._too_deep((where, value, None))

    def _too_deep(self, here: Where) -> Refused:
        seen: set[int] = set()
        places = list(outwards(here))
        for outer, value, _ in reversed(places):
            if id(value) in seen:
                return self._refused(value, outer, "it contains itself: keep an id")
            seen.add(id(value))
        advice = f"it is more than {MAX_DEPTH} levels deep: keep it flatter"
        return Refused(self._at, type(places[-1][1]).__name__, advice)

    def _refused(self, value: object, where: Where, advice: str) -> Refused:
        return Refused(self._at + rendered(where), type(value).__name__, advice)


def outwards(where: Where) -> Iterator[tuple[Where, object, Step | None]]:
    """Yield the places from an inner one to the outermost."""
    while where is not None:
        yield where
        where = where[0]


def rendered(where: Where) -> str:
    """Return a place as a key path, such as ``['a'][3].b``."""
    steps = [place[2] for place in outwards(where)]
    return "".join(_shown(*step) for step in reversed(steps) if step is not None)


def steps_in(steps: Steps) -> Steps:
    """Return how a key path goes on inside an object."""
    return "field" if steps == "model" else "item"


def _shown(steps: Steps, key: object) -> str:
    if steps == "field":
        return f".{key}"
    if steps == "member":
        return f"{{{shortened(key)}}}"
    return "" if steps == "model" else f"[{shortened(key)}]"


def _advice(value: object) -> str:
    cls = type(value).__qualname__
    name = cls.rpartition(".")[2].lower()
    if isinstance(value, enum.Enum):
        return f"name its class: types.register_enum({name!r}, {cls})"
    if dataclasses.is_dataclass(value):
        return f"name its class: types.register_dataclass({name!r}, {cls})"
    if hasattr(value, "model_fields_set"):
        return f"name its class: types.register_model({name!r}, {cls})"
    bases = [each for each in type(value).__mro__ if each in (*PLAIN, *_CLASSES)]
    instead = f"{bases[0].__name__}(value)" if bases else "plain values"
    how = f"types.register({name!r}, {cls}, encode=..., decode=...)"
    return f"use {instead}, or name its class: {how}"


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
            raise self._bad(where, "has data that is not JSON") from error

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
