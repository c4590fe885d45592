"""TOOL: what the model is told of a tool is what the tool says, to the letter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.specs import all_tools
from property_tests.view import RunView
from refengine.messages import Json
from refengine.testing.json_values import is_mapping
from refengine.testing.ops import ToolSpec
from refengine.testing.trace import to_json

SAID: Final = "what a request says of a tool: description and parameters, as they are"


def as_registered(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that each request tells of a tool just what the tool itself says."""
    for run in case.played.runs:
        said = _said(run)
        for each in run.entries:
            if each.kind == "model_request":
                for tool in cast("Sequence[object]", each.data["tools"]):
                    name, got = _shown(to_json(tool))
                    known = said.get(name, [])
                    if known:
                        expected = got if got in known else known[-1]
                        yield Decision(SAID, expected, got, each)


def _said(run: RunView) -> Mapping[str, list[list[str]]]:
    """Return, by name, what tools of a run say: several may have one name."""
    found: dict[str, list[list[str]]] = {}
    for spec in all_tools(run.agent):
        if "<run>" not in spec.name:
            found.setdefault(spec.name, []).append(_own(spec))
    return found


def _own(spec: ToolSpec) -> list[str]:
    told = spec.description or f"tool {spec.name}"
    return [told, _text(to_json(spec.parameters or {}))]


def _shown(tool: Json) -> tuple[str, list[str]]:
    if not is_mapping(tool):
        return "", []
    told = str(tool.get("description", ""))
    parameters = cast("Json", tool.get("parameters", {}))
    return str(tool.get("name")), [told, _text(parameters)]


def _text(value: Json) -> str:
    """Return what a schema says; objects of JSON have no order, so keys are sorted.

    A list has one, also that of ``required``, and 1, 1.0 and true are three values.
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


CHECKS: Final = (Check(clause="TOOL-025", decide=as_registered),)
