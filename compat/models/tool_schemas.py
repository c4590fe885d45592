"""Tools as vendors and MCP servers declare them: a name, a text, and a JSON schema.

{"type": "function", "function": {"name": "pay", "parameters": {…}}}    OpenAI
{"name": "pay", "input_schema": {…}}                                   Anthropic
{"tools": [{"name": "pay", "inputSchema": {…}}]}                       MCP, tools/list
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from compat.models.errors import BadPlace, GivenFileError, ShapeError
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.subject_worlds.declared import DeclaredTool

SCHEMAS: Final = ("parameters", "input_schema", "inputSchema")
"""Under which name each declares the arguments."""
INSTEAD: Final = (
    'write a list of {"name": "pay", "description": "...", "parameters": {"type":'
    ' "object", "properties": {...}}}, as OpenAI, Anthropic or MCP have them'
)


def tools_of(given: object, place: str) -> list[DeclaredTool]:
    """Return the tools of a list of declarations; raises ShapeError.

    Those that run at the vendor's (``web_search_20250305`` and the like) are none.
    """
    if not is_list(given):
        raise ShapeError(place, f"is not a list; {INSTEAD}")
    found = [_tool(each, f"{place}[{at}]") for at, each in enumerate(given)]
    return [each for each in found if each is not None]


def read_tools(path: Path) -> tuple[DeclaredTool, ...]:
    """Return the tools of a file; raises GivenFileError or OSError."""
    try:
        tree = json.loads(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text ({error.reason})"
        raise GivenFileError(str(path), [BadPlace("", problem)]) from None
    except json.JSONDecodeError as error:
        bad = BadPlace(f"line {error.lineno}", f"is not JSON ({error.msg}); {INSTEAD}")
        raise GivenFileError(str(path), [bad]) from None
    try:
        found = tools_of(_listed(tree), "tools")
        if not found:
            raise ShapeError("tools", f"hold none; {INSTEAD}")
        _once(found)
    except ShapeError as error:
        raise GivenFileError(str(path), [BadPlace("", str(error))]) from None
    return tuple(found)


def _listed(tree: object) -> object:
    """Return the list of declarations, also out of an answer of MCP's tools/list."""
    if is_mapping(tree) and is_mapping(tree.get("result")):
        tree = tree["result"]
    if not is_mapping(tree):
        return tree
    for key in ("tools", "functions"):
        if key in tree:
            return tree[key]
    return [tree]


def _tool(tree: object, place: str) -> DeclaredTool | None:
    if not is_mapping(tree):
        raise ShapeError(place, f"is not an object; {INSTEAD}")
    kind = str(tree.get("type") or "function")
    if kind not in {"function", "custom"}:
        return None
    inner = tree.get("function")
    tool = inner if is_mapping(inner) else tree
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise ShapeError(f"{place}.name", f"is {name!r}, no name; {INSTEAD}")
    return DeclaredTool(
        name, str(tool.get("description") or ""), _schema(tool, f"{place} ({name})")
    )


def _schema(tool: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    key = next((each for each in SCHEMAS if tool.get(each) is not None), None)
    if key is None:
        return {"type": "object", "properties": {}}
    schema = tool[key]
    if not is_mapping(schema):
        raise ShapeError(f"{place}.{key}", "is not a JSON schema, which is an object")
    if schema.get("type", "object") != "object":
        kind = schema["type"]
        raise ShapeError(
            f"{place}.{key}.type", f"is {kind!r}: a tool's arguments are an 'object'"
        )
    fields = schema.get("properties", {})
    if not is_mapping(fields) or not all(map(_is_schema, fields.values())):
        where = f"{place}.{key}.properties"
        raise ShapeError(where, "is not an object of JSON schemas")
    return schema


def _is_schema(value: object) -> bool:
    return is_mapping(value) or isinstance(value, bool)


def _once(tools: Sequence[DeclaredTool]) -> None:
    names = [each.name for each in tools]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ShapeError("tools", f"hold {twice!r} twice; give each a name of its own")
