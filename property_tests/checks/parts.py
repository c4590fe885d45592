"""The parts of an iteration, in order, and which of them an observation is of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from property_tests.view import AFTER, BEFORE
from refengine.testing.trace import Observation

PARTS: Final = (
    "before-model hooks",
    "model wrappers",
    "the model",
    "its answer",
    "after-model hooks",
    "tools",
)
"""The parts of an iteration, in order."""
_OF_KIND: Final[Mapping[str, str]] = MappingProxyType(
    {
        "model_request": "the model",
        "model_response": "its answer",
        "model_error": "its answer",
        "tool_start": "tools",
        "tool_end": "tools",
        "tool_error": "tools",
    }
)


def part_of(seen: Observation) -> str | None:
    """Return the part of an iteration that an observation is of, None if it is of none.

    A wrapper around the model is left when the model has answered, so it counts where
    it is entered alone.
    """
    if seen.kind not in {"hook_enter", "hook_exit"}:
        return _OF_KIND.get(seen.kind)
    name = seen.data["hook"]
    if name in BEFORE | AFTER:
        return "before-model hooks" if name in BEFORE else "after-model hooks"
    if name == "wrap_model":
        return "model wrappers" if seen.kind == "hook_enter" else None
    return "tools" if seen.call_id is not None else None
