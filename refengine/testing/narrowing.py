"""Narrowing values that came from JSON, with their parts still to be looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether it is an object; JSON has text for keys."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether it is an array; a text is none."""
    return isinstance(value, (list, tuple))
