"""Generated worlds for observers: agents with tools, answers, failures, cancellation.

Each text is one that stands in no other, so that it is known again in an attribute.
What comes first in a choice is the plainest. Needs the extra ``testing``.
"""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from compat.engines.observers.scenario import ObservedScenario

Doc: TypeAlias = "dict[str, Any]"
Draw: TypeAlias = Any  # what a composite strategy draws with

TEXTS: Final = ("It is there.", "A red house.", "Nobody knows.", "Über den Fluß.")
ASKED: Final = ("Where is it?", "And before?", "Who was it?")
ARGUMENTS: Final[tuple[Doc, ...]] = (
    {},
    {"at": "the corner"},
    {"at": "the gate", "often": 12345},
    {"of": {"whom": ["the neighbour", 'a quoted "name"']}},
)
TOOLS: Final = ("look", "ask", "broken")


def observed_worlds() -> st.SearchStrategy[ObservedScenario]:
    """Return what draws scenarios."""
    read = ObservedScenario.model_validate_json
    return _worlds().map(lambda doc: read(json.dumps(doc)))


@st.composite
def _worlds(draw: Draw) -> Doc:
    results = draw(st.permutations(TEXTS))
    tools: list[Doc] = [
        {"name": "look", "result": results[0]},
        {
            "name": "ask",
            "result": results[1],
            "delay_ms": draw(st.sampled_from((0, 5))),
        },
        {"name": "broken", "error": "no light"},
    ]
    agent: Doc = {"tools": tools}
    if draw(st.booleans()):
        agent["instruction"] = "Answer in one sentence."
    runs = draw(st.integers(1, 2))
    doc: Doc = {
        "agent": agent,
        "model_script": [each for _ in range(runs) for each in draw(_answers())],
        "runs": [draw(_runs(number)) for number in range(runs)],
    }
    if leaves := draw(st.sampled_from((*(0,) * 5, 1, 2))):
        doc["leaves"] = leaves
    return doc


@st.composite
def _answers(draw: Draw) -> list[Any]:
    rounds = draw(st.integers(0, 2))
    calls = [draw(_calls(number)) for number in range(rounds)]
    last = draw(st.sampled_from((*TEXTS, "")))
    if last:
        return [*calls, f"assistant:{last}"]
    return [*calls, {"error": "no answer"}]


@st.composite
def _calls(draw: Draw, number: int) -> str:
    many = draw(st.integers(1, 3))
    names = [draw(st.sampled_from(TOOLS[:2])) for _ in range(many)]
    if draw(st.integers(0, 3)) == 1:  # of two that fail, which one is told is luck
        names[draw(st.integers(0, many - 1))] = TOOLS[2]
    given = [json.dumps(draw(st.sampled_from(ARGUMENTS))) for _ in range(many)]
    calls = (
        f"[c{number}{at}:{name}({arguments})]"
        for at, (name, arguments) in enumerate(zip(names, given, strict=True))
    )
    return f"assistant:{''.join(calls)}"


@st.composite
def _runs(draw: Draw, number: int) -> Doc:
    run: Doc = {"input": [f"user:{ASKED[number]}"], "continues": number > 0}
    run["streaming"] = draw(st.booleans())
    at = *("",) * 9, "model_call", "model_chunk", "tool_run"
    if when := draw(st.sampled_from(at)):
        run["cancel"] = {"when": when}
    return run
