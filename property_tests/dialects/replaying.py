"""Playing a world of a dialect again, on a door that a text names."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from property_tests.dialects.dialects import dialect_named
from property_tests.dialects.judging import DialectRequest, dialect_child, loaded
from property_tests.dialects.pinned import PinnedPlayer
from property_tests.failures import ReplayedWorld


@dataclass(frozen=True, slots=True)
class ReplayedDoor:
    """What a door said of itself, and what came of the world."""

    name: str
    profile: str
    world: ReplayedWorld


def replayed_world(
    door: str, profile: str | None, clause: str, world: BaseModel, timeout: float
) -> ReplayedDoor:
    """Play a world of a dialect for one clause, in a child; ``timeout`` is in seconds.

    Raises UnusableEngineError for a door that cannot be loaded, or under that profile.
    """
    dialect = dialect_named(getattr(world, "subject", ""))
    chosen = (dialect.contract.clause(clause),)
    asked = DialectRequest(
        dialect=dialect, doors=(door,), clauses=chosen, profile=profile
    )
    with dialect_child(asked, door) as child:
        said = loaded(child, door)
        player = PinnedPlayer(dialect.name, lambda: dialect_child(asked, door), timeout)
        found = player.replay(child)(clause, world)
        return ReplayedDoor(str(said["name"]), str(said["profile"]), found)
