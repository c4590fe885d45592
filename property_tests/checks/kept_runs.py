"""What began in a run and did not end, and what operations recorded in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from property_tests.view import RunView
from refengine.testing.trace import Observation

ENDS: Final[Mapping[str, frozenset[str]]] = {
    "hook_enter": frozenset(("hook_exit",)),
    "tool_start": frozenset(("tool_end", "tool_error")),
}
"""By what begins: what ends it."""


def left_open(run: RunView) -> list[Observation]:
    """Return what began in a run, hooks and tools, and did not end."""
    found: list[Observation] = []
    for each in run.entries:
        if each.kind in ENDS:
            if _is_around_model(each) and any(who(e) == who(each) for e in found):
                # Another attempt: the one before failed, which nobody has left.
                found = [e for e in found if not _is_around_model(e)]
            found.append(each)
        for at in range(len(found) - 1, -1, -1):
            if each.kind in ENDS[found[at].kind] and who(found[at]) == who(each):
                del found[at]
                break
    return found


def _is_around_model(seen: Observation) -> bool:
    return seen.data.get("hook") == "wrap_model"


def who(seen: Observation) -> tuple[object, ...]:
    """Return whose entry it is: that of a hook, or of a tool."""
    if seen.kind in {"hook_enter", "hook_exit"}:
        data = seen.data
        return data["hook"], data["extension"], data["position"], seen.call_id
    return "tool", seen.call_id


def effects(run: RunView) -> Iterator[tuple[Observation, Mapping[str, Any]]]:
    """Yield what operations of a run's extensions recorded."""
    for each in run.entries:
        if each.kind == "effect":
            yield each, cast("Mapping[str, Any]", each.data.get("data"))
