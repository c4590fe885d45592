"""Errors that an engine made itself, in the words of the harness.

What a driver says by ``kind`` is stable; its texts are for people, and never compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from refengine.errors import (
    MaxIterationsExceededError,
    NoMessagesLeftError,
    RefengineError,
    RoutingError,
    ToolNotFound,
)


class EngineFailedError(RefengineError):
    """An engine behind a driver failed with an error of its own."""

    def __init__(self, text: str, kind: str = "") -> None:
        self.kind = kind
        super().__init__(f"the engine failed by itself: {text}")


_TOOL: Final = re.compile(r"tool (\S+) not found")


def _unknown_tool(text: str, _: int) -> Exception:
    found = _TOOL.search(text)
    return ToolNotFound(found[1] if found else "?", ())


_KINDS: Final[Mapping[str, Callable[[str, int], Exception]]] = MappingProxyType(
    {
        "max_iterations": lambda _, limit: MaxIterationsExceededError(limit),
        "unknown_tool": _unknown_tool,
        "no_messages_left": lambda _text, _limit: NoMessagesLeftError(),
        "routing": lambda text, _: RoutingError(text, "?"),
    }
)


def said_by_engine(
    text: str, data: Mapping[str, Any], max_iterations: int
) -> Exception:
    """Return the error that a driver told of, which is none of the harness's."""
    kind = data.get("kind", "")
    make = _KINDS.get(kind)
    return EngineFailedError(text, kind) if make is None else make(text, max_iterations)
