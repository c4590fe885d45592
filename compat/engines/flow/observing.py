"""How a Flow world puts down what it sees: the values of the dialect as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Final, cast

from compat.dialects.flow.runner import error_code
from compat.dialects.flow.values import as_json
from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.recorder import Recorder, snapshot

UNTOLD: Final = frozenset(("timestamp",))
"""Fields of an event that are the clock's, and say nothing about an engine."""


_UNSAID: Final = frozenset(("title", "additionalProperties", "property_ordering"))
"""Keys of a schema that a version of a package puts there or not."""


class ScriptedFlowError(Exception):
    """What a world was told to raise; ``point`` says where."""

    def __init__(self, text: str, point: str) -> None:
        self.point = point
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class FlowNotes:
    """What a world has seen so far, and how often it was asked for what."""

    recorder: Recorder = field(default_factory=Recorder)
    _counts: Counter[tuple[str, ...]] = field(
        default_factory=lambda: cast("Counter[tuple[str, ...]]", Counter())
    )

    def nth(self, *what: str) -> int:
        """Count something, and return how often it has happened, this time included."""
        self._counts[what] += 1
        return self._counts[what]


def seen(value: object) -> Json:
    """Return what an observation says of a value: of the dialect, JSON or an error."""
    if isinstance(value, Exception):
        return seen_error(value)
    if is_dataclass(value):
        told = as_json(value)
        return {key: each for key, each in told.items() if key not in UNTOLD}
    return snapshot(value)


def seen_error(error: Exception) -> Json:
    """Return class and text of an error, the point where a world raised it, and causes.

    An error of the dialect has the name of what it is in Python, as other engines have.
    """
    told: dict[str, Json] = {"class": error_code(error), "text": str(error)}
    causes: list[Json] = [error_code(each) for each in _causes(error)]
    scripted = [each for each in (error, *_causes(error)) if is_scripted(each)]
    if causes:
        told["causes"] = causes
    if scripted:
        told["point"] = cast("ScriptedFlowError", scripted[0]).point
    return told


def is_scripted(error: BaseException) -> bool:
    """Tell whether a world itself raised it."""
    return isinstance(error, ScriptedFlowError)


def _causes(error: BaseException) -> Iterator[Any]:
    told = {id(error)}
    cause = error.__cause__
    while cause is not None and id(cause) not in told:  # "raise x from x" is a circle
        told.add(id(cause))
        yield cause
        cause = cause.__cause__


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
