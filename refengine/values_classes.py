"""How dataclasses, enums and pydantic models are kept: by their fields and names.

Fields are packed one by one, with their own types; nothing is turned into a dict on the
way. pydantic is not imported: a model is known by its methods.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Mapping
from typing import Any, cast

from refengine.errors import UnfitTypeError
from refengine.values_builtin import Decode, Encode

_BY_HAND = "use types.register with encode and decode"


def dataclass_ways(name: str, cls: type) -> tuple[Encode, Decode]:
    """Return how a dataclass is encoded and decoded; raises UnfitTypeError.

    What is no field is not kept; ``__post_init__`` runs again when it is decoded.
    """
    if not dataclasses.is_dataclass(cls):
        raise UnfitTypeError(name, cast("object", cls), "it is no dataclass")
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
        raise UnfitTypeError(name, cast("object", cls), "it is no enum")
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
        raise UnfitTypeError(name, cls, "it is no pydantic model")
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
