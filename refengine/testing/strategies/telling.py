"""What a search has seen: facts about worlds, told to ``hypothesis.event``."""

from __future__ import annotations

from typing import Final

from hypothesis import event

from refengine.testing.notation import parse_message
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    MiddlewareSpec,
    ModelFailure,
    Scenario,
    ScriptEntry,
)
from refengine.testing.strategies.extensions import HANDLER_HOOKS

HISTORY: Final = 40
"""So many messages are more than a limit in somebody's code."""


def tell(scenario: Scenario) -> None:
    """Put down what was generated, for the statistics of a search."""
    for agent in scenario.all_agents:
        for fact in {*_facts_of(agent), *_facts_of_session(scenario)}:
            event(fact)


def calls_of(entry: ScriptEntry) -> int:
    """Return how many tools an answer calls."""
    if isinstance(entry, ModelFailure):
        return 0
    last = entry if isinstance(entry, str) else entry.chunks[-1]
    return len(parse_message(last).tool_calls)


def _facts_of(agent: AgentSpec) -> set[str]:
    names = [tool.name for tool in agent.tools]
    length = len(agent.instruction)
    size = "none" if not length else "short" if length < 1_000 else "very long"
    facts = {f"tool kind: {tool.kind}" for tool in agent.tools}
    facts |= {f"handler hook: {h}" for each in agent.handlers for h in _hooks(each)}
    facts |= {f"struct field: {f}" for each in agent.middlewares for f in _fields(each)}
    if agent.tool_call_middlewares:
        facts.add("tool_call_middlewares")
    if len(names) != len(set(names)):
        facts.add("equal tool names")
    return facts | {f"instruction: {size}"}


def _facts_of_session(scenario: Scenario) -> set[str]:
    each = [calls_of(entry) for entry in scenario.model_script]
    modes = {run.streaming for run in scenario.runs}
    forms = {_form(entry) for entry in scenario.model_script}
    longest = max(len(run.input) for run in scenario.runs)
    return {
        f"runs: {len(scenario.runs)}",
        f"streaming: {', '.join(sorted(map(str, modes)))}",
        f"answers that call tools: {sum(map(bool, each))}",
        f"calls of one answer: {max(each, default=0)}",
        f"history: {'long' if longest >= HISTORY else 'short'}",
        f"script end: {scenario.script_end}",
        *(f"answers: {form}" for form in forms),
    }


def _form(entry: ScriptEntry) -> str:
    if isinstance(entry, str):
        return "plain"
    if isinstance(entry, ModelFailure):
        return "failing"
    return "chunks" if entry.stream_error is None else "failing midway"


def _hooks(handler: HandlerSpec) -> list[str]:
    return [hook for hook in HANDLER_HOOKS if getattr(handler, hook) is not None]


def _fields(middleware: MiddlewareSpec) -> set[str]:
    return middleware.model_fields_set - {"id"}
