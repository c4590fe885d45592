"""The child that has a door of a dialect: it plays worlds, and lets checks decide."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from compat.engines.load_errors import LoadError
from property_tests.dialects.deciding import DecidedWorld, WorldDecider
from property_tests.dialects.dialects import dialect_named
from refengine.errors import UnknownProfileError
from refengine.testing.child import CallError, Connection, Function, Params

Reply: TypeAlias = "dict[str, Any]"


class DialectWorker:
    """A door and the checks of its dialect."""

    def __init__(self, about: Params) -> None:
        self._dialect = dialect_named(about["dialect"])
        self._about = about
        self._made: WorldDecider | None = None

    def load(self, _: Params) -> Reply:
        """Load the door and return what it says of itself."""
        try:
            door = self._dialect.load(self._about["door"], self._about["profile"])
        except (LoadError, UnknownProfileError) as error:
            raise CallError(str(error), {"kind": "usage"}) from error
        chosen = set(self._about["clauses"])
        checks = [each for each in self._dialect.checks if each.clause in chosen]
        self._made = WorldDecider(self._dialect, door, checks)
        missing = {
            each.clause: each.missing(door.profile, door.capabilities)
            for each in checks
        }
        return {
            "name": door.name,
            "version": door.version,
            "profile": door.profile.name,
            "capabilities": sorted(door.capabilities),
            "missing": {clause: why for clause, why in missing.items() if why},
        }

    def judge(self, given: Params) -> Reply:
        """Play one world and return what the checks said."""
        scenario = self._dialect.read(given["scenario"])
        return told(self._decider.judge(scenario, given.get("only", ())))

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


def main() -> None:
    """Serve; the working directory is the user's, as where Python runs a module."""
    sys.path.insert(0, "")
    table: dict[str, Function] = {}

    def initialize(about: Params) -> None:
        worker = DialectWorker(about)
        table.update(load=worker.load, judge=worker.judge)

    table["initialize"] = initialize
    Connection(table).serve()
