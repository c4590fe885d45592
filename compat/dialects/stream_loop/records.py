"""Log records of a loop, for those who read logs by field.

A record's ``loop`` attribute is a mapping with ``event`` and, as they apply, ``round``,
``call_id``, ``name``, ``status``, ``error`` and ``seconds``. Without a handler at that
level nothing is made.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Literal, TypeAlias, final

LOGGER: Final = "refengine.stream_loop"
"""The name of the logger that a processor uses unless it is given another."""

LoopEvent: TypeAlias = Literal[
    "round_started", "round_ended", "call_started", "call_ended", "loop_ended"
]


@final
class LoopLog:
    """Writes the records of one call of ``process_input``."""

    __slots__ = ("_logger",)

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    @staticmethod
    def now() -> float:
        """Return seconds on the event loop's clock."""
        return asyncio.get_running_loop().time()

    def info(self, event: LoopEvent, **fields: str | float) -> None:
        """Write a record of what happened as it should."""
        self._say(logging.INFO, event, fields)

    def failure(self, event: LoopEvent, **fields: str | float) -> None:
        """Write a record of what went wrong."""
        self._say(logging.WARNING, event, fields)

    def _say(self, level: int, event: str, fields: dict[str, str | float]) -> None:
        if self._logger.isEnabledFor(level):
            said = " ".join(f"{key}={value}" for key, value in fields.items())
            extra = {"loop": {"event": event, **fields}}
            self._logger.log(level, "%s %s", event, said, extra=extra)
