"""What a graph is given with a run: messages, and the named values of its options.

``RunSpec.options`` are values that a caller has by name, such as who is asking. A graph
gets them wherever it may look for them: in ``config["configurable"]``, as the runtime's
context, and in its input as far as its state names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from langchain_core.messages import BaseMessage

from refengine.messages import Json
from refengine.testing.narrowing import is_mapping

_BY_TYPE: Final[Mapping[str, Json]] = MappingProxyType(
    {"string": "a", "integer": 1, "number": 1.0, "boolean": True}
)
"""What a field of a context is that a run has no value for, and that must be there."""
MESSAGES: Final = "messages"


class Given(dict[str, Any]):
    """Named values; also none of them are something, or a graph is given no context."""

    def __bool__(self) -> bool:
        return True


class GivenTo:
    """What one graph is given; its schemas are read once, if a run has options."""

    def __init__(self, graph: Any) -> None:  # noqa: ANN401  # a graph of any framework
        self._graph = graph

    @cached_property
    def _context(self) -> Mapping[str, Any]:
        return _schema(self._graph, "get_context_jsonschema")

    @cached_property
    def _input(self) -> Mapping[str, Any]:
        return _schema(self._graph, "get_input_jsonschema")

    def input(
        self, messages: Sequence[BaseMessage], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the input of a run."""
        known: Mapping[str, Any] = self._input.get("properties", {}) if options else {}
        more = {key: value for key, value in options.items() if key in known}
        return {**more, MESSAGES: list(messages)}

    def context(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the context of a run; all options where no schema names its fields."""
        if getattr(self._graph, "context_schema", None) is None:
            return Given(options)
        fields = self._context.get("properties")
        if fields is None:
            return dict(options)
        found = {key: value for key, value in options.items() if key in fields}
        for key in self._context.get("required", ()):
            found.setdefault(key, _value(fields.get(key, {})))
        return found


def _value(field: Mapping[str, Any]) -> Json:
    if field.get("enum"):
        first: Json = field["enum"][0]
        return first
    return _BY_TYPE.get(str(field.get("type")))


def _schema(graph: Any, method: str) -> Mapping[str, Any]:  # noqa: ANN401  # a graph of any framework
    """Return a schema of the graph, empty where JSON cannot say it."""
    try:
        found = getattr(graph, method)()
    except Exception:  # noqa: BLE001  # types without a schema are the subject's right
        return {}
    return found if is_mapping(found) else {}
