"""What a world needs of an engine that no configuration shows, read from its scenario.

What a configuration shows is refused when it is built (``capabilities``). A hook that
edits, a context that is handed on and the like only show when they happen; an engine
that does not declare them must not be judged by them, and need not notice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from refengine.messages import ToolCall, join_chunks
from refengine.testing import ops
from refengine.testing.notation import parse_chunk, parse_message
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    ModelFailure,
    Scenario,
    ScriptEntry,
    ToolWrapSpec,
)

MANY: Final = 100
"""So many extensions of one agent every engine is asked for."""

_EDITS = (
    ops.AppendInstruction,
    ops.AppendTools,
    ops.RemoveTool,
    ops.SetTools,
    ops.SetReturnDirectly,
    ops.ReplaceReturnDirectly,
)


def hidden_needs(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield each capability that only playing a scenario would show, and what needs it.

    These are ``edited_config``, ``context``, ``run_options``, ``streamed_model_wraps``,
    ``arguments_text`` and ``many_extensions``.
    """
    for agent in scenario.all_agents:
        if _extensions(agent) > MANY:
            yield "many_extensions", f"an agent of {_extensions(agent)} extensions"
        yield from _of_agent(agent)
    for at, run in enumerate(scenario.runs):
        if run.options:
            yield "run_options", f"runs[{at}].options"
        wraps = scenario.all_agents[run.agent].handlers
        if run.streaming and any(each.wrap_model is not None for each in wraps):
            yield "streamed_model_wraps", f"runs[{at}], which streams"
    for at, entry in enumerate(scenario.model_script):
        for call in _calls(entry):
            if not _is_object(call.arguments):
                yield "arguments_text", f"model_script[{at}], call {call.id!r}"


def is_crowded(scenario: Scenario) -> bool:
    """Tell whether some agent has more extensions than every engine is asked for."""
    return any(_extensions(agent) > MANY for agent in scenario.all_agents)


def _extensions(agent: AgentSpec) -> int:
    return len(agent.middlewares) + len(agent.handlers)


def _of_agent(agent: AgentSpec) -> Iterator[tuple[str, str]]:
    for at, handler in enumerate(agent.handlers):
        where = f"handlers[{at}]"
        if any(isinstance(op, _EDITS) for op in handler.before_agent or ()):
            yield "edited_config", f"{where}.before_agent"
        for hook, todo in _of_handler(handler):
            if any(isinstance(op, ops.CtxSet | ops.CtxAppend) for op in todo):
                yield "context", f"{where}.{hook}"
    for where, wrap in _wraps(agent):
        if wrap.ctx_append is not None:
            yield "context", where
        if wrap.rewrite_args is not None and not _is_object(wrap.rewrite_args):
            yield "arguments_text", where


def _of_handler(handler: HandlerSpec) -> Iterator[tuple[str, Sequence[ops.Op]]]:
    yield "before_agent", handler.before_agent or ()
    yield "before_model", handler.before_model or ()
    yield "after_model", handler.after_model or ()
    yield "after_agent", handler.after_agent or ()


def _wraps(agent: AgentSpec) -> Iterator[tuple[str, ToolWrapSpec]]:
    """Yield every tool wrapper of an agent and where it stands."""
    found: list[tuple[str, ToolWrapSpec | None]] = [
        (f"tool_call_middlewares[{at}]", each)
        for at, each in enumerate(agent.tool_call_middlewares)
    ]
    for at, struct in enumerate(agent.middlewares):
        kinds = struct.wrap_tool_call
        found += [(f"middlewares[{at}]", kinds.invokable)]
        found += [(f"middlewares[{at}]", kinds.streamable)]
    for at, handler in enumerate(agent.handlers):
        found += [(f"handlers[{at}].wrap_invokable", handler.wrap_invokable)]
        found += [(f"handlers[{at}].wrap_streamable", handler.wrap_streamable)]
    for where, wrap in found:
        if wrap is not None:
            yield from ((where, each) for each in wrap.with_own())


def _calls(entry: ScriptEntry) -> Iterable[ToolCall]:
    if isinstance(entry, ModelFailure):
        return ()
    if isinstance(entry, str):
        return parse_message(entry).tool_calls
    return join_chunks(map(parse_chunk, entry.chunks)).tool_calls


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
