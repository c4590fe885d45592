"""Tools as their owner declares them, and worlds that call them as models do.

A model calls with arguments that fit the schema, most of the time: with all fields, or
with the required ones, in any order, once more a little otherwise. Sometimes they do
not fit: a field is missing, of another type, not among the choices, or one too many.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from refengine.messages import Message, ToolCall
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import parse_message, write_message
from refengine.testing.own_tools import filled
from refengine.testing.subject_worlds.kit import Data, fit, json_text
from refengine.testing.subject_worlds.schema_edges import (
    fields_of,
    fits,
    object_edges,
    typical,
)
from refengine.testing.subject_worlds.words import Words

FAMILY: Final = "declared tools"
SETS: Final = 20
"""With so many sets of arguments is a tool called at most."""
RUNS: Final = 8
UNFIT: Final = 5
"""Of so many calls in other worlds one keeps arguments that do not fit."""


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A tool as its declaration says; ``parameters`` is a JSON schema of an object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def spec(self) -> dict[str, Any]:
        """The tool as a scenario has it."""
        made: dict[str, Any] = {"name": self.name, "parameters": dict(self.parameters)}
        return made | ({"description": self.description} if self.description else {})

    def takes(self, arguments: object) -> bool:
        """Tell whether arguments fit, as far as the words of the schema go."""
        return fits(arguments, {"type": "object", **self.parameters})


def argument_sets(tool: DeclaredTool, texts: Sequence[str]) -> Iterator[Data]:
    """Yield sets of arguments, at most ``SETS``: those that fit, then others."""
    found: dict[str, Data] = {}
    for each in _sets(tool, texts):
        found.setdefault(json.dumps(each), each)
    fits = [each for each in found.values() if tool.takes(each)]
    others = [each for each in found.values() if not tool.takes(each)]
    yield from fits[: SETS - min(len(others), SETS // 2)]
    yield from others[: SETS // 2]


def _sets(tool: DeclaredTool, texts: Sequence[str]) -> Iterator[Data]:
    every = _filled(tool, texts[0])
    yield from (every, dict(reversed(every.items())))
    yield _filled(tool, texts[0], optional=False)
    yield {}
    yield from _at_edges(tool, every)
    yield from (_filled(tool, text) for text in texts[1:])


def _at_edges(tool: DeclaredTool, every: Data) -> Iterator[Data]:
    """Yield arguments at the edges of the schema, the others as they were."""
    fields = fields_of(tool.parameters)
    base = {
        name: value if fits(value, fields.get(name)) else typical(fields.get(name))
        for name, value in every.items()
    }
    made = object_edges({"type": "object", **tool.parameters}, base)
    yield from (each.value for each in sorted(made, key=lambda each: not each.sharp))


def _filled(tool: DeclaredTool, text: str, *, optional: bool = True) -> Data:
    values = {"integer": 1, "string": text, "optional": optional}
    made = filled(tool.parameters, values)
    return dict(made) if is_mapping(made) else {}


def declared_worlds(
    tools: Sequence[DeclaredTool], words: Words
) -> Iterator[tuple[str, Data]]:
    """Yield worlds in which each tool is called with each set of its arguments."""
    texts = words.some_texts[:4]
    calls = [
        ToolCall(f"t{at}-{number}", tool.name, fit(json_text(given)))
        for at, tool in enumerate(tools)
        for number, given in enumerate(argument_sets(tool, texts))
    ]
    for start in range(0, len(calls), RUNS):
        yield FAMILY, _calling(calls[start : start + RUNS])
    yield FAMILY, _calling_at_once([replace(c, id=f"{c.id}a") for c in calls[::SETS]])


def _calling(calls: Sequence[ToolCall]) -> Data:
    script: list[str] = []
    for call in calls:
        # Once more, as a model does that did not like the answer.
        again = replace(call, id=f"{call.id}b")
        script += [_asks(call), _asks(again), "assistant:done"]
    runs = [
        {
            "input": ["user:go"],
            "streaming": at % 4 > 1,
            **({"continues": True} if at % 2 else {}),
        }
        for at in range(len(calls))
    ]
    return {"agent": {"tools": _echoing(calls)}, "model_script": script, "runs": runs}


def _calling_at_once(calls: Sequence[ToolCall]) -> Data:
    said = write_message(Message("assistant", "", tuple(calls)))
    return {
        "agent": {"tools": _echoing(calls)},
        "model_script": [said, "assistant:done"],
        "runs": [{"input": ["user:go"]}],
    }


def _asks(*calls: ToolCall) -> str:
    return write_message(Message("assistant", "", calls))


def _echoing(calls: Iterable[ToolCall]) -> list[Data]:
    names = dict.fromkeys(call.name for call in calls)
    return [{"name": name, "kind": "both", "result": "<args>"} for name in names]


def with_schemas(made: Data, tools: Mapping[str, DeclaredTool], *, calls: bool) -> Data:
    """Return a world whose tools of these names are as they are declared.

    With ``calls`` those of them get arguments that fit, but for one in ``UNFIT``; what
    texts and numbers they had goes into the fields.
    """
    agents = [made["agent"]] if "agent" in made else made.get("agents", [])
    found = False
    for agent in agents:
        for tool in agent.get("tools", ()):
            declared = tools.get(tool["name"])
            if declared is not None:
                found = True
                schema = {"parameters": dict(declared.parameters)}
                tool.update({**declared.spec, **tool, **schema})
    if found and calls:
        script = made.get("model_script", ())
        made["model_script"] = [
            _fitted_entry(each, at, tools) for at, each in enumerate(script)
        ]
    return made


def _fitted_entry(
    entry: Any,  # noqa: ANN401  # an entry of a script
    at: int,
    tools: Mapping[str, DeclaredTool],
) -> object:
    if not isinstance(entry, str):
        return entry
    message = parse_message(entry)
    calls = tuple(
        _fitted_call(call, tools[call.name])
        if call.name in tools and (at + number) % UNFIT
        else call
        for number, call in enumerate(message.tool_calls)
    )
    if calls == message.tool_calls:
        return entry
    return write_message(replace(message, tool_calls=calls))


def _fitted_call(call: ToolCall, tool: DeclaredTool) -> ToolCall:
    try:
        given: object = json.loads(call.arguments)
    except (ValueError, RecursionError):
        given = call.arguments
    if tool.takes(given):
        return call
    values = [*given.values()] if is_mapping(given) else [given]
    text = next((each for each in values if isinstance(each, str)), call.arguments)
    number = next((each for each in values if type(each) is int), 1)
    made = filled(tool.parameters, {"integer": number, "string": text})
    return replace(call, arguments=fit(json_text(made)))
