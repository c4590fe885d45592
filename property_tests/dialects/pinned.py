"""Playing the pinned worlds of known failures on a door to a dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from compat.process import ChildError, ChildProcess
from compat.verdicts.conformance import ClauseFailure
from property_tests.dialects.decision import scenario_json
from property_tests.failures import Replay, ReplayedWorld, undecided
from property_tests.known.entries import Known
from property_tests.known.states import KnownState, PinnedWorldError, state_of


@dataclass(frozen=True, slots=True)
class PinnedPlayer:
    """Plays worlds of a dialect in children that have loaded the door.

    ``timeout`` is in seconds, for one world.
    """

    dialect: str
    child: Callable[[], AbstractContextManager[ChildProcess]]
    timeout: float

    def states(self, entries: Iterable[Known]) -> tuple[list[KnownState], list[str]]:
        """Return what the world of each entry says; and why, where one cannot tell.

        Each has a child of its own, as a world may end one.
        """
        states: list[KnownState] = []
        broken: list[str] = []
        for each in entries:
            with self.child() as child:
                try:
                    states.append(state_of(each, self.replay(child)))
                except PinnedWorldError as error:
                    broken.append(str(error))
        return states, broken

    def replay(self, child: ChildProcess) -> Replay:
        """Return what plays worlds in a child that has loaded the door."""

        def replay(clause: str, world: BaseModel) -> ReplayedWorld:
            scenario = scenario_json(world)
            if scenario["subject"] != self.dialect:
                return ReplayedWorld(usage=f"it is not a world of {self.dialect}")
            given = {"scenario": scenario, "only": [clause]}
            try:
                return _replayed(clause, child.call("judge", given, self.timeout))
            except ChildError as error:
                return ReplayedWorld(broken=f"the process {error.why}")

        return replay


def _replayed(clause: str, reply: Mapping[str, Any]) -> ReplayedWorld:
    """Return what a child's reply about one clause says."""
    if refused := reply["refused"]:
        return ReplayedWorld(lost=str(refused))
    failed = reply["failed"].get(clause)
    failure = None if failed is None else ClauseFailure.model_validate(failed)
    decided = int(reply["decided"].get(clause, 0))
    return ReplayedWorld(decided, failure, lost=undecided(clause, decided))
