"""Playing a world of a dialect again, on a door that a text names."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from property_tests.dialects.dialects import dialect_named
from property_tests.dialects.judging import DialectRequest, dialect_child, loaded
from property_tests.dialects.pinned import PinnedPlayer
from property_tests.failures import FailureFile, OpenedDoor


@contextmanager
def opened_door(
    failure: FailureFile, door: str, profile: str | None, timeout: float
) -> Generator[OpenedDoor, None, None]:
    """Open a door to the dialect of a failure's world, in a child of its own.

    ``timeout`` is in seconds. Raises UnusableEngineError for a door that cannot be
    loaded, or under that profile.
    """
    dialect = dialect_named(str(failure.scenario["subject"]))
    clauses = (dialect.contract.clause(failure.clause),)
    asked = DialectRequest(
        dialect=dialect, doors=(door,), clauses=clauses, profile=profile
    )
    player = PinnedPlayer(dialect.name, lambda: dialect_child(asked, door), timeout)
    with dialect_child(asked, door) as child:
        yield OpenedDoor(loaded(child, door), player.replay(child))
