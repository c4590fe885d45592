"""The answer of a migration check, for a machine: its models, schema and values.

    python -m compat.report.migration_json

prints ``docs/migrate-check.schema.json``. A value is written under each name that a
model has, in its order; the body holds no times and paths.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from compat.report.divergence_sentence import sentence
from compat.verdicts.migration import (
    DescribedDivergence,
    Exercise,
    GivenWorlds,
    HiddenDivergence,
    JudgedCase,
    Migration,
    OverTheWire,
    PointsVerdict,
    UnusualDivergence,
)
from compat.verdicts.sharpness import Sharpness
from compat.verdicts.weakness import most_telling
from refengine.testing.channels import VOLATILE
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.scenario import Scenario

Json: TypeAlias = "dict[str, Any]"

VERSION: Final = 1


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
    sentence: str
    where: str
    channel: str
    path: str
    old: Any
    new: Any
    lines: list[tuple[str, str]]
    places: list[tuple[str, str]]


class ReportedGroup(ReportPart):
    """Divergences of one code in one channel, in so many worlds."""

    code: str
    channel: str
    worlds: int


class ReportedHidden(ReportPart):
    """What differs behind the change of a text that is shown, in how many worlds."""

    diverging: int
    divergence: ReportedDivergence | None
    world: dict[str, Any] | None


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
    """A small change of a side that no world noticed."""

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
    """Which small changes of a side the worlds would have noticed."""

    noticed: int
    changes: int
    percent: float
    percent_without_marked: float
    untried: int
    remembered: int
    plays: int
    required_percent: float
    refused: str | None
    unused_marks: list[str]
    unnoticed: list[ReportedChange]


class ReportedWeakness(ReportPart):
    """A thing that no world noticed, and what would notice it."""

    what: str
    needs: str


class ReportedPoint(ReportPart):
    """A point where the engines of both sides differ: whether it was played, and how.

    ``about`` is the posture or the row of the guide that it shows.
    """

    id: str
    says: str
    about: str
    state: Literal["played", "absent", "unplayed"]
    reason: str
    worlds: int
    diverging: int


class ReportedHandOver(ReportPart):
    """Runs that OLD kept and NEW resumed, by where they were left."""

    played: dict[str, int]
    diverging: int
    stores: list[str]
    absent: str
    changed: dict[str, tuple[str, str]]


class ReportedPoints(ReportPart):
    """The points where two profiles of engines differ."""

    old: str
    new: str
    guide: str
    each: list[ReportedPoint]


class ReportedMove(ReportPart):
    """A value that NEW looks for by another door than OLD."""

    name: str
    old: str
    new: str
    declared: bool


class ReportedDocumented(ReportPart):
    """A change of a package between the sides' versions that a divergence may be."""

    package: str
    since: str
    says: str
    link: str


class ReportedVerdict(ReportPart):
    """The answer for one pair of sides."""

    holds: str | None
    required: str
    divergence: ReportedDivergence | None
    world: dict[str, Any] | None
    worlds: int
    diverging: int
    groups: list[ReportedGroup]
    hidden: ReportedHidden | None
    ordinary: int | None
    unusual_worlds: int
    outside: dict[str, int]
    failures: dict[Literal["old", "new"], dict[str, int]]
    unusual: ReportedUnusual | None
    families: dict[str, int]
    corpus: str
    exercise: dict[Literal["old", "new"], ReportedExercise]
    not_exercised: list[tuple[str, str]]
    noise: list[dict[str, str]]
    unsteady: int
    broken_intents: list[dict[str, Any]]
    allowed: list[dict[str, Any]]
    unused: list[str]
    volatile_by_door: dict[str, Any]
    search: ReportedSearch | None
    sharpness: ReportedSharpness | None
    moved: list[ReportedMove]
    sharpness_old: ReportedSharpness | None
    weakly: list[ReportedWeakness]
    points: ReportedPoints | None
    point: str | None
    hand_over: ReportedHandOver | None
    documented: list[ReportedDocumented]
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


def report(body: Json, header: Mapping[str, object], code: int) -> Json:
    """Return header and body; ``hash`` covers the body, ``exit`` is the exit code.

    What depends on the time or the machine belongs to the header.
    """
    body = {**body, "exit": code}
    text = json.dumps(body, sort_keys=True)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"version": VERSION, "header": dict(header), "hash": digest, **body}


def to_json(verdict: Migration) -> Json:
    """Return the verdict as JSON values."""
    return _told(
        ReportedVerdict,
        verdict,
        divergence=_divergence(verdict.divergence, verdict.world),
        groups=[_told(ReportedGroup, each) for each in verdict.groups],
        hidden=_hidden(verdict.hidden),
        unusual_worlds=verdict.apart,
        unusual=_unusual(verdict.unusual),
        corpus=verdict.digest,
        failures={side: dict(each) for side, each in verdict.failures.items()},
        exercise={side: _exercise(each) for side, each in verdict.exercise.items()},
        not_exercised=verdict.idle,
        noise=[_named(each, "side", "channel", "path") for each in verdict.noise],
        broken_intents=[
            _named(each, "side", "text", "world") for each in verdict.broken
        ],
        allowed=[
            _named(each, "channel", "path", "reason", "used")
            for each in verdict.allowed
        ],
        volatile_by_door=VOLATILE if verdict.of_graphs else {},
        search=verdict.searched and _told(ReportedSearch, verdict.searched),
        sharpness=_sharpness(verdict.sharpness),
        moved=[_told(ReportedMove, each) for each in verdict.moved],
        sharpness_old=_sharpness(verdict.sharpness_old),
        weakly=[
            _told(ReportedWeakness, each)
            for each in (most_telling(verdict) if verdict.sufficient else ())
        ],
        points=_points(verdict.points),
        point=verdict.point and verdict.point.id,
        hand_over=verdict.hand_over and _told(ReportedHandOver, verdict.hand_over),
        documented=[_told(ReportedDocumented, each) for each in verdict.documented],
        fault=verdict.fault and _named(verdict.fault, "side", "kind"),
    )


def folder_json(cases: Sequence[JudgedCase]) -> Json:
    """Return the summary of a folder: ``cases`` and ``met`` are counts."""
    names = ("piece", "case", "expected", "got", "met")
    return {
        "cases": len(cases),
        "met": sum(case.met for case in cases),
        "each": [_named(each, *names) | to_json(each.verdict) for each in cases],
    }


def given_json(given: Sequence[GivenWorlds]) -> list[Json]:
    """Return what a header says of a user's own files."""
    return [
        _named(each, "file", "played", "made")
        | (_named(each, "of", "bound") if each.of else {})
        | (_named(each, "not_read") if each.not_read else {})
        | (_named(each, "left_out") if each.left_out else {})
        for each in given
    ]


def wire_json(found: OverTheWire) -> Json:
    """Return what a header says of a check over the wire."""
    return {
        "clients": dict(found.versions),
        "left_out": dict(sorted(found.left_out.items())),
        "cases_left_out": list(found.cases),
    }


def dump(value: object) -> str:
    """Return the text of a report file."""
    return json.dumps(value, indent=2) + "\n"


def _divergence(
    found: DescribedDivergence | None, world: Scenario | None
) -> Json | None:
    if found is None:
        return None
    at = found.difference
    where = {"channel": at.channel, "path": at.path, "old": at.old, "new": at.new}
    said = sentence(found, world)
    return _told(ReportedDivergence, found, sentence=said, **where)


def _hidden(found: HiddenDivergence | None) -> Json | None:
    if found is None:
        return None
    return _told(
        ReportedHidden, found, divergence=_divergence(found.divergence, found.world)
    )


def _unusual(found: UnusualDivergence | None) -> Json | None:
    if found is None:
        return None
    return _told(
        ReportedUnusual, found, divergence=_divergence(found.divergence, found.world)
    )


def _exercise(ran: Exercise) -> Json:
    return _told(ReportedExercise, ran, branches=ran.arms, not_taken=ran.uncovered)


def _sharpness(found: Sharpness | None) -> Json | None:
    """Return it as JSON values; None where it was not asked for."""
    if found is None:
        return None
    return _told(
        ReportedSharpness,
        found,
        changes=found.tried,
        percent=round(found.raw, 2),
        percent_without_marked=round(found.percent, 2),
        required_percent=found.least,
        unused_marks=found.stale,
        unnoticed=[
            _told(ReportedChange, each, marked=each.reason) for each in found.unnoticed
        ],
    )


def _points(found: PointsVerdict | None) -> Json | None:
    if found is None:
        return None
    each = [_told(ReportedPoint, point) for point in found.each]
    return _told(ReportedPoints, found, each=each)


def _told(model: type[BaseModel], found: object, **own: object) -> Json:
    """Return a value for each field: its own, or the attribute of that name."""
    return {
        name: _value(own[name] if name in own else getattr(found, name))
        for name in model.model_fields
    }


def _named(found: object, *names: str) -> Json:
    return {name: _value(getattr(found, name)) for name in names}


def _value(found: object) -> Any:  # noqa: ANN401  # any JSON value
    if isinstance(found, Scenario):
        return json.loads(found.model_dump_json(exclude_defaults=True))
    if is_mapping(found):
        return dict(found)
    if is_list(found):
        return [_value(each) for each in found]
    return found


if __name__ == "__main__":
    sys.stdout.write(schema_text())
