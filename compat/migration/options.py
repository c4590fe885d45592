"""Options of a migration check: what holds without them, and choices among names.

The command line shows these in its help, before anything that judges is loaded.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

EXAMPLES: Final = 100
"""So many generated worlds a corpus has, beside the fixed ones."""

SEARCH_PLAYS: Final = 1_000
"""So often a search plays, both sides together, where a migration holds."""

TIMEOUT: Final = 10.0
"""Seconds that one world may take on one side."""

SHARPNESS_PLAYS: Final = 2_000
"""So often small changes of NEW are played in a world, all together."""


ORDINARY: Final = "ordinary"
EVERYWHERE: Final = "all"
DOMAINS: Final = (ORDINARY, EVERYWHERE)
"""Which worlds decide: those that an application meets, or the unusual ones, too."""


def plays_of_changes(given: int | None, least: float, usual: int) -> int:
    """Return how often small changes are played; ``least`` percent are to be noticed.

    Where they are ``usual``ly not played, they are if so many have to be noticed.
    Raises ValueError where that could not be known.
    """
    if given is None:
        return SHARPNESS_PLAYS if least else usual
    if least and not given:
        raise ValueError(
            f"{least:g} % of the small changes are to be noticed, and none is played:"
            " allow more plays than 0"
        )
    return given


class UnknownWordError(ValueError):
    """A name that does not exist."""


def known(value: str, names: Iterable[str], what: str) -> str:
    """Return the value if it is one of the names; raises UnknownWordError.

    For options of the command line and for entries of the file.
    """
    options = list(names)
    if value in options:
        return value
    close = difflib.get_close_matches(value, options, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(options)}"
    raise UnknownWordError(f"{value!r} is not a known {what}; {hint}")
