"""The JSON of this dialect's values: one way there and one back for every class.

A value is a frozen dataclass whose annotations say what its fields hold: text, numbers,
bytes, JSON, other values, tuples of them or mappings to them. Written, a field with its
default is left out, and bytes are base64. What is read is checked against the class, so
that a file from elsewhere cannot put anything else into an event.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import (
    Any,
    Final,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from compat.dialects.flow.errors import ValueReadError
from refengine.messages import FrozenDict, Json, frozen_json

T = TypeVar("T")

UNWRITTEN: Final[Mapping[str, bool]] = MappingProxyType({"unwritten": True})
"""The metadata of a field that is not part of the value's JSON."""

_SCALARS: Final = (str, int, float, bool)


def as_json(value: object) -> dict[str, Json]:
    """Return the value as JSON, without the fields that have their default."""
    return {
        each.name: _written(getattr(value, each.name))
        for each in fields(cast("Any", value))
        if not each.metadata and getattr(value, each.name) != _default(each)
    }


def from_json(kind: type[T], raw: Json, path: str = "") -> T:
    """Read a value of that class; ``path`` is where it stands, for messages.

    Raises ValueReadError for a field that is missing, unknown or of another type.
    """
    where = path or kind.__name__
    hints, given = _hints(cast("Hashable", kind)), dict(_as_object(raw, where))
    for name, found in given.items():
        if name not in hints:
            raise ValueReadError(
                f"{where}.{name}", found, f"a field of {kind.__name__}"
            )
        given[name] = cast("Json", _read(hints[name], found, f"{where}.{name}"))
    for each in fields(cast("Any", kind)):
        if each.name not in given and _default(each) is MISSING:
            wanted = f"of type {each.type}, as it is missing"
            raise ValueReadError(f"{where}.{each.name}", None, wanted)
    return kind(**given)


def plain(value: Json) -> Any:  # noqa: ANN401  # JSON in the types that users write
    """Return a copy in dicts and lists, which its reader may change."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in cast("Sequence[Json]", value)]
    return value


def freeze(value: object, *names: str) -> None:
    """Replace these JSON fields of a frozen dataclass by copies nobody can change."""
    for name in names:
        found = getattr(value, name)
        if found is not None and not isinstance(found, FrozenDict):
            object.__setattr__(value, name, frozen_json(found))


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _written(value: object) -> Json:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if is_dataclass(value):
        return as_json(value)
    if isinstance(value, Mapping):
        found = cast("Mapping[str, object]", value)
        return {key: _written(each) for key, each in found.items()}
    if isinstance(value, (list, tuple)):
        return [_written(each) for each in cast("Sequence[object]", value)]
    return cast("Json", value)


@cache
def _hints(kind: Hashable) -> Mapping[str, Any]:
    # Json is recursive, and what a parser gave needs no second look.
    return get_type_hints(cast("type", kind), localns={"Json": Any})


def _read(hint: Any, raw: Json, path: str) -> object:  # noqa: ANN401  # an annotation
    if is_dataclass(hint):
        return from_json(cast("type[object]", hint), raw, path)
    origin = get_origin(hint)
    if origin is not None:
        return _read_generic(origin, get_args(hint), raw, path)
    if hint is bytes:
        return _read_bytes(raw, path)
    if hint is float and type(raw) is int:
        return float(raw)
    if hint in _SCALARS and type(raw) is not hint:
        raise ValueReadError(path, raw, f"of type {hint.__name__}")
    return raw


def _read_generic(origin: type, inner: tuple[Any, ...], raw: Json, path: str) -> object:
    if origin in {Union, UnionType}:
        kind = next(each for each in inner if each is not NoneType)
        return None if raw is None else _read(kind, raw, path)
    if origin is tuple:
        if isinstance(raw, str) or not isinstance(raw, Sequence):
            raise ValueReadError(path, raw, "a list")
        return tuple(
            _read(inner[0], each, f"{path}[{n}]") for n, each in enumerate(raw)
        )
    found = _as_object(raw, path)
    return {key: _read(inner[1], each, f"{path}[{key!r}]") for key, each in found}


def _as_object(raw: Json, path: str) -> Iterable[tuple[str, Json]]:
    if not isinstance(raw, Mapping):
        raise ValueReadError(path, raw, "a JSON object")
    return raw.items()


def _read_bytes(raw: Json, path: str) -> bytes:
    try:
        return base64.b64decode(cast("str", raw), validate=True)
    except (binascii.Error, TypeError, ValueError) as cause:
        raise ValueReadError(path, raw, "text in base64") from cause
