"""Judging rows, here or on a cluster: each version with a profile is played."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from pydantic import TypeAdapter

from compat.observe.comparing import first_difference
from compat.observe.flow.deciding import RowInputError, first_flow_difference
from compat.observe.flow.rows import FLOW_PROFILE_OF, FlowRow, profile_of
from compat.observe.rows import PROFILE_OF, AnyRow, ObservedRow, Unreadable, row_of
from compat.spreading import Spread, UnitData, in_order
from refengine.profile import profile
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import ScenarioError, read_scenario
from refengine.testing.session import play

Status: TypeAlias = Literal["holds", "differs", "beyond", "on_purpose", "not_compared"]
KIND: Final = "rows"
AT_ONCE: Final = 100
"""So many rows, in every version that has a profile, take seconds."""
Differ: TypeAlias = Callable[[str], "str | None"]
"""Tells the first difference from a version, if there is one."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """A difference that is meant: which operations, in which versions, and why."""

    id: str
    uses: frozenset[str]
    versions: frozenset[str]
    reason: str

    def covers(self, row: ObservedRow | FlowRow, version: str) -> bool:
        """Tell whether a difference of this row in this version is this one."""
        return version in self.versions and not self.uses.isdisjoint(operations(row))


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """What came of one row.

    ``versions`` were compared; ``unknown`` is a row that needs something outside the
    vocabulary without saying so in a tag; ``fault`` is one that the harness failed at.
    """

    id: str
    status: Status
    detail: str = ""
    versions: tuple[str, ...] = ()
    unknown: bool = False
    fault: bool = False


_VERDICT: Final = TypeAdapter(RowVerdict)
KNOWN: Final = MappingProxyType({**PROFILE_OF, **FLOW_PROFILE_OF})
"""The versions that a profile stands for, of the engine and of the Flow dialect."""


class RowJudge:
    """Judges rows under the profiles given; all of them by default."""

    def __init__(
        self, profiles: Iterable[str] | None = None, purposes: Sequence[Purpose] = ()
    ) -> None:
        names = None if profiles is None else set(profiles)
        self._versions = [
            version for version, name in KNOWN.items() if names is None or name in names
        ]
        self._purposes = purposes

    def judge(self, row: AnyRow) -> RowVerdict:
        """Play and compare one row in every version that has a profile."""
        if isinstance(row, Unreadable):
            return _no_row(row.id, row.problem)
        if isinstance(row, FlowRow):
            return self._where_known(row, partial(_flow_difference, row))
        try:
            scenario = read_scenario(_without_nulls(row.scenario), row.id)
        except ScenarioError as error:
            return _beyond(row, error.problems)
        if not row.covered:
            return _beyond(row, ())
        return self._where_known(row, partial(_difference, row, scenario))

    def _where_known(self, row: ObservedRow | FlowRow, differ: Differ) -> RowVerdict:
        """Compare; what fails in the harness itself is told, and the rest goes on."""
        compared = tuple(v for v in self._versions if v in row.versions)
        if not compared:
            have = ", ".join(row.versions) or "no build of the profiles"
            return RowVerdict(row.id, "not_compared", f"it is about {have} only")
        try:
            return self._compared(row, differ, compared)
        except RowInputError as error:
            return _no_row(row.id, str(error))
        except Exception as error:  # noqa: BLE001  # an engine or a row may raise any
            text = f"the harness failed: {type(error).__name__}: {error}"
            return RowVerdict(row.id, "differs", text, compared, fault=True)

    def _compared(
        self, row: ObservedRow | FlowRow, differ: Differ, compared: tuple[str, ...]
    ) -> RowVerdict:
        meant: list[str] = []
        for version in compared:
            found = differ(version)
            if found is None:
                continue
            purpose = next((p for p in self._purposes if p.covers(row, version)), None)
            if purpose is None:
                return RowVerdict(row.id, "differs", f"{version} {found}", compared)
            meant.append(f"{version} {purpose.id}: {purpose.reason}")
        if meant:
            return RowVerdict(row.id, "on_purpose", "; ".join(meant), compared)
        return RowVerdict(row.id, "holds", ", ".join(compared), compared)


def _no_row(name: str, problem: str) -> RowVerdict:
    return RowVerdict(name, "beyond", f"no row: {problem}", unknown=True)


def _flow_difference(row: FlowRow, version: str) -> str | None:
    return first_flow_difference(row, version, profile_of(version))


def _difference(row: ObservedRow, scenario: Scenario, version: str) -> str | None:
    engine = ReferenceEngine(profile(PROFILE_OF[version]))
    trace = run(play(scenario, engine))
    with_ctx = any(name.startswith("ctx_") for name in operations(row))
    for group in row.for_version(version):
        found = first_difference(group, trace, with_ctx=with_ctx)
        if found is not None:
            return found
    return None


def purposes() -> list[Purpose]:
    """Return the differences that are meant, as shipped in ``on_purpose.toml``."""
    text = files("compat.observe").joinpath("on_purpose.toml").read_text("utf-8")
    return [
        Purpose(
            each["id"],
            frozenset(each["uses"]),
            frozenset(each["versions"]),
            each["reason"],
        )
        for each in tomllib.loads(text)["purpose"]
    ]


def operations(row: ObservedRow | FlowRow) -> frozenset[str]:
    """Return the names of all operations and keys that a row's scenario uses.

    Of a row about ADK these are its kind and the keys of its input.
    """
    if isinstance(row, FlowRow):
        return frozenset((row.kind, *_names(row.input)))
    return frozenset(_names(row.scenario))


def _names(value: object) -> Iterable[str]:
    if is_mapping(value):
        for key, each in value.items():
            yield str(each) if key == "op" else str(key)
            yield from _names(each)
    elif is_list(value):
        for each in value:
            yield from _names(each)


def _without_nulls(value: object) -> object:
    """Drop keys that hold null, which is how a left out one may be written."""
    if is_mapping(value):
        return {
            key: _without_nulls(each)
            for key, each in value.items()
            if each is not None or key == "value"
        }
    return [_without_nulls(each) for each in value] if is_list(value) else value


def _beyond(row: ObservedRow, problems: Sequence[str]) -> RowVerdict:
    if not row.beyond:
        detail = f"it has no tag, but a fault: {'; '.join(problems)}"
        return RowVerdict(row.id, "beyond", detail, unknown=True)
    where = {_operation(row.scenario, problem) for problem in problems}
    named = f" ({', '.join(sorted(where))})" if where else ""
    return RowVerdict(row.id, "beyond", ", ".join(row.beyond) + named)


def _operation(scenario: object, problem: str) -> str:
    """Name the operation that a problem is about, else the field."""
    at = scenario
    path = problem.partition(" = ")[0].split(".")
    for part in path:
        if is_mapping(at) and part in at:
            at = at[part]
        elif is_list(at) and part.isdigit() and int(part) < len(at):
            at = at[int(part)]
    return str(at["op"]) if is_mapping(at) and "op" in at else path[-1]


def summary(verdicts: Sequence[RowVerdict], rows: Sequence[AnyRow]) -> dict[str, Any]:
    """Return the counts, what was compared of each version, and a list by id."""
    counts = {
        status: sum(verdict.status == status for verdict in verdicts)
        for status in ("holds", "differs", "beyond", "on_purpose", "not_compared")
    }
    versions = sorted(
        {v for row in rows if not isinstance(row, Unreadable) for v in row.versions}
    )
    named = [v for v in KNOWN if v in versions]
    compared = {v: sum(v in each.versions for each in verdicts) for v in named}
    return {
        "rows": len(verdicts),
        **counts,
        "compared": compared,
        "versions_without_profile": [v for v in versions if v not in KNOWN],
        "list": [
            {"id": each.id, "status": each.status, "detail": each.detail}
            for each in verdicts
        ],
    }


def to_json(data: Mapping[str, Any]) -> str:
    """Return the summary as text that is the same for the same verdicts."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def judged_rows(
    rows: Sequence[tuple[AnyRow, object]],
    profiles: Sequence[str] | None,
    spread: Spread | None,
) -> Iterator[RowVerdict]:
    """Yield the verdict on each row and its JSON, here or on a cluster, in order."""
    if spread is None:
        judge = RowJudge(profiles, purposes())
        yield from (judge.judge(row) for row, _ in rows)
        return
    starts = range(0, len(rows), AT_ONCE)
    units = [_unit(rows[at : at + AT_ONCE], profiles) for at in starts]
    for answer in in_order(spread, KIND, units):
        for each in answer["verdicts"]:
            yield _VERDICT.validate_python(each)


def _unit(
    rows: Sequence[tuple[AnyRow, object]], profiles: Sequence[str] | None
) -> UnitData:
    named = [{"id": row.id, "row": data} for row, data in rows]
    return {"rows": named, "profiles": profiles}


def judged(unit: UnitData) -> UnitData:
    """Return the verdicts on the rows of a unit; this is what a worker plays."""
    judge = RowJudge(unit["profiles"], purposes())
    found = (judge.judge(row_of(each["row"], each["id"])) for each in unit["rows"])
    return {"verdicts": [asdict(each) for each in found]}
