"""Rows of observed behaviour: reading them, and which of their groups apply.

A row says what was run and, for groups of versions, what was seen. The notation is
that of the recorded rows; what it does not name is refused. Rows about ADK, which are
single decisions of the Flow dialect, have a notation of their own (``flow``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from compat.observe.flow.rows import FlowRow, is_flow_row
from refengine.errors import RefengineError, error
from refengine.testing.given_text import problem, read_json, unread
from refengine.testing.json_values import is_list, is_mapping

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
    "v0.7.37": "eino-0.7.37",
    "ae1fb605": "eino-draft",
    "v0.8.13": "eino-0.8",
    "HEAD": "eino-0.9",
}
"""The builds that a profile stands for; the others are counted, not compared."""

COVERED: Final = frozenset(("interrupt_resume", "retry", "cancel"))
"""Tags of what the engine has all the same; other rows with them are judged, too."""

Anything: TypeAlias = dict[str, Any]  # an entry or event, matched by its own keys


@error
class RowsError(RefengineError, ValueError):
    """A file that holds no rows, or a row that cannot be read."""

    source: str
    problem: str
    says = "{source}: {problem}"


def _expanded(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return all builds that names and ranges stand for."""
    return tuple(version for name in names for version in _between(name))


def _between(name: str) -> Sequence[str]:
    """Return the builds from one end of a range to the other, both included.

    An end may be a version that no build of the rows is, such as ``v0.8.12``.
    """
    first, _, last = name.partition("..")
    low, high = _rank(first), _rank(last or first)
    return [version for version in VERSIONS if low <= _rank(version) <= high]


def _rank(version: str) -> tuple[int, ...]:
    """Return the place of a version among all; the draft came after v0.7."""
    if version == "HEAD":
        return (sys.maxsize,)
    if version == "ae1fb605":
        return 0, 7, sys.maxsize
    found = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)", version)
    if found is None:
        raise ValueError(
            f"{version!r} is not a version: write vX.Y.Z, ae1fb605 or HEAD"
        )
    return tuple(map(int, found.groups()))


Versions: TypeAlias = Annotated[
    tuple[str, ...], Field(min_length=1), AfterValidator(_expanded)
]


class Group(BaseModel):
    """What one group of versions was seen to do; a key left out says nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    versions: Versions
    tool_order: Literal["free"] | None = None
    note: str | None = None
    trace: list[Anything] | None = None
    trace_only: list[Anything] | None = None
    trace_has: list[Anything] | None = None
    trace_lacks: list[Anything] | None = None
    trace_counts: list[Anything] | None = None
    events: list[Anything | Literal["END"]] | None = None
    events_has: list[Anything | Literal["END"]] | None = None
    last_event: Anything | Literal["END"] | None = None
    event_count: int | None = None
    event_count_at_least: int | None = None
    event_roles: list[str] | None = None
    event_role_counts: dict[str, int] | None = None
    errors: list[Anything] | None = None
    build_error: bool | None = None
    model_call_count: int | None = None
    model_calls: list[Anything] | None = None
    session_values: dict[str, str] | None = None
    system_message: str | None = None
    system_message_contains: str | list[str] | None = None

    @property
    def expected(self) -> Mapping[str, Any]:
        """The keys that are compared, with what is expected there."""
        given = self.model_fields_set - {"versions", "tool_order", "note"}
        return {
            key: getattr(self, key) for key in type(self).model_fields if key in given
        }

    @property
    def free(self) -> bool:
        """Whether concurrent calls may interleave otherwise."""
        return self.tool_order == "free"


class _Expected(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    by_version: Annotated[tuple[Group, ...], Field(min_length=1)]


class ObservedRow(BaseModel):
    """One row; ``beyond`` are the tags of what an engine need not cover.

    Ours covers some of it: a row is compared if it has no other tags.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(min_length=1)]
    kind: str = ""
    source_test: str = ""
    eino: str = ""
    rule: str = ""
    beyond: tuple[str, ...] = ()
    scenario: Anything
    expected: _Expected

    @model_validator(mode="before")
    @classmethod
    def _only_versions_of_tagged_rows(cls, data: Any) -> Any:  # noqa: ANN401  # any JSON value
        """Keep only the versions of a tagged row; the rest is another notation."""
        if not is_mapping(data):
            return data
        tags = data.get("beyond") or ()
        beyond = [*tags, *(_keys_beyond(data.get("expected")) if tags else ())]
        if COVERED.issuperset(beyond):
            return data
        expected = _versions_alone(data.get("expected"))
        return {**data, "beyond": beyond, "expected": expected}

    @property
    def covered(self) -> bool:
        """Whether the row says nothing beyond what the engine has."""
        return COVERED.issuperset(self.beyond)

    @property
    def groups(self) -> tuple[Group, ...]:
        """What is compared; of a row that is beyond, nothing is."""
        return self.expected.by_version if self.covered else ()

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions that the row says something about."""
        groups = self.expected.by_version
        return tuple(v for v in VERSIONS if any(v in g.versions for g in groups))

    def for_version(self, version: str) -> Sequence[Group]:
        """Return the groups that a version belongs to."""
        return [group for group in self.groups if version in group.versions]


TAGGED_KEYS: Final = (
    "event_stream_ends",
    "per_run",
    "event_chunk_ids",
    "events_all_have_ids",
    "cancel_error",
    "result",
)
"""What groups of tagged rows may expect besides, and nobody compares."""


def _keys_beyond(expected: Any) -> list[str]:  # noqa: ANN401  # JSON, not looked at yet
    groups = _groups_of(expected)
    return [key for key in TAGGED_KEYS if any(key in each for each in groups)]


def _groups_of(expected: Any) -> list[Mapping[str, Any]]:  # noqa: ANN401  # as _keys_beyond
    groups: Sequence[Any] = (
        expected.get("by_version", ()) if is_mapping(expected) else ()
    )
    return [each for each in groups if is_mapping(each)]


def _versions_alone(expected: Any) -> Any:  # noqa: ANN401  # as _keys_beyond
    groups = _groups_of(expected)
    return {"by_version": [{"versions": each.get("versions", ())} for each in groups]}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that is none; the rest of its file is judged all the same."""

    id: str
    problem: str


AnyRow: TypeAlias = ObservedRow | FlowRow | Unreadable


def load_rows(path: Path) -> list[AnyRow]:
    """Read a file of rows; raises RowsError, or OSError."""
    return [row for row, _ in read_rows(path)]


def read_rows(path: Path) -> list[tuple[AnyRow, object]]:
    """Return the rows of a file, each with the JSON that it is; as ``load_rows``."""
    try:
        data: object = read_json(path.read_bytes())
    except ValueError as error:
        raise RowsError(path.name, unread(error, "JSON")) from None
    if not is_list(data) or not data:
        raise RowsError(path.name, "holds no list of rows")
    rows = [(row_of(each, f"{path.name}[{at}]"), each) for at, each in enumerate(data)]
    seen: set[str] = set()
    for row, _ in rows:
        if row.id in seen:
            raise RowsError(path.name, f"two rows have the id {row.id}")
        seen.add(row.id)
    return rows


def row_of(data: object, where: str) -> AnyRow:
    """Return JSON as a row; one that is none is told by its id or ``where`` it is."""
    kind = FlowRow if is_mapping(data) and is_flow_row(data) else ObservedRow
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        named = data.get("id") if is_mapping(data) else None
        return Unreadable(str(named or where), _first_problem(error))


def _first_problem(error: ValidationError) -> str:
    """Tell the first problem: where, what was given, and what is asked for."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the row"
    given = repr(first["input"])
    if len(given) > 60:
        given = given[:57] + "..."
    return f"{where} = {given}: {problem(first['msg'])}"
