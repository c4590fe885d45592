"""Rows of observed behaviour: reading them, and which of their groups apply.

A row says what was run and, for groups of versions, what was seen. The notation is
that of the recorded rows; what it does not name is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

VERSIONS: Final = (
    "v0.6.0",
    "v0.7.17",
    "v0.7.37",
    "ae1fb605",
    "v0.8.0",
    "v0.8.13",
    "HEAD",
)
"""The builds, oldest first; a range ``A..B`` names all from A to B."""

PROFILE_OF: Final = {
    "v0.7.17": "eino-0.7",
    "ae1fb605": "eino-draft",
    "v0.8.13": "eino-0.8",
    "HEAD": "eino-0.9",
}
"""The builds that a profile stands for; the others are counted, not compared."""

COMPARED: Final = frozenset(
    (
        "trace",
        "trace_only",
        "trace_has",
        "trace_lacks",
        "trace_counts",
        "events",
        "events_has",
        "last_event",
        "event_count",
        "event_count_at_least",
        "event_roles",
        "event_role_counts",
        "errors",
        "build_error",
        "model_call_count",
        "model_calls",
        "system_message",
        "system_message_contains",
    )
)
MODIFIERS: Final = frozenset(("versions", "tool_order", "note"))
_ROW_KEYS: Final = frozenset(
    ("id", "kind", "source_test", "eino", "rule", "beyond", "scenario", "expected")
)


class RowsError(ValueError):
    """A file that holds no rows, or a row that cannot be read."""

    def __init__(self, source: str, problem: str) -> None:
        self.source = source
        super().__init__(f"{source}: {problem}")


@dataclass(frozen=True, slots=True)
class Group:
    """What one group of versions was seen to do."""

    versions: tuple[str, ...]
    expected: Mapping[str, Any]
    free: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One row; ``beyond`` are the tags of what an engine need not cover."""

    id: str
    beyond: tuple[str, ...]
    scenario: Mapping[str, Any]
    groups: tuple[Group, ...]

    def for_profile(self, profile: str) -> Sequence[Group]:
        """Return the groups that the profile's version belongs to."""
        version = next(v for v, name in PROFILE_OF.items() if name == profile)
        return [group for group in self.groups if version in group.versions]

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions that the row says something about."""
        return tuple(v for v in VERSIONS if any(v in g.versions for g in self.groups))


def load_rows(path: Path) -> list[Row]:
    """Read a file of rows; raises RowsError, or OSError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RowsError(path.name, f"is no JSON: {error}") from None
    if not isinstance(data, list) or not data:
        raise RowsError(path.name, "holds no list of rows")
    rows = [_row(each, f"{path.name}[{at}]") for at, each in enumerate(data)]
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise RowsError(path.name, f"two rows have the id {row.id}")
        seen.add(row.id)
    return rows


def _row(data: object, source: str) -> Row:
    if not isinstance(data, dict) or not isinstance(data.get("id"), str):
        raise RowsError(source, "is no row: an object with an 'id' is needed")
    source = data["id"]
    _refuse_unknown(source, data, _ROW_KEYS)
    expected = data.get("expected")
    groups = expected.get("by_version") if isinstance(expected, dict) else None
    if not isinstance(groups, list) or not groups:
        raise RowsError(source, "has no expected.by_version")
    tags = tuple(data.get("beyond", ()))
    return Row(
        source,
        tags,
        data.get("scenario", {}),
        tuple(_group(each, source, tagged=bool(tags)) for each in groups),
    )


def _group(data: Mapping[str, Any], source: str, *, tagged: bool) -> Group:
    if not tagged:
        _refuse_unknown(source, data, COMPARED | MODIFIERS)
    versions: list[str] = []
    for name in data.get("versions", ()):
        versions.extend(_expanded(name, source))
    if not versions:
        raise RowsError(source, "has a group without versions")
    expected = {key: value for key, value in data.items() if key not in MODIFIERS}
    order = data.get("tool_order")
    if order not in (None, "free"):
        raise RowsError(source, f"tool_order is {order!r}: only 'free' is known")
    return Group(tuple(versions), expected, order == "free")


def _expanded(name: str, source: str) -> Sequence[str]:
    first, dots, last = name.partition("..")
    ends = (first, last) if dots else (first, first)
    for end in ends:
        if end not in VERSIONS:
            known = ", ".join(VERSIONS)
            raise RowsError(source, f"version {end!r} is not one of {known}")
    return VERSIONS[VERSIONS.index(ends[0]) : VERSIONS.index(ends[1]) + 1]


def _refuse_unknown(
    source: str, data: Mapping[str, Any], known: frozenset[str]
) -> None:
    unknown = sorted(data.keys() - known)
    if unknown:
        raise RowsError(source, f"has unknown keys {', '.join(unknown)}")
