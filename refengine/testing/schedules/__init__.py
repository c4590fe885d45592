"""Finds what goes wrong only when tasks come in another order.

    explored = explore(program, check=what_is_wrong)
    explored.verify()

``exploring`` says what is played, ``loop`` what a schedule decides.
"""

from refengine.testing.schedules.exploring import (
    ExploreArgumentError,
    Explored,
    InterleavingError,
    ScheduleFailure,
    StaleScheduleError,
    explore,
    replay,
)
from refengine.testing.schedules.loop import (
    HELD,
    DeadlockError,
    EndlessError,
    Schedule,
)
from refengine.testing.schedules.playing import (
    CheckError,
    ProgramError,
    UnrepeatableError,
    UnseenError,
)

__all__ = [
    "HELD",
    "CheckError",
    "DeadlockError",
    "EndlessError",
    "ExploreArgumentError",
    "Explored",
    "InterleavingError",
    "ProgramError",
    "Schedule",
    "ScheduleFailure",
    "StaleScheduleError",
    "UnrepeatableError",
    "UnseenError",
    "explore",
    "replay",
]
