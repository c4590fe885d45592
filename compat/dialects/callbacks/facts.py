"""Facts: what a session tells, as a stream beside the callbacks.

Who reads the stream gets what the callbacks are called with, in the same order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeAlias


@dataclass(frozen=True, slots=True)
class SessionFact:
    """One fact: the type of its callback, and the data by the names of its row."""

    name: str
    data: tuple[Any, ...]


Notify: TypeAlias = Callable[[SessionFact], Awaitable[None]]

NOTIFIED: Final[ContextVar[Notify | None]] = ContextVar(
    "refengine_session_facts", default=None
)
"""Who reads the facts of the session that runs here; its tools' tasks inherit it."""


async def notify(name: str, data: tuple[Any, ...]) -> None:
    """Hand a fact to whoever reads this session as a stream."""
    reader = NOTIFIED.get()
    if reader is not None:
        await reader(SessionFact(name, data))
