"""Where the parts of a world put down what they see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from refengine.testing.trace import Observation, ObservationKind, Trace

RECORDED: Final = "scenario.record"
"""The effect under which operations of a scenario put down what they see."""


class Recorder:
    """Collects the observations of one session, numbered in order."""

    def __init__(self) -> None:
        self._all: list[Observation] = []
        self.run = 0

    def add(
        self,
        kind: ObservationKind,
        data: Mapping[str, object],
        call_id: str | None = None,
    ) -> None:
        """Put down one observation of the current run."""
        seq = len(self._all)
        self._all.append(Observation(kind, self.run, seq, data, call_id))

    def note(self, entry: Mapping[str, object], call_id: str | None = None) -> None:
        """Put down what an operation of a scenario asked to be recorded."""
        self.add("effect", {"name": RECORDED, "data": entry}, call_id)

    def trace(self) -> Trace:
        """Return what was seen so far."""
        return Trace(self._all)
