"""Which values last, by an explicit registry of stable names (contract SER, §5).

    types = Types()
    types.register_dataclass("plan", Plan)
    types.register("money", Money, encode=Money.as_text, decode=Money.from_text)

A value is packed to a tree of JSON and comes back equal and of the same types at each
depth, or it is refused where it is put in. Plain are None, bool, int in 64 bit, finite
float, str, list, and dict with str keys; tuple, set, frozenset, FrozenDict, bytes,
datetime, date, time, timedelta, Decimal and UUID have a name in every registry; every
other class needs one. Nothing is looked up by the name of a module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from refengine.errors import Refused
from refengine.messages import NOTHING, Json
from refengine.state.errors import (
    BadTreeError,
    StateError,
    TypeNameError,
    TypesFrozenError,
    TypeTakenError,
    UnfitTypeError,
    UpgradesError,
)
from refengine.state.kinds import (
    BUILT_IN,
    NO_UPGRADES,
    PLAIN,
    Opaque,
    Registered,
    Tree,
    Upgrade,
    dataclass_ways,
    enum_ways,
    model_ways,
)
from refengine.state.packing import Packing, Unpacking

__all__ = ["Opaque", "Tree", "Types"]

T = TypeVar("T")


class Types:
    """A registry of types by stable names; it is frozen when it is first used.

    With ``keep_unknown`` a value of a type or version that is not known becomes an
    ``Opaque``, which is packed again as it was; else it is an UnknownTypeError.
    """

    __slots__ = ("_by_class", "_by_name", "_frozen", "_keeps_unknown")

    def __init__(self, *, keep_unknown: bool = False) -> None:
        self._by_name = {each.name: each for each in BUILT_IN}
        self._by_class = {each.cls: each for each in BUILT_IN}
        self._keeps_unknown = keep_unknown
        self._frozen = False

    def register(
        self,
        name: str,
        cls: type[T],
        *,
        version: int = 1,
        encode: Callable[[T], object],
        decode: Callable[[Any], T],
        upgrades: Mapping[int, Upgrade] = NO_UPGRADES,
    ) -> None:
        """Register exactly this class, none of its subclasses.

        ``encode`` gives plain or registered values, from which ``decode`` makes an
        equal object. ``upgrades[n]`` turns what version n encoded into what version
        n + 1 would have; there is one for each version before this one. Raises
        TypeNameError, TypeTakenError, TypesFrozenError, UpgradesError, UnfitTypeError.
        """
        self._add(Registered(name, cls, encode, decode, version, upgrades))

    def register_dataclass(
        self,
        name: str,
        cls: type,
        *,
        version: int = 1,
        upgrades: Mapping[int, Upgrade] = NO_UPGRADES,
    ) -> None:
        """Register a dataclass, kept as a dict of its fields; as ``register``."""
        encode, decode = dataclass_ways(name, cls)
        made = Registered(name, cls, encode, decode, version, upgrades, steps="field")
        self._add(made)

    def register_enum(
        self,
        name: str,
        cls: type,
        *,
        version: int = 1,
        upgrades: Mapping[int, Upgrade] = NO_UPGRADES,
    ) -> None:
        """Register an enum, kept as the name of the member; as ``register``."""
        encode, decode = enum_ways(name, cls)
        self._add(Registered(name, cls, encode, decode, version, upgrades))

    def register_model(
        self,
        name: str,
        cls: type,
        *,
        version: int = 1,
        upgrades: Mapping[int, Upgrade] = NO_UPGRADES,
    ) -> None:
        """Register a pydantic model; as ``register``.

        It is kept as ``{"fields": {…}, "set": [names of those that were set]}``.
        """
        encode, decode = model_ways(name, cls)
        made = Registered(name, cls, encode, decode, version, upgrades, steps="model")
        self._add(made)

    @property
    def fingerprint(self) -> str:
        """A short text that is equal for registries of equal names and versions."""
        self._frozen = True
        known = sorted(f"{each.name} {each.version}" for each in self._by_name.values())
        return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]

    def pack(self, value: object, *, at: str = "") -> Tree:
        """Return the value as a tree of JSON; raises Refused.

        ``at`` is what key paths in errors begin with. Where a type of a user is in
        it, the tree is unpacked too, and refused if it comes back changed.
        """
        return self._checked(value, at, frozen=False)

    def unpack(self, tree: object, *, at: str = "") -> object:
        """Return the value that was packed, which shares nothing with the tree.

        Raises UnknownTypeError, DecodeError or BadTreeError.
        """
        return self._unpacked(tree, at, frozen=False)

    def pack_extra(self, extra: Mapping[str, Json], *, at: str = "extra") -> Tree:
        """Return a message's ``extra`` as a tree, its tuples as lists; as ``pack``."""
        return {} if extra is NOTHING else self._checked(extra, at, frozen=True)

    def unpack_extra(self, tree: object, *, at: str = "extra") -> Mapping[str, Json]:
        """Return the ``extra`` that was packed; as ``unpack``."""
        if type(tree) is not dict or "$type" in tree:
            raise BadTreeError(at, "is not an object")
        found = self._unpacked(cast("object", tree), at, frozen=True)
        return cast("Mapping[str, Json]", found)

    def check_extra(self, extra: Mapping[str, Json], *, at: str = "extra") -> None:
        """Raise Refused if a message's ``extra`` would not come back as it is."""
        self.pack_extra(extra, at=at)

    def _add(self, made: Registered) -> None:
        if self._frozen:
            raise TypesFrozenError(made.name)
        _check(made)
        if made.name in self._by_name:
            taken = self._by_name[made.name].cls.__qualname__
            raise TypeTakenError(made.name, made.cls, f"{taken} has that name")
        if made.cls in self._by_class:
            has = f"it is {self._by_class[made.cls].name!r} already"
            raise TypeTakenError(made.name, made.cls, has)
        self._by_name[made.name] = made
        self._by_class[made.cls] = made

    def _checked(self, value: object, at: str, *, frozen: bool) -> Tree:
        try:
            packing = self._packing(at)
            tree = _packed(packing, value, frozen=frozen)
            if packing.own:
                back = self._unpacked(tree, at, frozen=frozen)
                again = _packed(self._packing(at), back, frozen=frozen)
                _check_same(tree, again, at, value)
        except StateError as error:
            advice = f"it does not come back: {error}"
            raise Refused(at, type(value).__name__, advice) from error
        except RecursionError:
            advice = "too little is left of the call stack here: call it less deeply"
            raise Refused(at, type(value).__name__, advice) from None
        return tree

    def _unpacked(self, tree: object, at: str, *, frozen: bool) -> object:
        self._frozen = True
        unpacking = Unpacking(self._by_name, at, keeps_unknown=self._keeps_unknown)
        try:
            go = unpacking.frozen if frozen else unpacking.value
            return go(tree, None, 0)
        except RecursionError:
            why = "is too deep for what is left of the call stack"
            raise BadTreeError(at, why) from None

    def _packing(self, at: str) -> Packing:
        self._frozen = True
        return Packing(
            self._by_name, self._by_class, at, keeps_unknown=self._keeps_unknown
        )


def _packed(packing: Packing, value: object, *, frozen: bool) -> Tree:
    go = packing.frozen if frozen else packing.value
    return go(value, None, 0)


def _check(made: Registered) -> None:
    name, version = made.name, made.version
    if type(name) is not str or not name or "$" in name:
        raise TypeNameError(name)
    if not isinstance(made.cls, type):
        raise UnfitTypeError(name, made.cls, "it is not a class")
    if made.cls in {*PLAIN, Opaque}:
        raise UnfitTypeError(name, made.cls, "it is kept as it is, without a name")
    whole = type(version) is int and version >= 1
    if not whole or set(made.upgrades) != set(range(1, version)):
        raise UpgradesError(name, version, made.upgrades)


def _check_same(tree: Tree, again: Tree, at: str, value: object) -> None:
    """Raise Refused if a value that was unpacked is packed in another way."""
    path = _difference(tree, again)
    if path is not None:
        advice = f"what encode gave comes back changed{path}: mend encode or decode"
        raise Refused(at, type(value).__name__, advice)


def _difference(one: Tree, other: Tree) -> str | None:
    """Return where two trees differ, as a key path, or None if they do not."""
    if isinstance(one, list) and isinstance(other, list):
        keys: list[Any] = list(range(max(len(one), len(other))))
        return _first_difference(keys, dict(enumerate(one)), dict(enumerate(other)))
    if isinstance(one, dict) and isinstance(other, dict):
        return _first_difference(list({**one, **other}), one, other)
    alike = type(one) is type(other) and repr(one) == repr(other)
    return None if alike else f": {one!r} became {other!r}"


def _first_difference(
    keys: list[Any], one: Mapping[Any, Tree], other: Mapping[Any, Tree]
) -> str | None:
    for key in keys:
        if key not in one or key not in other:
            return f" at [{key!r}]"
        found = _difference(one[key], other[key])
        if found is not None:
            return f" at [{key!r}]" + found.removeprefix(" at ")
    return None
