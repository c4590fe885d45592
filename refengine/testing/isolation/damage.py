"""What a subject's code did to the process that it shares with the harness.

    whole = Wholeness.now()
    ...                  # a session
    whole.damage(error)  # "it removes the folder that it runs in"

A harness that was taken apart breaks down in code of its own, so it looks for the
cause before it is blamed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

LIMITS: Final = ("AS", "CPU", "DATA", "FSIZE", "NOFILE", "NPROC", "STACK")
STOPPED: Final = "Event loop stopped before Future completed."
"""How asyncio puts it, in a RuntimeError of no class of its own."""


@dataclass(frozen=True, slots=True)
class Wholeness:
    """A process as it was before a subject's code ran in it."""

    pid: int
    folder: str
    modules: frozenset[str]
    limits: Mapping[str, int]

    @classmethod
    def now(cls) -> Self:
        """Return this process as it is."""
        folder = os.getcwd()  # noqa: PTH109  # as a text
        return cls(os.getpid(), folder, frozenset(sys.modules), _limits())

    def damage(self, error: BaseException) -> str:
        """Return what was done to the process, "" where nothing shows."""
        if not os.path.isdir(self.folder):  # noqa: PTH112  # as a text
            return "it removes the folder that it runs in"
        if lost := sorted(self.modules - sys.modules.keys()):
            return f"it takes {lost[0]!r} out of sys.modules"
        for name, limit in _limits().items():
            if limit != self.limits[name]:
                return f"it sets the limit RLIMIT_{name} of its process to {limit}"
        if str(error) == STOPPED:
            return "it stops the event loop that it runs in"
        return ""


def _limits() -> dict[str, int]:
    if sys.platform == "win32":
        return {}
    import resource  # noqa: PLC0415  # not on every system

    return {
        name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0]
        for name in LIMITS
    }
