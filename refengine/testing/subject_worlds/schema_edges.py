"""The edges of a JSON schema: what lies on them, just inside and just outside.

    schema → values, each with whether the schema takes it

Whoever gives a subject values of a schema takes them from here: arguments of calls,
values by name, structured answers. They are made from the schema alone, and the same on
every Python.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.subject_worlds.words import Pattern, matching, near_misses

Schema: TypeAlias = "Mapping[str, Any]"

LONGEST: Final = 2_000
"""No text or list is made longer to reach an edge."""
DEEPEST: Final = 3
"""So deep are schemas looked into; one that contains itself has no end."""
CHOICES: Final = ("anyOf", "oneOf", "allOf")
EXTRA: Final = "no_such_field"
NO_CHOICE: Final = "no such choice"
MISSES: Final = 3
"""So many texts that nearly match a pattern are tried."""
TYPES: Final[Mapping[str, tuple[type, ...]]] = MappingProxyType(
    {
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "array": (list, tuple),
        "object": (dict,),
        "null": (type(None),),
    }
)
OTHERS: Final[Mapping[str, tuple[object, ...]]] = MappingProxyType(
    {
        "string": (["a"], 7),
        "integer": ("many", 1.5, "1"),
        "number": ("many", "1.5"),
        "boolean": ("perhaps", ["a"]),
        "array": ("a",),
        "object": ("a", ["a"]),
    }
)
"""Values of other types, in the way that models and callers get them wrong."""


@dataclass(frozen=True, slots=True)
class SchemaEdge:
    """A value at an edge of a schema, and whether the schema takes it.

    One that is ``sharp`` lies at a bound, a choice or a pattern; others are of another
    type, lack something or have too much.
    """

    value: Any
    fits: bool
    sharp: bool = True


def fits(value: object, schema: object) -> bool:
    """Tell whether a schema takes a value, as far as its own words go.

    A type that is not known, and a reference to another schema, take anything.
    """
    if not is_mapping(schema):
        return True
    if is_list(schema.get("anyOf")):
        return any(fits(value, each) for each in schema["anyOf"])
    if "const" in schema or is_list(schema.get("enum")):
        some = [schema["const"]] if "const" in schema else schema["enum"]
        return any(_same(value, each) for each in some)
    kinds = kinds_of(schema)
    known = {each for kind in kinds for each in TYPES.get(kind, ())}
    if not kinds or not all(each in TYPES for each in kinds):
        return True
    return type(value) in known and _within(value, schema)


def kinds_of(schema: Schema) -> tuple[str, ...]:
    """Return the types that a schema names; none if it does not say."""
    kinds = schema.get("type")
    if is_list(kinds):
        return tuple(map(str, kinds))
    return ("object",) if kinds is None and "properties" in schema else _one(kinds)


def _one(kind: object) -> tuple[str, ...]:
    return (kind,) if isinstance(kind, str) else ()


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _within(value: object, schema: Schema) -> bool:
    """Tell whether a value of the right type keeps the bounds of a schema."""
    if isinstance(value, str):
        pattern = _pattern(schema)
        found = pattern is None or pattern.compiled().search(value) is not None
        return found and _counted(len(value), schema, "Length")
    if is_list(value):
        items = schema.get("items")
        counted = _counted(len(value), schema, "Items")
        return counted and all(fits(each, items) for each in value)
    if is_mapping(value):
        return _has_fields(value, schema)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _numbered(value, schema)
    return True


def _counted(count: int, schema: Schema, what: str) -> bool:
    least, most = bound(schema, f"min{what}"), bound(schema, f"max{what}")
    return (least is None or count >= least) and (most is None or count <= most)


def bound(schema: Schema, name: str) -> Any:  # noqa: ANN401  # int or float, None without
    """Return a bound of a schema, None where no number is one."""
    found = schema.get(name)
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return found if number and (found or name != "multipleOf") else None


def _numbered(value: float, schema: Schema) -> bool:
    bounds = ((keeps, bound(schema, name)) for name, keeps in NUMBERED.items())
    return all(most is None or keeps(value, most) for keeps, most in bounds)


def _is_multiple(value: float, of: float) -> bool:
    return not value % of


NUMBERED: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {
        "minimum": operator.ge,
        "exclusiveMinimum": operator.gt,
        "maximum": operator.le,
        "exclusiveMaximum": operator.lt,
        "multipleOf": _is_multiple,
    }
)
"""The bounds of numbers, and what keeps them."""


def _has_fields(value: Mapping[str, Any], schema: Schema) -> bool:
    fields = fields_of(schema)
    if (
        schema.get("additionalProperties") is False
        and not value.keys() <= fields.keys()
    ):
        return False
    return all(name in value for name in required_of(schema)) and all(
        fits(each, fields.get(name, {})) for name, each in value.items()
    )


def fields_of(schema: Schema) -> Mapping[str, Any]:
    """Return the schemas of an object's fields, by name."""
    found = schema.get("properties")
    return found if is_mapping(found) else {}


def required_of(schema: Schema) -> tuple[str, ...]:
    """Return the names of the fields that have to be there."""
    found = schema.get("required")
    return tuple(map(str, found)) if is_list(found) else ()


def _pattern(schema: Schema) -> Pattern | None:
    """Return the pattern of a text, None if there is none that Python reads."""
    try:
        found = Pattern(str(schema["pattern"]))
        found.compiled()
    except (KeyError, re.error, OverflowError, RecursionError):
        return None
    return found


# Values


def typical(schema: object, depth: int = 0) -> Any:  # noqa: ANN401  # a JSON value
    """Return a value that a schema takes, the first of those at its edges."""
    if not is_mapping(schema):
        return "a"
    if "const" in schema:
        return schema["const"]
    if is_list(schema.get("enum")) and schema["enum"]:
        return schema["enum"][0]
    for each in filter(is_mapping, _chosen(schema)):
        if each.get("type") != "null":
            return typical(each, depth)
    found = _plain(schema, depth)
    if fits(found, schema) or not {"string", "integer", "number"} & {*kinds_of(schema)}:
        return found
    return next((each.value for each in edges(schema, depth) if each.fits), found)


def _plain(schema: Schema, depth: int) -> Any:  # noqa: ANN401  # a JSON value
    kind = next(iter(kinds_of(schema)), "string")
    if kind == "object":
        if depth >= DEEPEST:
            return dict[str, Any]()
        fields = fields_of(schema).items()
        return {name: typical(each, depth + 1) for name, each in fields}
    if kind == "array":
        least = int(min(max(bound(schema, "minItems") or 1, 1), LONGEST))
        item = typical(schema.get("items", {}), depth + 1)
        return [item] * (least if depth < DEEPEST else 0)
    return {"integer": 1, "number": 1.5, "boolean": True, "null": None}.get(kind, "a")


def edges(schema: object, depth: int = 0) -> Sequence[SchemaEdge]:
    """Return the values at the edges of a schema, those at its bounds first."""
    if not is_mapping(schema) or depth > DEEPEST:
        return ()
    once: dict[str, SchemaEdge] = {}
    for each in sorted(_edges(schema, depth), key=lambda each: not each.sharp):
        once.setdefault(json.dumps(each.value), each)
    return tuple(once.values())


def _edges(schema: Schema, depth: int) -> Iterator[SchemaEdge]:
    for each in (edge for part in _chosen(schema) for edge in edges(part, depth)):
        yield SchemaEdge(each.value, fits(each.value, schema), each.sharp)
    kinds = kinds_of(schema)
    if "const" in schema or is_list(schema.get("enum")):
        yield from _choices(schema)
    elif "array" in kinds:
        yield from _lists(schema, depth)
    elif "object" in kinds:
        yield from _objects(schema, depth)
    else:
        yield from _scalars(schema, kinds)
    for other in (*OTHERS.get(next(iter(kinds), ""), ()), None):
        taken = fits(other, schema)
        yield SchemaEdge(other, taken, sharp=taken and other is None)


def _scalars(schema: Schema, kinds: Sequence[str]) -> Iterator[SchemaEdge]:
    if "string" in kinds:
        yield from _texts(schema)
    elif {"integer", "number"} & {*kinds}:
        yield from _numbers(schema)
    elif "boolean" in kinds:
        yield from (SchemaEdge(each, fits=True) for each in (False, True))


def _chosen(schema: Schema) -> Iterator[object]:
    """Yield the schemas that a schema is put together from."""
    for choice in CHOICES:
        yield from schema[choice] if is_list(schema.get(choice)) else ()


def _choices(schema: Schema) -> Iterator[SchemaEdge]:
    """Yield each choice, one in other letters, and what is none."""
    some = [schema["const"]] if "const" in schema else [*schema["enum"]]
    texts = [each for each in some if isinstance(each, str)]
    numbers = [each for each in some if type(each) is int]
    beside = [max(numbers) + 1, min(numbers) - 1] if numbers else []
    for value in (*some, *(each.swapcase() for each in texts[:1]), *beside, NO_CHOICE):
        yield SchemaEdge(value, fits(value, schema))


def _numbers(schema: Schema) -> Iterator[SchemaEdge]:
    whole = "number" not in kinds_of(schema)
    step = bound(schema, "multipleOf")
    near: list[float] = (
        [0, step, 2 * step, step + (1 if whole else step / 2)] if step else []
    )
    for name in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
        at = bound(schema, name)
        off = 1 if whole else 0.5
        near += [at - off, at, at + off] if at is not None else []
    for each in near:
        value = int(each) if each == int(each) and whole else each
        yield SchemaEdge(value, fits(value, schema))


def _texts(schema: Schema) -> Iterator[SchemaEdge]:
    pattern = _pattern(schema)
    some = [*matching(pattern)[:2]] if pattern else []
    around = [each for text in some[:1] for each in (f"a{text}", f"{text}a")]
    some += [*around, *near_misses(pattern)[:MISSES]] if pattern else []
    for text in (*some, *(_long(each, "a") for each in _lengths(schema, "Length"))):
        yield SchemaEdge(text, fits(text, schema))


def _lengths(schema: Schema, what: str) -> Sequence[int]:
    """Return the lengths at the bounds of texts or lists."""
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    near = [least, least - 1] if isinstance(least, int) else []
    near += [most, most + 1] if isinstance(most, int) else []
    return [each for each in dict.fromkeys(near) if 0 <= each <= LONGEST]


def _long(length: int, of: str) -> str:
    return of * length


def _lists(schema: Schema, depth: int) -> Iterator[SchemaEdge]:
    item = typical(schema.get("items", {}), depth + 1)
    for length in _lengths(schema, "Items"):
        yield SchemaEdge([item] * length, fits([item] * length, schema))
    for each in edges(schema.get("items", {}), depth + 1):
        yield SchemaEdge([each.value], fits([each.value], schema), each.sharp)


def _objects(schema: Schema, depth: int) -> Iterator[SchemaEdge]:
    made = typical(schema, depth)
    return object_edges(schema, made, depth) if is_mapping(made) else iter(())


def object_edges(
    schema: Schema, every: Mapping[str, Any], depth: int = 0
) -> Iterator[SchemaEdge]:
    """Yield an object with one field at an edge, those of all fields in turn.

    Then without each, and with one more.
    """
    fields = fields_of(schema).items()
    rows = [[(n, each) for each in edges(s, depth + 1)] for n, s in fields]
    for name, each in filter(None, chain(*zip_longest(*rows))):
        made = {**every, name: each.value}
        yield SchemaEdge(made, each.fits and fits(made, schema), each.sharp)
    for name in every:
        made = {key: value for key, value in every.items() if key != name}
        yield SchemaEdge(made, fits(made, schema))
    made = {**every, EXTRA: 1}
    closed = schema.get("additionalProperties") is False
    yield SchemaEdge(made, fits(made, schema), closed)
