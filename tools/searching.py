"""What the long searches share: how worlds are drawn, a count, lines told at once."""

from __future__ import annotations

import sys
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, seed, settings


def draw(test: Callable[[], object], examples: int, start: int) -> None:
    """Give a test so many examples from a seed; the first that fails is made small.

    Raises what the test raises then.
    """
    settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )(seed(start)(test))()


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
