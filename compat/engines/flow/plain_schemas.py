"""Schemas as plain JSON, however a vendor's package writes them."""

from __future__ import annotations

from typing import Any, Final

from refengine.testing.json_values import is_list, is_mapping

_UNSAID: Final = frozenset(("title", "additionalProperties", "property_ordering"))
"""Keys of a schema that a version of a package puts there or not."""


def plain_schema(schema: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a schema as JSON, types in small letters, without what versions add."""
    if is_list(schema):
        return [plain_schema(each) for each in schema]
    if not is_mapping(schema):
        return schema
    kept = {key: each for key, each in schema.items() if key not in _UNSAID}
    return {key: _said_type(key, each) for key, each in kept.items()}


def _said_type(key: str, value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a value of a schema; the vendor's package writes types in capitals."""
    if key == "type" and isinstance(value, str):
        return value.lower()
    return plain_schema(value)
