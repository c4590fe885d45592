"""Runs that OLD kept: the first halves of sessions that are handed over.

OLD plays each of them once, in a process of its own, since an upgrade ends the one that
kept a run. What it left goes to both sides: OLD's resuming of it is the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from refengine.testing.scenario import Scenario

LeftData: TypeAlias = "Mapping[str, Any] | None"
"""What is left of a session, as JSON; None where none of its runs was left."""


class Leaving(Protocol):
    """A side that plays sessions up to where they are handed over."""

    def leave(self, world: Scenario) -> LeftData:
        """Play the first half of a session; raises SideFault."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class KeptRuns:
    """What OLD left of each session that is handed over, played when first needed."""

    def __init__(self, opened: Callable[[], Leaving]) -> None:
        self._opened = opened
        self._side: Leaving | None = None
        self._left: dict[str, LeftData] = {}

    def left(self, world: Scenario) -> LeftData:
        """Return what OLD left of a session; raises SideFault."""
        key = world.model_dump_json(exclude_defaults=True)
        if key not in self._left:
            self._side = self._side or self._opened()
            self._left[key] = self._side.leave(world)
        return self._left[key]

    def close(self) -> None:
        """End the side that plays them."""
        if self._side is not None:
            self._side.close()
