"""What may differ between two equal bodies: the names of calls, and how JSON is spaced.

A vendor makes up the id of a tool call, a response or an item, and a client sends it
back. Such ids are renumbered in order of first appearance, so that two bodies are equal
if one renaming leads from one to the other. Only slots that the vendors' interfaces
have for such ids count; a tool's own data may hold an ``id`` that means something.

The ``arguments`` of a tool call are JSON within a string. They are written anew in the
one way of ``json_text``, and stay a string: an object in their place differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from compat.wire.json_text import NotJsonError, Tree, text_of, tree_of
from refengine.testing.narrowing import is_list, is_mapping

_REFERENCES: Final = {
    "approval_request_id",
    "call_id",
    "item_id",
    "previous_response_id",
    "response_id",
    "tool_call_id",
    "tool_use_id",
    "toolCallId",
    "toolUseId",
}
"""Keys whose value is such an id wherever they stand outside data."""

_OWNERS: Final = re.compile(
    r"function|message|reasoning|compaction|item_reference|tool_call|toolUse"
    r"|\w*(tool_use|tool_result|_call|_call_output|_approval_request|_list_tools)"
)
"""The ``type`` of an object whose ``id`` is such an id."""

_SCHEMAS: Final = {"parameters", "input_schema", "inputSchema", "schema", "metadata"}
_DATA: Final = {"input", "args", "arguments", "response"}
"""Keys of a call or its result, in an object with a name, that hold a tool's data."""


def renamed(tree: Tree) -> Tree:
    """Return the tree with ids renumbered and arguments in one way."""
    return _Renaming().tree(tree)


@dataclass(frozen=True, slots=True)
class _Renaming:
    """The ids of one body, by what they were called."""

    names: dict[str, str] = field(default_factory=dict[str, str])

    def tree(self, tree: Tree) -> Tree:
        """Return a tree that is not data; objects are gone through by key."""
        if is_mapping(tree):
            return {key: self.value(tree, key) for key in sorted(tree)}
        if is_list(tree):
            return [self.tree(each) for each in tree]
        return tree

    def value(self, owner: Mapping[str, Tree], key: str) -> Tree:
        """Return what stands under a key."""
        value = owner[key]
        if isinstance(value, str):
            if value and _is_slot(owner, key):
                return self.names.setdefault(value, f"id-{len(self.names) + 1}")
            return _arguments(value) if _are_arguments(owner, key) else value
        return value if _is_data(owner, key) else self.tree(value)


def _is_slot(owner: Mapping[str, Tree], key: str) -> bool:
    if key != "id":
        return key in _REFERENCES
    kind = owner.get("type")
    if isinstance(kind, str) and _OWNERS.fullmatch(kind):
        return True
    # Chat messages and responses; calls of Gemini and of Mistral, which have no type.
    return (
        isinstance(owner.get("role"), str)
        or "object" in owner
        or is_mapping(owner.get("function"))
        or ("name" in owner and ("args" in owner or "response" in owner))
    )


def _are_arguments(owner: Mapping[str, Tree], key: str) -> bool:
    return key == "arguments" and "name" in owner


def _is_data(owner: Mapping[str, Tree], key: str) -> bool:
    return key in _SCHEMAS or (key in _DATA and "name" in owner)


def _arguments(text: str) -> str:
    """Return JSON in its one text; a model also writes what is none."""
    try:
        return text_of(tree_of(text))
    except NotJsonError:
        return text
