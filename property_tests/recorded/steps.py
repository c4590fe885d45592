"""What happens in a recorded session, read from its script and not by playing it.

A corpus is made before any engine is loaded, so where a session can be cut is worked
out from what the model says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from refengine.messages import Message, ToolCall, join_chunks
from refengine.testing.notation import parse_chunk, parse_message
from refengine.testing.ops import EditWithMessage, RecordOp
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    ModelFailure,
    Scenario,
    ScriptEntry,
)

LONGEST: Final = 6
"""A session is cut short after so many iterations, before it is cut at each of them."""


@dataclass(frozen=True, slots=True)
class SessionStep:
    """One model call of a run, and the calls of tools that follow."""

    answered: bool
    calls: tuple[ToolCall, ...] = ()


def steps_of(scenario: Scenario) -> list[list[SessionStep]] | None:
    """Return the iterations of each run; None where a script alone does not say them.

    That is where several agents answer, runs are kept or cancelled already, a model is
    asked again, or extensions of the session's own may change the way it takes.
    """
    agent = scenario.agent
    if agent is None or not _is_plain(scenario, agent):
        return None
    script = iter(scenario.model_script)
    return [list(_run(agent, script)) for _ in scenario.runs]


def _is_plain(scenario: Scenario, agent: AgentSpec) -> bool:
    special = scenario.keeps or any(run.cancel for run in scenario.runs)
    steered = agent.retry or agent.middlewares or agent.tool_call_middlewares
    ends = scenario.script_end == "exhausted" and not scenario.after_build
    return ends and not special and not steered and all(map(_is_client, agent.handlers))


def _is_client(handler: HandlerSpec) -> bool:
    """Tell whether a handler only puts in what the client put in."""
    only = handler.model_copy(update={"id": "", "before_model": None})
    return only == HandlerSpec() and all(
        isinstance(op, RecordOp) or (isinstance(op, EditWithMessage) and _adds(op))
        for op in handler.before_model or ()
    )


def _adds(op: EditWithMessage) -> bool:
    return op.op in {"append", "prepend", "append_to_kept"}


def _run(agent: AgentSpec, script: Iterator[ScriptEntry]) -> Iterator[SessionStep]:
    """Yield the iterations of one run, up to the one that ends it."""
    tools = {tool.name: tool for tool in agent.tools}
    for _ in range(max(agent.max_iterations, 0)):
        answer = answer_of(next(script, "assistant:EXHAUSTED"))
        if answer is None:
            yield SessionStep(answered=False)
            return
        yield SessionStep(answered=True, calls=answer.tool_calls)
        names = [call.name for call in answer.tool_calls]
        unknown = any(name not in tools for name in names)
        failing = any(tools[name].error for name in names if name in tools)
        direct = any(agent.return_directly.get(name) for name in names)
        if not names or unknown or failing or direct:
            return


def answer_of(entry: ScriptEntry) -> Message | None:
    """Return what an entry of a script says in the end; None for a failure."""
    if isinstance(entry, str):
        return parse_message(entry)
    if isinstance(entry, ModelFailure) or entry.stream_error is not None:
        return None
    return join_chunks(map(parse_chunk, entry.chunks))


def shortened(
    scenario: Scenario, steps: Sequence[Sequence[SessionStep]]
) -> tuple[Scenario, Sequence[Sequence[SessionStep]]]:
    """Return a session's beginning of at most ``LONGEST`` iterations, and its steps."""
    kept: list[Sequence[SessionStep]] = []
    left = LONGEST
    for run in steps:
        if len(run) > left:
            break
        kept.append(run)
        left -= len(run)
    if kept:
        return _first_runs(scenario, len(kept)), kept
    agent = scenario.all_agents[0].model_copy(update={"max_iterations": LONGEST})
    short = scenario.model_copy(update={"agent": agent})
    return _first_runs(short, 1), [steps[0][:LONGEST]]


def _first_runs(scenario: Scenario, count: int) -> Scenario:
    if count == len(scenario.runs):
        return scenario
    return scenario.model_copy(update={"runs": scenario.runs[:count]})
