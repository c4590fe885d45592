"""Worlds in which the order of a map decides, which is luck in Go.

adk-go goes through a map where several calls wait for a confirmation, where a message
answers several, and where several calls of one response are long-running.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from compat.dialects.flow.contents import CONFIRMATION
from refengine.testing.trace import Trace

OF_MAPS: Final = "adk-go@"
"""What the engines are called whose language has maps without order."""


def is_luck(trace: Trace) -> bool:
    """Tell whether the order of a map decided anything of what was seen."""
    events: list[Any] = [each.data["event"] for each in trace.of("event")]
    said: list[Any] = [each.data["content"] or {} for each in trace.of("run_start")]
    asked = (_confirmations(each.get("content") or {}, "call") for each in events)
    answered = (_confirmations(each, "response") for each in said)
    late = (len(each.get("long_running_ids", ())) for each in events)
    return any(each > 1 for each in (*asked, *answered, *late))


def _confirmations(content: Mapping[str, Any], kind: str) -> int:
    parts: Iterable[Mapping[str, Any]] = content.get("parts", ())
    return sum(each.get(kind, {}).get("name") == CONFIRMATION for each in parts)
