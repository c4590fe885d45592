"""Hearing of what Python is about to do, by its audit events.

A hook can refuse what is about to happen, by raising, and can never be taken away: so
there is one for the process, and a table that says who hears of which event.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Hear: TypeAlias = "Callable[[tuple[Any, ...]], None]"
"""Is given the arguments of an event; what it raises is raised where that happens."""


def hear(table: Mapping[str, Hear]) -> None:
    """Have each event of the table heard of, from now on."""
    # Called for every event there is, so it does nothing but to look.
    heard = dict(table).get

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        function = heard(event)
        if function is not None:
            function(arguments)

    sys.addaudithook(hook)
