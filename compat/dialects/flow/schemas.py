"""Whether JSON fits a schema: the part of JSON Schema that tools and answers use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from refengine.messages import Json

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def misfits(value: Json, schema: Mapping[str, Json], path: str = "") -> Iterator[str]:
    """Yield what of the value does not fit: type, enum, required, properties, items.

    Other keywords are not looked at. A type's name may be in capitals, as vendors have.
    """
    kind = schema.get("type")
    if isinstance(kind, str) and not _is_a(value, kind.lower()):
        yield f"{path or 'the answer'} is {value!r}, no {kind.lower()}"
        return
    enum = schema.get("enum")
    if isinstance(enum, (list, tuple)) and value not in cast("list[Json]", enum):
        yield f"{path or 'the answer'} is {value!r}, none of {enum!r}"
    if isinstance(value, Mapping):
        yield from _misfitting_fields(value, schema, path)
    items = schema.get("items")
    if isinstance(items, Mapping) and isinstance(value, (list, tuple)):
        for place, each in enumerate(cast("Sequence[Json]", value)):
            yield from misfits(each, items, f"{path}[{place}]")


def _misfitting_fields(
    value: Mapping[str, Json], schema: Mapping[str, Json], path: str
) -> Iterator[str]:
    properties = cast("Mapping[str, Mapping[str, Json]]", schema.get("properties", {}))
    for name in cast("Sequence[str]", schema.get("required", ())):
        if name not in value:
            yield f"{path + '.' if path else ''}{name} is missing"
    for name, each in value.items():
        place = f"{path}.{name}" if path else name
        if name in properties:
            yield from misfits(each, properties[name], place)
        elif properties and schema.get("additionalProperties") is False:
            yield f"{place} is in no property of the schema"


def _is_a(value: Json, kind: str) -> bool:
    if kind not in _KINDS:
        return True
    return isinstance(value, _KINDS[kind]) and not (
        isinstance(value, bool) and kind in {"integer", "number"}
    )
