"""Engines that tell the model less of a tool, or keep less of a value (TOOL, SER)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from property_tests.mutants.models import told
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    wrong,
)
from refengine.messages import Json
from refengine.testing.trace import to_json

Schema: TypeAlias = "dict[str, Any]"


def _schemas(change: Callable[[Schema], Schema]) -> Door:
    """Tell the model other parameters; each object in them is changed."""

    def walk(value: Json) -> Any:  # noqa: ANN401  # as JSON is
        if isinstance(value, Mapping):
            return change({name: walk(each) for name, each in value.items()})
        if isinstance(value, (list, tuple)):
            return [walk(each) for each in value]
        return value

    return told(lambda info: replace(info, parameters=walk(to_json(info.parameters))))


def _without(*names: str) -> Callable[[Schema], Schema]:
    return lambda schema: {k: v for k, v in schema.items() if k not in names}


def _without_null(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if value is not None}


def _sorted(field: str) -> Callable[[Schema], Schema]:
    return lambda schema: {
        name: sorted(value, key=str) if name == field else value
        for name, value in schema.items()
    }


def _one_type(schema: Schema) -> Schema:
    kind = schema.get("type")
    return {**schema, "type": kind[0]} if isinstance(kind, list) else schema


def _composed(schema: Schema) -> Schema:
    return {
        unicodedata.normalize("NFC", name): unicodedata.normalize("NFC", value)
        if isinstance(value, str)
        else value
        for name, value in schema.items()
    }


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "parameters-without-null",
        "Fields of parameters that are null are left out.",
        "TOOL-025",
        _schemas(_without_null),
    ),
    wrong(
        "parameters-without-definitions",
        "Parameters are told without what they refer to.",
        "TOOL-025",
        _schemas(_without("$defs")),
    ),
    wrong(
        "parameters-of-known-words",
        "Parameters are told without words that a vendor does not know.",
        "TOOL-025",
        _schemas(_without("title", "format", "examples", "x-own")),
    ),
    wrong(
        "required-sorted",
        "The names of required parameters are sorted.",
        "TOOL-025",
        _schemas(_sorted("required")),
    ),
    wrong(
        "choices-sorted",
        "The values that a parameter may have are sorted.",
        "TOOL-025",
        _schemas(_sorted("enum")),
    ),
    wrong(
        "parameters-of-one-type",
        "Of several types of a parameter the first is told.",
        "TOOL-025",
        _schemas(_one_type),
    ),
    wrong(
        "parameters-composed",
        "Parameters are told with composed letters.",
        "TOOL-025",
        _schemas(_composed),
    ),
)
