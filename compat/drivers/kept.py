"""A driver that is there when it is asked for: started once, and anew if it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, final

from compat.drivers.connection import PATIENCE, DriverProcess
from compat.process import ChildError

Command: TypeAlias = Callable[[], Sequence[str]]
"""Returns the command of a driver, perhaps after it was built."""


@final
class KeptDriver:
    """The driver of one engine, one in each process that plays it.

    It is started for ``about``, what it says of itself. Raises ChildError or
    DriverProtocolError if it does not come up.
    """

    def __init__(
        self,
        command: Command,
        patience: float = PATIENCE,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start it, in another folder and environment where those are given."""
        self._start = partial(DriverProcess, cwd=cwd, env=env)
        self._command = command
        self._patience = patience
        self._connection: DriverProcess | None = None
        self.about: Mapping[str, Any] = self.connected().about

    def connected(self) -> DriverProcess:
        """Return the driver of this process, started if there is none any more."""
        if self._connection is None or not self._connection.is_ours:
            self._connection = self._start(self._command(), self._patience)
        return self._connection

    @property
    def over(self) -> ChildError | None:
        """Why the driver that was started last is over; None while it runs."""
        return None if self._connection is None else self._connection.over

    def close(self) -> None:
        """End the driver; who asks for it afterwards has it started anew."""
        if self._connection is not None:
            self._connection.close()
