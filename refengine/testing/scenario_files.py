"""Reading scenarios: what is wrong is reported by path, value and what is allowed.

``python -m refengine.testing.scenario_files`` prints the JSON schema that is published.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from refengine.testing.given_text import problem
from refengine.testing.scenario import Scenario

SHOWN: Final = 5
"""So many problems of one file are told; they often have one cause."""


class ScenarioError(ValueError):
    """A text or file that is not a scenario."""

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems: tuple[str, ...] = tuple(problems)
        lines = [f"{source} is not a scenario:", *(f"  {p}" for p in problems[:SHOWN])]
        if len(problems) > SHOWN:
            lines.append(f"  and {len(problems) - SHOWN} more")
        super().__init__("\n".join(lines))


def read_scenario(data: object, source: str = "scenario") -> Scenario:
    """Read a scenario from parsed JSON; raises ScenarioError.

    It goes through JSON text once more, because strict validation takes arrays for
    tuples only from there.
    """
    return parse_scenario(json.dumps(data), source)


def parse_scenario(text: str | bytes, source: str = "scenario") -> Scenario:
    """Read a scenario from JSON text; raises ScenarioError."""
    try:
        return Scenario.model_validate_json(text)
    except ValidationError as error:
        problems = [_problem(each) for each in error.errors(include_url=False)]
        raise ScenarioError(source, problems) from None


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file; raises ScenarioError or OSError."""
    return parse_scenario(path.read_bytes(), path.name)


def schema() -> dict[str, object]:
    """Return the JSON schema of scenarios, as published."""
    return Scenario.model_json_schema()


def _problem(error: ErrorDetails) -> str:
    loc = error["loc"]
    if error["type"] == "json_invalid":  # the input is the file as bytes
        return error["msg"]
    given = repr(error["input"])
    if len(given) > 60:
        given = given[:57] + "..."
    message = problem(error["msg"])
    if error["type"] == "extra_forbidden":
        allowed = ", ".join(sorted(_fields_beside(loc)))
        message = f"there is no such field; allowed here: {allowed}"
    return f"{'.'.join(map(str, loc)) or 'top level'} = {given}: {message}"


def _fields_beside(loc: Sequence[int | str]) -> set[str]:
    """Return the fields allowed where the unknown one stands."""
    models: list[type[BaseModel]] = [Scenario]
    for part in loc[:-1]:
        found = [m for model in models for m in _models_in_field(model, part)]
        models = found or _tagged(models, part)
    return {name for model in models for name in model.model_fields}


def _models_in_field(
    model: type[BaseModel], part: int | str
) -> Iterator[type[BaseModel]]:
    field = model.model_fields.get(str(part))
    if field is not None:
        yield from _models_of(field.annotation)


def _models_of(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_of(inner)


def _tagged(models: list[type[BaseModel]], part: int | str) -> list[type[BaseModel]]:
    """Narrow a union by the tag in the path; an index narrows nothing."""
    chosen = [
        model
        for model in models
        if "op" in model.model_fields
        and part in get_args(model.model_fields["op"].annotation)
    ]
    return chosen or models


def schema_text() -> str:
    """Return the published text: sorted, indented, with a newline at its end."""
    return json.dumps(schema(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
