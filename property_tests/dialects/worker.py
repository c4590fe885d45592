"""The child that has a door of a dialect: it plays worlds, and lets checks decide."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

from compat.engines.load_errors import LoadError
from property_tests.dialects.compared import Oracle
from property_tests.dialects.deciding import DecidedWorld, WorldDecider
from property_tests.dialects.dialect import Dialect, DialectDoor, RefusedWorldError
from property_tests.dialects.dialects import dialect_named
from refengine.errors import UnknownProfileError
from refengine.testing.child import CallError, Connection, Function, Params

Reply: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class ComparedDoor:
    """A door, and what says what is right at it; ``idle`` why no clause applies."""

    door: DialectDoor
    oracle: Oracle
    idle: str = ""


class DoorOpening(Protocol):
    """How a child comes to its door, by what it was told."""

    def setup(self, about: Params) -> None:
        """Run what is to run before the door is loaded; raises LoadError."""
        ...

    def open(self, dialect: Dialect, about: Params) -> ComparedDoor:
        """Load the door; raises LoadError or UnknownProfileError."""
        ...


class ReferenceOpening:
    """A door beside the reference of its dialect."""

    def setup(self, about: Params) -> None:
        """Run nothing."""

    def open(self, dialect: Dialect, about: Params) -> ComparedDoor:
        """Return the door that a text names."""
        return ComparedDoor(
            dialect.load(about["door"], about["profile"]), dialect.oracle
        )


class DialectWorker:
    """A door and the checks of its dialect."""

    def __init__(self, about: Params, opening: DoorOpening) -> None:
        self._dialect = dialect_named(about["dialect"])
        self._about = about
        self._opening = opening
        self._door: DialectDoor | None = None
        self._made: WorldDecider | None = None

    def setup(self, _: Params) -> Reply:
        """Run what is to run first."""
        try:
            self._opening.setup(self._about)
        except LoadError as error:
            raise CallError(str(error), {"kind": "usage"}) from error
        return {}

    def load(self, _: Params) -> Reply:
        """Load the door and return what it says of itself."""
        try:
            made = self._opening.open(self._dialect, self._about)
        except (LoadError, UnknownProfileError) as error:
            raise CallError(str(error), {"kind": "usage"}) from error
        self._door = door = made.door
        chosen = set(self._about["clauses"])
        checks = [each for each in self._dialect.checks if each.clause in chosen]
        self._made = WorldDecider(self._dialect, door, checks, made.oracle)
        missing = {
            each.clause: made.idle or each.missing(door.profile, door.capabilities)
            for each in checks
        }
        return {
            "name": door.name,
            "version": door.version,
            "profile": door.profile.name,
            "capabilities": sorted(door.capabilities),
            "idle": made.idle,
            "missing": {clause: why for clause, why in missing.items() if why},
        }

    def judge(self, given: Params) -> Reply:
        """Play one world and return what the checks said."""
        scenario = self._dialect.read(given["scenario"])
        return told(self._decider.judge(scenario, given.get("only", ())))

    def play(self, given: Params) -> Reply:
        """Play one world and return what was seen."""
        if self._door is None:
            raise CallError("the door was not loaded")
        try:
            trace = self._door.play(self._dialect.read(given["scenario"]))
        except RefusedWorldError as error:
            return {"refused": str(error)}
        return {"trace": trace.to_jsonl()}

    @property
    def _decider(self) -> WorldDecider:
        if self._made is None:
            raise CallError("the door was not loaded")
        return self._made


def told(found: DecidedWorld) -> Reply:
    """Return what checks said of a world as JSON."""
    failed: Mapping[str, Any] = {
        clause: failure.model_dump(mode="json")
        for clause, failure in found.failed.items()
    }
    return {**asdict(found), "failed": failed}


def serve(opening: DoorOpening) -> None:
    """Serve; the working directory is the user's, as where Python runs a module."""
    sys.path.insert(0, "")
    table: dict[str, Function] = {}

    def initialize(about: Params) -> None:
        worker = DialectWorker(about, opening)
        table.update(setup=worker.setup, load=worker.load)
        table.update(judge=worker.judge, play=worker.play)

    table["initialize"] = initialize
    Connection(table).serve()


def main() -> None:
    """Serve a door of any dialect."""
    serve(ReferenceOpening())
