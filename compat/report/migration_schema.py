"""The report of a migration check as data, and its published schema.

    python -m compat.report.migration_schema

prints ``docs/migrate-check.schema.json``. The report itself is written from verdict
types; a test holds what is written to these models.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from compat.report.migration_json import VERSION


class ReportPart(BaseModel):
    """A part of the report; nothing in it is unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ReportHeader(BaseModel):
    """What depends on the machine and the command line; the hash does not cover it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    refengine: str
    python: str
    profile: str
    examples: int
    seed: int
    old: str | None = None
    new: str | None = None
    frameworks: dict[str, str] = Field(default_factory=dict)
    given: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


class ReportedDivergence(ReportPart):
    """The first place where the sides differ, with both values there."""

    code: str
    severity: Literal["error", "warning", "info"]
    summary: str
    where: str
    channel: str
    path: str
    old: Any
    new: Any
    lines: list[tuple[str, str]]


class ReportedGroup(ReportPart):
    """Divergences of one code in one channel, in so many worlds."""

    code: str
    channel: str
    worlds: int


class ReportedUnusual(ReportPart):
    """What differs in unusual worlds only, and how many of which reason do."""

    diverging: int
    reasons: dict[str, int]
    divergence: ReportedDivergence | None
    world: dict[str, Any] | None


class ReportedExercise(ReportPart):
    """What the worlds made one side do."""

    hooks: dict[str, int]
    branches: int
    not_taken: list[str]


class ReportedChange(ReportPart):
    """A small change of NEW that no world noticed."""

    file: str
    line: int
    source: str
    operator: str
    change: str
    needs: str
    worlds: int
    played: int
    marked: str | None


class ReportedSearch(ReportPart):
    """How often a search played, and how many worlds it added."""

    plays: int
    joined: int


class ReportedSharpness(ReportPart):
    """Which small changes of NEW the worlds would have noticed."""

    noticed: int
    changes: int
    percent: float
    percent_without_marked: float
    untried: int
    plays: int
    required_percent: float
    refused: str | None
    unused_marks: list[str]
    unnoticed: list[ReportedChange]


class ReportedVerdict(ReportPart):
    """The answer for one pair of sides."""

    holds: str | None
    required: str
    divergence: ReportedDivergence | None
    world: dict[str, Any] | None
    worlds: int
    diverging: int
    groups: list[ReportedGroup]
    ordinary: int | None
    unusual_worlds: int
    outside: dict[str, int]
    unusual: ReportedUnusual | None
    families: dict[str, int]
    corpus: str
    exercise: dict[Literal["old", "new"], ReportedExercise]
    not_exercised: list[tuple[str, str]]
    noise: list[dict[str, str]]
    broken_intents: list[dict[str, Any]]
    allowed: list[dict[str, Any]]
    unused: list[str]
    volatile_by_door: dict[str, Any]
    search: ReportedSearch | None
    sharpness: ReportedSharpness | None
    fault: dict[str, str] | None


class PairReport(ReportedVerdict):
    """What ``--json`` writes for OLD and NEW."""

    version: Literal[1]
    header: ReportHeader
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    exit: int


class ReportedCase(ReportedVerdict):
    """A case of a folder: what it was expected to be, and what it is."""

    piece: str
    case: str
    expected: str
    got: str
    met: bool


class FolderReport(ReportPart):
    """What ``--json`` writes with ``--all``."""

    version: Literal[1]
    header: ReportHeader
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    exit: int
    cases: int
    met: int
    each: list[ReportedCase]


def schema_text() -> str:
    """Return the published text: sorted, indented, with a newline at its end."""
    found = TypeAdapter[Any](PairReport | FolderReport).json_schema()
    found["title"] = f"The report of refengine migrate check, version {VERSION}"
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
