"""What a command ends with: one table of exit codes for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OK: Final = 0
DIFFERS: Final = 1
USAGE: Final = 2
FAULT: Final = 3
NOTHING_RAN: Final = 4
STALE: Final = 5
NOT_COMPARABLE: Final = 6
INTERNAL: Final = 70
"""As sysexits.h has it for an internal error of a program."""
MEANINGS: Final[Mapping[int, str]] = MappingProxyType(
    {
        OK: "all is as it should be: conformant, holds, written, shown",
        DIFFERS: "a verdict against what was given",
        USAGE: "a mistake in what was given; nothing was judged",
        FAULT: "something broke down: an engine, a door, a side, a check, the harness",
        NOTHING_RAN: "nothing ran, or what ran decides nothing",
        STALE: "an entry, an allowance or a mark is not needed, or matches nothing",
        NOT_COMPARABLE: "two things cannot be compared",
        INTERNAL: "an error of refengine itself, which is no verdict: please report it",
    }
)
"""What each of them says, whatever the command is."""
FIRST_WINS: Final = (
    INTERNAL,
    USAGE,
    FAULT,
    NOTHING_RAN,
    NOT_COMPARABLE,
    DIFFERS,
    STALE,
)


def exit_code(*codes: int) -> int:
    """Return the one that wins if several apply."""
    return next((code for code in FIRST_WINS if code in codes), OK)
