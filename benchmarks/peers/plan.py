"""How much is measured of a peer: points, rounds, limits of time."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class PeerPlan:
    """What a child is asked for. Times are seconds.

    ``points`` are measured whatever they cost; ``further`` ones as long as handlers
    did not yet make up half of the run, which is where a slope is lost in noise.
    A point of either list is left out where the peer cannot run it, but for those up to
    ``needed``; three of those at least, with 0, for there to be a base run and a line.
    """

    points: tuple[int, ...]
    further: tuple[int, ...]
    needed: int
    series: int
    rounds: int
    sample: float
    budget: float
    memory: tuple[int, int]
    limit: float
    """Of one child that measures."""
    deepest: int
    """How many handlers are tried."""
    bisect: bool
    """Whether to look for the number from which on it fails."""
    probe: float
    """Of one child that tries; a run that takes longer is too slow."""
    variants: int | None = None
    """How many hooks of each peer; None for all."""

    @property
    def least(self) -> Self:
        """What is left when it measures nothing beyond ``needed`` handlers."""
        points = tuple(n for n in self.points if n <= self.needed)
        return replace(self, points=points, further=())

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Return the plan that ``to_json`` wrote."""
        made = cls(**data)
        low, high = made.memory
        points, further = tuple(made.points), tuple(made.further)
        return replace(made, points=points, further=further, memory=(low, high))


def plan(*, quick: bool) -> PeerPlan:
    """Return what the full run takes, or the quick one."""
    if quick:
        return PeerPlan(
            points=(0, 10, 50),
            further=(300,),
            needed=50,
            series=5,
            rounds=5,
            sample=0.002,
            budget=0.05,
            memory=(10, 50),
            limit=30.0,
            deepest=600,
            bisect=False,
            probe=10.0,
            variants=1,
        )
    return PeerPlan(
        points=(0, 1, 10, 100, 300),
        further=(1_000, 3_000, 10_000),
        needed=100,
        series=5,
        rounds=20,
        sample=0.005,
        budget=0.35,
        memory=(10, 100),
        limit=180.0,
        deepest=2_000,
        bisect=True,
        probe=20.0,
    )
