"""Failure files: each failure of a judgement as one file, and playing it again.

The engine stands there as a text. Nothing is imported because a file names it: who
replays a file says on the command line which engine is meant (verdicts).

Known failures are played again the same way. What answers is an engine at hand, or a
worker that has one; a world that decides nothing is reported as such, never as mended.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, Protocol, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, field_validator

from compat.report.conform_stream import finite
from compat.verdicts.conformance import (
    AnyEvent,
    ClauseFailure,
    ClauseResult,
    EngineInfo,
    StreamHeader,
)
from property_tests.blocking import right_player, stopped
from property_tests.check import Check
from property_tests.dialects.dialects import world_of_dialect
from property_tests.playing import VariantPlayer, WorldRefusedError
from property_tests.wording import failure_of
from refengine.testing.given_text import problem, read_json, unread
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario


@dataclass(frozen=True, slots=True)
class ReplayedWorld:
    """What came of it.

    ``failure`` is there if the clause fails, ``blocked`` if the engine stops before its
    check can decide, and the reference engine does not. ``decided`` counts the
    decisions; none, with ``lost`` to say why, is no answer at all. ``broken`` says what
    broke down, and ``usage`` what is wrong with the engine that was named.
    """

    decided: int = 0
    failure: ClauseFailure | None = None
    blocked: ClauseFailure | None = None
    lost: str = ""
    broken: str = ""
    usage: str = ""

    @property
    def holds(self) -> bool:
        """Whether the check decided, and for the engine."""
        return self.failure is None and self.decided > 0


Replay: TypeAlias = Callable[[str, BaseModel], ReplayedWorld]
"""Plays a world for the check of one clause."""


@dataclass(frozen=True, slots=True)
class OpenedDoor:
    """What a door says of itself, or why it cannot be used, and what plays on it."""

    said: Mapping[str, Any]
    replay: Replay


NO_SCENARIO: Final = "it is a world of a dialect, and an engine plays scenarios"


class Asks(Protocol):
    """What has a worker: ``property_tests.judging.pool.Pool``."""

    def one(self, request: Mapping[str, Any], /) -> Mapping[str, Any]:
        """Return the answer to one request."""
        ...


@contextmanager
def opened_engine(
    failure: FailureFile, engine: str, profile: str | None, timeout: float
) -> Generator[OpenedDoor, None, None]:
    """Open an engine in a worker of its own; ``timeout`` is in seconds."""
    from property_tests.judging.pool import Pool  # noqa: PLC0415  # to list them needs none

    about = {"engine": engine, "profile": profile, "clauses": [failure.clause]}
    with Pool(about, 1, timeout) as pool:
        yield OpenedDoor(pool.one({"op": "load"}), by_worker(pool))


def here(player: VariantPlayer, checks: Sequence[Check]) -> Replay:
    """Return the replay on an engine of this process."""
    by_clause = {each.clause: each for each in checks}
    right = right_player(player)

    def replay(clause: str, world: BaseModel) -> ReplayedWorld:
        if not isinstance(world, Scenario):
            return ReplayedWorld(usage=NO_SCENARIO)
        check = by_clause.get(clause)
        if check is None:
            return ReplayedWorld(lost=f"there is no check of {clause}")
        try:
            case = player.case(world, check.variants)
        except WorldRefusedError as error:
            return ReplayedWorld(lost=str(error))
        decided = list(check.decisions(case))
        failing = next((each for each in decided if not each.holds), None)
        return ReplayedWorld(
            len(decided),
            None if failing is None else failure_of(case, failing),
            stopped(check, case, right),
            undecided(clause, len(decided)),
        )

    return replay


def by_worker(pool: Asks) -> Replay:
    """Return the replay on the engine that a worker has."""

    def replay(clause: str, world: BaseModel) -> ReplayedWorld:
        if not isinstance(world, Scenario):
            return ReplayedWorld(usage=NO_SCENARIO)
        scenario = world.model_dump(mode="json", exclude_defaults=True)
        reply = pool.one({"op": "replay", "clause": clause, "scenario": scenario})
        return replayed(clause, reply)

    return replay


def replayed(clause: str, reply: Mapping[str, Any]) -> ReplayedWorld:
    """Return what a worker's reply says."""
    said = {name: reply[name] for name in ("lost", "broken", "usage") if name in reply}
    if said:
        return ReplayedWorld(**said)
    decided = int(reply["decided"])
    failure, blocked = (
        None if reply.get(each) is None else ClauseFailure.model_validate(reply[each])
        for each in ("failure", "blocked")
    )
    return ReplayedWorld(
        decided,
        failure,
        blocked,
        undecided(clause, decided),
    )


def undecided(clause: str, decided: int) -> str:
    """Return why a world is not an answer, "" if its check decided."""
    return "" if decided else f"this world no longer lets the check of {clause} decide"


VERSION: Final = 1
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


class FailureFileError(ValueError):
    """A file that is not a failure file: which, where in it, and what is wrong."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self.what = what
        super().__init__(f"{path}: {what}")


class FailureFile(BaseModel):
    """One failure: who failed what, under which profile, and the world it shows in.

    ``corpus`` is the digest of the corpus in which it was found.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = VERSION
    engine: str
    clause: str
    profile: str
    corpus: str
    variant: str
    asked: str
    expected: JsonValue
    got: JsonValue
    scenario: dict[str, JsonValue]

    @field_validator("scenario")
    @classmethod
    def _is_a_scenario(cls, given: dict[str, JsonValue]) -> dict[str, JsonValue]:
        _read_world(given)
        return given

    @property
    def world(self) -> BaseModel:
        """The world, read: a scenario, or a world of a dialect."""
        return _read_world(self.scenario)

    @property
    def name(self) -> str:
        """What its file is called: engine and clause."""
        return f"{_as_name(self.engine)}-{self.clause}.json"


def _read_world(given: Mapping[str, JsonValue]) -> BaseModel:
    """Return a world; raises ValueError."""
    return world_of_dialect(given) or read_scenario(given, "it")


def write_failures(folder: Path, events: Iterable[AnyEvent]) -> tuple[Path, ...]:
    """Write a file for each failure in a judgement, and return their paths.

    A file of the same engine and clause is written anew; others are left alone. Raises
    OSError.
    """
    corpus, profiles, written = "", dict[str, str](), list[Path]()
    for event in events:
        if isinstance(event, StreamHeader):
            corpus = event.corpus
        elif isinstance(event, EngineInfo):
            profiles[event.engine] = event.profile
        elif isinstance(event, ClauseResult) and event.failure is not None:
            failure = _file(event, event.failure, profiles[event.engine], corpus)
            written.append(write_failure(folder, failure))
    return tuple(written)


def write_failure(folder: Path, failure: FailureFile) -> Path:
    """Write a failure into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / failure.name
    text = json.dumps(failure.model_dump(), indent=1, allow_nan=False)
    path.write_text(f"{text}\n", "utf-8")
    return path


def read_failure(path: Path) -> FailureFile:
    """Read a failure file; raises FailureFileError or OSError."""
    try:
        data: object = read_json(path.read_bytes(), parse_constant=_refuse)
    except ValueError as error:
        raise FailureFileError(path, unread(error, "JSON")) from None
    if not isinstance(data, dict):
        raise FailureFileError(path, "is not a failure file: it holds no object")
    try:
        return FailureFile.model_validate(data)
    except ValidationError as error:
        found = cast("Mapping[str, Any]", data)
        raise FailureFileError(path, _first(error, found)) from None


def failure_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, by name; raises OSError if there is no folder."""
    yield from sorted(each for each in folder.iterdir() if each.suffix == ".json")


def _file(
    result: ClauseResult, failure: ClauseFailure, profile: str, corpus: str
) -> FailureFile:
    return FailureFile(
        engine=result.engine,
        clause=result.clause,
        profile=profile,
        corpus=corpus,
        variant=failure.variant,
        asked=failure.asked,
        expected=finite(failure.expected),
        got=finite(failure.got),
        scenario=failure.scenario,
    )


def _first(error: ValidationError, data: Mapping[str, Any]) -> str:
    first, *more = error.errors(include_url=False)
    if data.get("version", VERSION) != VERSION:
        return f"version {data['version']!r} is unknown; this reads version {VERSION}"
    where = ".".join(map(str, first["loc"]))
    message = problem(first["msg"])
    if first["type"] == "extra_forbidden":
        message = (
            f"there is no such key; there are {', '.join(FailureFile.model_fields)}"
        )
    rest = f" (and {len(more)} more)" if more else ""
    return f"is not a failure file: {where}: {message}{rest}"


def _as_name(engine: str) -> str:
    """Return an engine's name as a part of a file name, different for each engine."""
    fit = _UNFIT.sub("-", engine).strip("-.")
    if fit == engine:
        return fit
    digest = hashlib.sha256(engine.encode("utf-8", "backslashreplace")).hexdigest()
    return f"{fit}-{digest[:8]}"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number of JSON")
