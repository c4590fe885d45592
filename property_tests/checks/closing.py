"""STR: every stream that was read is closed, once (contract §2 STR)."""

from __future__ import annotations

from collections.abc import Iterator

from property_tests.check import Case, Decision
from property_tests.view import RunView
from refengine.testing.trace import Observation


def streams_closed(case: Case) -> Iterator[Decision]:
    """Decide whether every stream that was read was closed, once, before the end."""
    for run in case.played.runs:
        if run.end is None:
            continue
        for of in ("model", "tool"):
            for begun, closed, last in _streams(run, of):
                asked = f"every stream of a {of} that was read is closed exactly once"
                yield Decision(asked, begun, closed, last)


def _streams(run: RunView, of: str) -> Iterator[tuple[int, int, Observation]]:
    """Yield how many streams were begun and closed, for each model or tool call."""
    begun: dict[str | None, int] = {}
    closed: dict[str | None, int] = {}
    last: dict[str | None, Observation] = {}
    reading: set[str | None] = set()
    for seen in run.entries:
        key = seen.call_id
        if seen.kind == f"{of}_chunk":
            begun[key] = begun.get(key, 0) + (key not in reading)
            reading.add(key)
            last[key] = seen
        elif seen.kind == "stream_close" and seen.data.get("of") == of:
            closed[key] = closed.get(key, 0) + 1
            if key not in reading:  # one without a chunk, or one closed twice
                begun[key] = begun.get(key, 0) + _ended(run, seen, of)
            reading.discard(key)
            last[key] = seen
    for key, seen in last.items():
        yield begun.get(key, 0), closed.get(key, 0), seen


def _ended(run: RunView, close: Observation, of: str) -> int:
    """Tell whether just before a close a stream ended that had no chunk."""
    ends = {"model_response", "model_error"} if of == "model" else {"tool_end"}
    before = [
        each
        for each in run.entries
        if each.seq < close.seq and each.call_id == close.call_id
    ]
    return int(bool(before) and before[-1].kind in ends)
