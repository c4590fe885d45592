"""A driver that is there when it is asked for: started once, and anew if it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, final

from compat.drivers.connection import PATIENCE, DriverProcess

Command: TypeAlias = Callable[[], Sequence[str]]
"""Returns the command of a driver, perhaps after it was built."""


@final
class KeptDriver:
    """The driver of one engine, one in each process that plays it.

    It is started for ``about``, what it says of itself. Raises ChildError or
    DriverProtocolError if it does not come up.
    """

    def __init__(self, command: Command, patience: float = PATIENCE) -> None:
        self._command = command
        self._patience = patience
        self._connection: DriverProcess | None = None
        self.about: Mapping[str, Any] = self.connected().about

    def connected(self) -> DriverProcess:
        """Return the driver of this process, started if there is none any more."""
        if self._connection is None or not self._connection.is_ours:
            self._connection = DriverProcess(self._command(), self._patience)
        return self._connection
