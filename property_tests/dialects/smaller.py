"""What notations of dialects have in common: smaller worlds, and lines of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from refengine.testing.trace import Observation

Scenario = TypeVar("Scenario", bound=BaseModel)

WIDTH = 240
"""A line of a trace is cut behind so many characters."""


def smaller_of(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenarios that are this one with an entry less, the largest first."""
    data = scenario.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    for each in less(data):
        try:
            yield type(scenario).model_validate_json(dumps(each))
        except ValidationError:
            continue


def less(data: JsonValue) -> Iterator[JsonValue]:
    """Yield JSON with one entry less, nearest to the top first."""
    if isinstance(data, list):
        row = data
        for at in range(len(row)):
            yield row[:at] + row[at + 1 :]
        for at, each in enumerate(row):
            for one in less(each):
                yield [*row[:at], one, *row[at + 1 :]]
    elif isinstance(data, dict):
        table = data
        for key in table:
            yield {name: each for name, each in table.items() if name != key}
        for key, each in table.items():
            for one in less(each):
                yield {**table, key: one}


def line_of(each: Observation) -> str:
    """Return an observation in a line."""
    data = each.canonical()["data"]
    return f"{each.kind} {dumps(data, ensure_ascii=False, sort_keys=True)}"[:WIDTH]
