"""The dialects that can be judged, by name; each is imported where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Final, cast

from pydantic import BaseModel, ValidationError

from compat.engines.importing import GROUP
from property_tests.dialects.dialect import Dialect

DIALECTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "flow": "property_tests.flow.flow_dialect:FLOW",
        "stream-loop": "property_tests.stream_loop.loop_dialect:STREAM_LOOP",
        "callbacks": "property_tests.callbacks.callbacks_dialect:CALLBACKS",
    }
)
"""Where each stands."""
FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    {"FLOW": "flow", "LOOP": "stream-loop", "CB": "callbacks"}
)
"""The dialect that each family of clauses is about."""
DOORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "compat.engines.flow": "flow",
        "compat.drivers.flow": "flow",
        "compat.engines.stream_loop": "stream-loop",
        "compat.drivers.loops": "stream-loop",
        "compat.engines.callbacks": "callbacks",
        "compat.drivers.sessions": "callbacks",
    }
)
"""The packages that have our own doors to a dialect."""


def dialect_named(name: str) -> Dialect:
    """Return the dialect of that name; KeyError if there is none."""
    module, _, attribute = DIALECTS[name].partition(":")
    return cast("Dialect", getattr(import_module(module), attribute))


def world_of_dialect(data: Mapping[str, Any]) -> BaseModel | None:
    """Return the world of the dialect that JSON says it is of, None if of none.

    Raises ValueError with the first thing that is wrong with it.
    """
    subject = data.get("subject")
    if not isinstance(subject, str) or subject not in DIALECTS:
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
    return tuple(map(dialect_named, DIALECTS))


def dialect_of_family(family: str) -> str:
    """Return the dialect that a family of clauses is about, "" if it is about none."""
    return FAMILIES.get(family, "")


def dialect_of(text: str) -> str:
    """Return the dialect of the door that a text names, "" for an engine.

    Nothing is imported: an installed door's package says it.
    """
    for point in entry_points(group=GROUP, name=text):
        for package, name in DOORS.items():
            if f"{point.module}.".startswith(f"{package}."):
                return name
    return ""


def installed(text: str) -> bool:
    """Tell whether a text names an installed door, whose package says what it is."""
    return bool(entry_points(group=GROUP, name=text))
