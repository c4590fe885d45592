"""The kinds of types that values may be of, and how each is encoded and decoded.

JSON has no tuples, sets, bytes, dates or exact decimals. Each of these has a name here
and comes back of its own type. What would come back changed is refused: a time zone
that is not a fixed offset, a decimal that is not a number.

Dataclasses, enums and pydantic models are kept by their fields and names. Fields are
packed one by one, with their own types; nothing is turned into a dict on the way.
pydantic is not imported: a model is known by its methods.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast
from uuid import UUID

from refengine.errors import Refused
from refengine.messages import FrozenDict
from refengine.state.errors import UnfitTypeError

Tree: TypeAlias = "bool | int | float | str | list[Tree] | dict[str, Tree] | None"
"""A packed value: what ``json`` writes and reads, and nothing else."""
Encode: TypeAlias = Callable[[Any], object]
Decode: TypeAlias = Callable[[Any], object]
Upgrade: TypeAlias = Callable[[Any], object]
Steps: TypeAlias = Literal["item", "field", "member", "model"]
"""How a key path goes on: ``['key']`` or ``[3]``, ``.field``, ``{member}``.

A model has its fields one level further in, which the path does not show.
"""
NO_UPGRADES: Final[Mapping[int, Upgrade]] = MappingProxyType({})
MOST_ALIKE: Final = 1000
"""Members of a set with one hash; more, if forged, would all be compared."""
Plain: TypeAlias = "dict[object, object]"
PAIR: Final = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")
"""Between two surrogates that JSON would join to one character."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A class and its stable name; ``encode`` gives plain or registered values.

    ``unordered`` data is sorted, so that equal sets are equal bytes. ``exact`` data is
    what ``encode`` gives for what was decoded of it, or it is refused.
    """

    name: str
    cls: type
    encode: Encode
    decode: Decode
    version: int = 1
    upgrades: Mapping[int, Upgrade] = field(default_factory=dict[int, Upgrade])
    steps: Steps = "item"
    unordered: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of a type that this registry does not know, kept as it was read.

    ``text`` is its data as JSON text. It is packed again as it was, so that what an
    older process only carries is not lost.
    """

    name: str
    version: int
    text: str


def same(one: object, other: object) -> bool:
    """Tell whether two plain values are equal and of the same types at each depth."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return _same_items(cast("list[object]", one), cast("list[object]", other))
    if isinstance(one, dict):
        first, second = cast("Plain", one), cast("Plain", other)
        keys = list(first) == list(second)
        return keys and _same_items(list(first.values()), list(second.values()))
    return one == other


def splits(text: str) -> bool:
    """Tell whether JSON would join two surrogates of this text to one character."""
    return not text.isascii() and PAIR.search(text) is not None


def pieces(text: str) -> list[str]:
    """Return a text cut where JSON would join two surrogates to one character."""
    return PAIR.split(text)


def _same_items(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(map(same, one, other))


def _joined(parts: list[str]) -> str:
    return "".join(parts)


def _members(values: set[object] | frozenset[object]) -> list[object]:
    if _most_alike(values) > MOST_ALIKE:
        advice = f"over {MOST_ALIKE:,} members have one hash: keep a list"
        raise Refused("", type(values).__name__, advice)
    return list(values)


def _set(items: list[object]) -> set[object]:
    if _most_alike(items) > MOST_ALIKE:
        raise ValueError(f"over {MOST_ALIKE:,} members have one hash")
    found = set(items)
    if len(found) != len(items):
        raise ValueError("two members are equal")
    return found


def _most_alike(members: Iterable[object]) -> int:
    return max(Counter(map(hash, members)).values(), default=0)


def _frozenset(items: list[object]) -> frozenset[object]:
    return frozenset(_set(items))


def _frozen_dict(items: dict[str, Any]) -> FrozenDict:
    if type(items) is not dict:
        raise TypeError(f"{type(items).__name__} is not an object")
    return FrozenDict(items)


def _from_bytes(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _to_bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _from_decimal(number: Decimal) -> str:
    if not number.is_finite():
        advice = "it is not a number: keep None or a text instead"
        raise Refused("", "Decimal", advice)
    return str(number)


def _from_zone(zone: tzinfo | None) -> object:
    if zone is None:
        return None
    if type(zone) is not timezone:
        advice = "only a fixed offset comes back: use value.astimezone(timezone.utc)"
        raise Refused(".tzinfo", type(zone).__name__, advice)
    offset, name = zone.utcoffset(None), zone.tzname(None)
    plain = timezone(offset).tzname(None)
    return [_from_delta(offset)] if name == plain else [_from_delta(offset), name]


def _to_zone(data: list[Any] | None) -> timezone | None:
    return None if data is None else timezone(_to_delta(data[0]), *data[1:])


def _from_delta(delta: timedelta) -> list[int]:
    return [delta.days, delta.seconds, delta.microseconds]


def _to_delta(data: list[int]) -> timedelta:
    days, seconds, microseconds = data
    return timedelta(days, seconds, microseconds)


def _from_moment(moment: datetime | time) -> list[object]:
    text = moment.replace(tzinfo=None).isoformat()
    return [text, _from_zone(moment.tzinfo), moment.fold]


def _to_datetime(data: list[Any]) -> datetime:
    text, zone, fold = data
    return datetime.fromisoformat(text).replace(tzinfo=_to_zone(zone), fold=fold)


def _to_time(data: list[Any]) -> time:
    text, zone, fold = data
    return time.fromisoformat(text).replace(tzinfo=_to_zone(zone), fold=fold)


BUILT_IN: Final = (
    Registered("str", str, pieces, _joined, exact=True),
    Registered("tuple", tuple, list, tuple),
    Registered("set", set, _members, _set, steps="member", unordered=True),
    Registered(
        "frozenset", frozenset, _members, _frozenset, steps="member", unordered=True
    ),
    Registered("frozendict", FrozenDict, dict, _frozen_dict),
    Registered("bytes", bytes, _from_bytes, _to_bytes, exact=True),
    Registered("datetime", datetime, _from_moment, _to_datetime, exact=True),
    Registered("date", date, date.isoformat, date.fromisoformat, exact=True),
    Registered("time", time, _from_moment, _to_time, exact=True),
    Registered("timedelta", timedelta, _from_delta, _to_delta, exact=True),
    Registered("decimal", Decimal, _from_decimal, Decimal, exact=True),
    Registered("uuid", UUID, str, UUID, exact=True),
)
"""What ``Types()`` knows. ``str`` is only for texts that JSON would change."""
PLAIN: Final = (type(None), bool, int, float, str, list, dict)
"""What JSON has, and needs no name."""


_BY_HAND = "use types.register with encode and decode"


def dataclass_ways(name: str, cls: type) -> tuple[Encode, Decode]:
    """Return how a dataclass is encoded and decoded; raises UnfitTypeError.

    What is not a field is not kept; ``__post_init__`` runs again when it is decoded.
    """
    if not dataclasses.is_dataclass(cls):
        raise UnfitTypeError(name, cast("object", cls), "it is not a dataclass")
    fields = tuple(each.name for each in dataclasses.fields(cls))
    if tuple(inspect.signature(cls).parameters) != fields:
        why = f"its fields are not what it is called with: {_BY_HAND}"
        raise UnfitTypeError(name, cast("object", cls), why)

    def encode(value: object) -> dict[str, object]:
        return {field: getattr(value, field) for field in fields}

    def decode(data: dict[str, Any]) -> object:
        _only(data, fields)
        return cls(**data)

    return encode, decode


def enum_ways(name: str, cls: type) -> tuple[Encode, Decode]:
    """Return how an enum is encoded, by its names, and decoded; raises UnfitTypeError.

    A flag is kept as a number, since not each combination has a name.
    """
    if not issubclass(cls, enum.Enum):
        raise UnfitTypeError(name, cast("object", cls), "it is not an enum")
    members = cls.__members__

    def decode(data: str) -> object:
        return members[data]

    if issubclass(cls, enum.Flag):
        return _number_of, cls
    return _name_of, decode


def model_ways(name: str, cls: type) -> tuple[Encode, Decode]:
    """Return how a pydantic model is encoded and decoded; raises UnfitTypeError.

    It is validated when it is decoded, but the values stand in it as they were kept.
    """
    model = cast("Any", cls)
    if not all(hasattr(cls, each) for each in ("model_validate", "model_construct")):
        raise UnfitTypeError(name, cls, "it is not a pydantic model")
    if getattr(cls, "__pydantic_root_model__", False):
        raise UnfitTypeError(name, cls, f"it is a RootModel: {_BY_HAND}")
    if getattr(cls, "__private_attributes__", None):
        raise UnfitTypeError(name, cls, f"it has private attributes: {_BY_HAND}")
    keys = {field: _key(name, cls, field) for field in model.model_fields}

    def encode(value: Any) -> dict[str, object]:  # noqa: ANN401  # a model, which has no type here
        fields = {field: getattr(value, field) for field in keys}
        fields |= value.model_extra or {}
        return {"fields": fields, "set": sorted(value.model_fields_set)}

    def decode(data: dict[str, Any]) -> object:
        fields: dict[str, object] = data["fields"]
        given = {keys.get(field, field): each for field, each in fields.items()}
        model.model_validate(given)
        return model.model_construct(set(data["set"]), **given)

    return encode, decode


def _key(name: str, cls: Any, field: str) -> str:  # noqa: ANN401  # as above
    """Return the key that the model takes a field by."""
    alias = cls.model_fields[field].validation_alias or field
    if not isinstance(alias, str):
        why = f"field {field!r} has several aliases: {_BY_HAND}"
        raise UnfitTypeError(name, cls, why)
    return alias


def _only(data: Mapping[str, object], fields: tuple[str, ...]) -> None:
    """Refuse other fields than those of the class, also where it has a default."""
    if set(data) != set(fields):
        has = f"its fields are {sorted(data)}"
        raise ValueError(f"{has}, those of the class are {sorted(fields)}")


def _name_of(value: enum.Enum) -> str:
    return value.name


def _number_of(value: enum.Flag) -> int:
    return value.value
