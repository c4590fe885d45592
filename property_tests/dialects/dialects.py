"""The dialects that can be judged, by name; each is imported where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from compat.engines.importing import GROUP
from property_tests.dialects.dialect import Dialect
from property_tests.dialects.table import DIALECTS


def dialect_named(name: str) -> Dialect:
    """Return the dialect of that name; KeyError if there is none."""
    places = {each.name: each.judged for each in DIALECTS}
    module, _, attribute = places[name].partition(":")
    return cast("Dialect", getattr(import_module(module), attribute))


def world_of_dialect(data: Mapping[str, Any]) -> BaseModel | None:
    """Return the world of the dialect that JSON says it is of, None if of none.

    Raises ValueError with the first thing that is wrong with it.
    """
    subject = data.get("subject")
    if not isinstance(subject, str) or all(subject != x.name for x in DIALECTS):
        return None
    try:
        return dialect_named(subject).read(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(
            f"it is not a world of {subject}: {where}: {first['msg']}"
        ) from None


def dialects() -> tuple[Dialect, ...]:
    """Return all dialects, imported."""
    return tuple(dialect_named(each.name) for each in DIALECTS)


def dialect_of_family(family: str) -> str:
    """Return the dialect that a family of clauses is about, "" if it is about none."""
    return next((each.name for each in DIALECTS if each.family == family), "")


def dialect_of(text: str) -> str:
    """Return the dialect of the door that a text names, "" for an engine.

    Nothing is imported: an installed door's package says it.
    """
    for point in entry_points(group=GROUP, name=text):
        for each in DIALECTS:
            if f"{point.module}.".startswith(tuple(f"{x}." for x in each.doors)):
                return each.name
    return ""


def installed(text: str) -> bool:
    """Tell whether a text names an installed door, whose package says what it is."""
    return bool(entry_points(group=GROUP, name=text))
