"""A tool's JSON schema as a model of pydantic, which refuses what does not fit.

LangChain hands on arguments unseen where a tool has a schema and no class for them;
tools that are functions refuse, and both frameworks tell the model why. So that worlds
have such refusals, the first level of a schema is a class here: names, types, choices.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, create_model

from refengine.testing.json_values import is_list, is_mapping

TYPES: Final[Mapping[str, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}


def arguments_model(name: str, parameters: Mapping[str, Any]) -> type[BaseModel]:
    """Return the class of a tool's arguments."""
    return _made(name, json.dumps(parameters, sort_keys=True))


@lru_cache(maxsize=256)
def _made(name: str, text: str) -> type[BaseModel]:
    schema: dict[str, Any] = json.loads(text)
    found = schema.get("properties")
    fields: Mapping[str, Any] = found if is_mapping(found) else {}
    required = schema.get("required")
    needed = set(map(str, required)) if is_list(required) else set[str]()
    closed = schema.get("additionalProperties") is False
    config = ConfigDict(extra="forbid" if closed else "allow", protected_namespaces=())
    given: dict[str, Any] = {
        key: (_kind(each), ...) if key in needed else (_kind(each) | None, None)
        for key, each in fields.items()
        if key.isidentifier() and key[:1] != "_" and not hasattr(BaseModel, key)
    }
    return create_model(name, __config__=config, **given)


def _kind(schema: object) -> Any:  # noqa: ANN401  # a type
    if not is_mapping(schema):
        return Any
    choices = schema.get("enum")
    if is_list(choices) and choices and all(isinstance(c, str) for c in choices):
        return Literal[tuple(choices)]
    kind = schema.get("type")
    if is_list(kind):
        known = [TYPES.get(str(each)) for each in kind if each != "null"]
        return known[0] | None if known and known[0] is not None else Any
    return TYPES.get(str(kind), Any)
