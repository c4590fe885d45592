"""Making the worlds smaller in which a door fails, in a child that may be lost by it.

A smaller world may end the process, or never end: it counts as one that does not fail,
another child goes on, and the failure says how often that was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from time import monotonic
from typing import Any, Final

from pydantic import BaseModel

from compat.process import ChildError, ChildProcess
from compat.report.conform_text import counted
from compat.verdicts.conformance import ClauseFailure
from property_tests.dialects.deciding import smallest_failure
from property_tests.dialects.decision import scenario_json
from property_tests.dialects.dialect import Dialect

LONGEST: Final = 10.0
"""A world may take so often its time to be made smaller."""
LOSSES: Final = 2
"""So many children may be lost by smaller worlds of one failure."""


class Shrinker:
    """Asks children that have loaded a door whether worlds let a clause fail.

    ``timeout`` is in seconds, for one world. To be closed.
    """

    def __init__(
        self,
        dialect: Dialect,
        child: Callable[[], AbstractContextManager[ChildProcess]],
        timeout: float,
    ) -> None:
        self._dialect, self._new, self._timeout = dialect, child, timeout
        self._stack = ExitStack()
        self._child: ChildProcess | None = None

    def close(self) -> None:
        """End the child, if there is one."""
        self._stack.close()
        self._child = None

    def smallest(self, clause: str, world: BaseModel) -> ClauseFailure | None:
        """Return the failure of a clause in the smallest world found; None if none."""
        until = monotonic() + LONGEST * self._timeout
        lost: list[str] = []

        def failure(smaller: BaseModel) -> ClauseFailure | None:
            if len(lost) >= LOSSES or monotonic() > until:
                return None
            try:
                return self._failure(clause, smaller)
            except ChildError as error:
                lost.append(f"the process {error.why}")
                self.close()
                return None

        found = smallest_failure(self._dialect, world, failure)
        if found is None or not lost:
            return found
        why = f"{counted(len(lost), 'smaller world')} broke off, the first as {lost[0]}"
        return found.model_copy(update={"asked": f"{found.asked} ({why})"})

    def _failure(self, clause: str, world: BaseModel) -> ClauseFailure | None:
        """Return how a world lets a clause fail; raises ChildError."""
        if self._child is None:
            self._child = self._stack.enter_context(self._new())
        given = {"scenario": scenario_json(world), "only": [clause]}
        reply: Mapping[str, Any] = self._child.call("judge", given, self._timeout)
        failed = reply["failed"].get(clause)
        return None if failed is None else ClauseFailure.model_validate(failed)
