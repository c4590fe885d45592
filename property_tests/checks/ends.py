"""How a run ended, as its entries tell."""

from __future__ import annotations

from typing import Any, Final

from property_tests.view import RunView
from refengine.testing.json_values import is_mapping

SUCCESS: Final = frozenset(("completed", "returned_directly"))


def point_of(run: RunView) -> str | None:
    """Return where the error arose that ended a run, in the words of traces."""
    error: Any = None if run.error is None else run.error.data.get("error")
    return str(error["point"]) if is_mapping(error) and "point" in error else None
