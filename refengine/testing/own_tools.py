"""Calls of a subject's own tools, which a scenario cannot know by name.

A script calls ``<own 0>`` with ``{"integer": 3, "string": "a", "optional": true}``. The
model that plays it is shown the tools: it puts in a name, and arguments of these values
that fit the tool's schema, numbers that are put ``"within"`` its limits among them.
With ``"unfit"`` they do not: ``"missing"`` leaves out what
comes first, ``"type"`` gives it a value of another type, and any other word adds an
argument of that name. With ``"reversed"`` they come in the other order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from refengine.messages import Json, Message, ToolCall
from refengine.testing.json_values import is_mapping

_OWN: Final = re.compile(r"<own ([\w.-]+)>")
_DEEPEST: Final = 4
"""So deep are schemas filled; one that contains itself has no end."""


def own(which: int | str) -> str:
    """Return how a script calls one of the subject's own tools: by number or name."""
    return f"<own {which}>"


def is_own(name: str) -> bool:
    """Tell whether a script calls one of the subject's own tools by this name."""
    return _OWN.fullmatch(name) is not None


def with_own_tools(
    message: Message, shown: Sequence[Mapping[str, Any]], others: Sequence[str]
) -> Message:
    """Return the message with the calls of own tools as these schemas ask for them.

    ``shown`` are the tools of the request, ``others`` the names of those that are not
    the subject's. Own tools are counted by name, or named; one that is not there is not
    called.
    """
    if not any(_OWN.fullmatch(call.name) for call in message.tool_calls):
        return message
    mine = {str(t.get("name")): t for t in shown if t.get("name") not in others}
    calls = [_called(call, mine) for call in message.tool_calls]
    return replace(message, tool_calls=tuple(each for each in calls if each))


def filled(schema: Mapping[str, Any], values: Mapping[str, Any]) -> Json:
    """Return what fits a schema, of these values: integer, string, and optional.

    Without ``optional`` fields that may be left out are left out.
    """
    return _Fitting(schema, values).value({"type": "object", **schema}, 0)


def _called(call: ToolCall, mine: Mapping[str, Mapping[str, Any]]) -> ToolCall | None:
    found = _OWN.fullmatch(call.name)
    if found is None:
        return call
    name = _which(found[1], sorted(mine))
    if name is None:
        return None
    schema: Mapping[str, Any] = mine[name].get("parameters") or {}
    values = cast("Mapping[str, Any]", json.loads(call.arguments))
    given = _Fitting(schema, values).value(schema, 0)
    fit: dict[str, Json] = dict(given) if is_mapping(given) else {}
    if values.get("unfit"):
        fit = _unfit(fit, schema, str(values["unfit"]))
    if values.get("reversed"):
        fit = dict(reversed(fit.items()))
    text = json.dumps(fit, ensure_ascii=False)
    return replace(call, name=name, arguments=text)


def _which(asked: str, names: Sequence[str]) -> str | None:
    """Return the tool of that number or name, None if there is none."""
    if asked.isdecimal():
        return names[int(asked) % len(names)] if names else None
    return asked if asked in names else None


def _unfit(
    given: Mapping[str, Json], schema: Mapping[str, Any], how: str
) -> dict[str, Json]:
    """Return arguments that a schema refuses, or an argument more than it has."""
    first = next(iter([*schema.get("required", ()), *given]), None)
    if how == "missing":
        return {key: value for key, value in given.items() if key != first}
    if how != "type" or first is None:
        return {**given, how: 1}
    return {**given, first: {"no": [given.get(first)]}}


class _Fitting:
    """Fills a JSON schema with given values."""

    def __init__(self, root: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        self._root = root
        self._values = values

    def value(self, schema: Mapping[str, Any], depth: int) -> Json:  # noqa: PLR0911  # a table: one return a kind
        """Return a value that fits a schema."""
        schema = self._resolved(schema)
        if schema.get("enum"):
            return cast("Json", schema["enum"][0])
        if "const" in schema:
            return cast("Json", schema["const"])
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth)
        if kind == "array":
            items = schema.get("items")
            return [self.value(items, depth + 1)] if is_mapping(items) else []
        if kind == "boolean":
            return bool(self._values.get("optional", True))
        if kind in {"integer", "number"}:
            return self._number(schema)
        return cast("Json", self._values.get("string", "a"))

    def _number(self, schema: Mapping[str, Any]) -> Json:
        number: float = self._values.get("integer", 1)
        if self._values.get("within"):
            number = max(number, schema.get("minimum", number))
            number = min(number, schema.get("maximum", number))
        return number

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Json]:
        fields: Mapping[str, Any] = schema.get("properties") or {}
        required = schema.get("required", ())
        every = bool(self._values.get("optional", True)) and depth < _DEEPEST
        return {
            name: self.value(field, depth + 1)
            for name, field in fields.items()
            if is_mapping(field) and (every or name in required)
        }

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a reference or a choice stands for; of a choice the first."""
        for _ in range(_DEEPEST):
            further = self._referred(schema) or _chosen(schema)
            if further is None:
                break
            schema = further
        return schema

    def _referred(self, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if "$ref" not in schema:
            return None
        found: Mapping[str, Any] = self._root
        for step in str(schema["$ref"]).removeprefix("#/").split("/"):
            found = found.get(step, {})
        return found


def _chosen(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for key in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(key, ()):
            if each.get("type") != "null":
                return cast("Mapping[str, Any]", each)
    return None
