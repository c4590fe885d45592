"""What a command ends with: one table of exit codes for all of them."""

from __future__ import annotations

from typing import Final

OK: Final = 0
DIFFERS: Final = 1
USAGE: Final = 2
FAULT: Final = 3
NOTHING_RAN: Final = 4
STALE: Final = 5
NOT_COMPARABLE: Final = 6
_FIRST_WINS: Final = (USAGE, FAULT, NOTHING_RAN, NOT_COMPARABLE, DIFFERS, STALE)


def exit_code(*codes: int) -> int:
    """Return the one that wins if several apply."""
    return next((code for code in _FIRST_WINS if code in codes), OK)
