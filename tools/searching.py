"""What the long searches share: a count as an argument, and lines told at once."""

from __future__ import annotations

import sys


def at_least_one(text: str) -> int:
    """Return the number that an argument is; argparse refuses it with a ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(text)  # argparse says which argument it is
    return number


def say(text: str) -> None:
    """Tell a line at once, also through a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
