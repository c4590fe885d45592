"""The JSON schema of the protocol, as ``docs/protocol.schema.json`` has it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from compat.drivers.dialect_frames import DIALECT_METHODS
from compat.drivers.frames import METHODS, FailureTold, FramePart, Method


def schema_text() -> str:
    """Return the JSON schema of all methods, as it is published."""
    tables = [METHODS, *DIALECT_METHODS.values()]
    all_of_them = [each for table in tables for each in table.values()]
    parts = {each.params for each in all_of_them} | {FailureTold}
    parts |= {each.result for each in all_of_them if each.result is not None}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The protocol of refengine's drivers, version 2",
        "methods": _methods(METHODS),
        "dialects": {
            name: {"methods": _methods(table)}
            for name, table in DIALECT_METHODS.items()
        },
        "$defs": dict(sorted(_definitions(parts).items())),
    }
    return json.dumps(document, indent=1) + "\n"


def _definitions(parts: Iterable[type[FramePart]]) -> dict[str, Any]:
    defs: dict[str, Any] = {}
    for part in sorted(parts, key=lambda each: each.__name__):
        schema = part.model_json_schema(ref_template="#/$defs/{model}")
        defs |= schema.pop("$defs", {})
        defs[part.__name__] = schema
    return defs


def _methods(table: Mapping[str, Method]) -> dict[str, Any]:
    return {
        name: {
            "by": list(method.by),
            "params": {"$ref": f"#/$defs/{method.params.__name__}"},
            "result": method.result and {"$ref": f"#/$defs/{method.result.__name__}"},
        }
        for name, method in table.items()
    }
