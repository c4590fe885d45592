"""Building the driver of an engine before anybody waits for a worker that has it.

To build one takes minutes, in which modules are downloaded and somebody should see so;
a worker has one minute to answer, and what it prints is kept for its errors.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import entry_points
from typing import Final

from compat.engines.importing import GROUP
from refengine.errors import RefengineError

PACKAGE: Final = "compat.drivers"
"""Where the engines stand that come with a driver of ours."""


def prepare(engine: str) -> None:
    """Build the driver of an installed engine, if it has one that never was built.

    Why one cannot be built is told by whoever loads the engine.
    """
    for point in entry_points(group=GROUP, name=engine):
        if f"{point.module}.".startswith(f"{PACKAGE}."):
            with suppress(RefengineError, ImportError, OSError):
                point.load()()
