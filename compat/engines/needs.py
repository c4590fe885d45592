"""What a world needs of an engine that no configuration shows, read from its scenario.

What a configuration shows is refused when it is built (``capabilities``). A hook that
edits, a context that is handed on and the like only show when they happen; an engine
that does not declare them must not be judged by them, and need not notice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final

from refengine.messages import ToolCall, join_chunks
from refengine.testing import ops
from refengine.testing.notation import SURROGATE, encoded, parse_chunk, parse_message
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    ModelFailure,
    ModelWrapSpec,
    RunSpec,
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
_OF_CONFIG: Final = MappingProxyType(
    {
        "edited_config": _EDITS,
        "return_directly": (ops.SetReturnDirectly, ops.ReplaceReturnDirectly),
    }
)
"""By capability: the operations of ``before_agent`` that need it."""


def hidden_needs(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield each capability that only playing a scenario would show, and what needs it.

    Where a configuration shows it as well, the refusal is the same and comes earlier.
    """
    for agent in scenario.all_agents:
        if _extensions(agent) > MANY:
            yield "many_extensions", f"an agent of {_extensions(agent)} extensions"
        yield from _of_agent(agent)
    for at, run in enumerate(scenario.runs):
        yield from _of_run(run, f"runs[{at}]")
        wraps = scenario.all_agents[run.agent].handlers
        if run.streaming and any(each.wrap_model is not None for each in wraps):
            yield "streamed_model_wraps", f"runs[{at}], which streams"
    for at, entry in enumerate(scenario.model_script):
        yield from _of_calls(_calls(entry), f"model_script[{at}]")
    if SURROGATE.search(scenario.model_dump_json(exclude_defaults=True)):
        yield "lone_surrogates", "a text of the scenario"


def is_crowded(scenario: Scenario) -> bool:
    """Tell whether some agent has more extensions than every engine is asked for."""
    return any(_extensions(agent) > MANY for agent in scenario.all_agents)


def _extensions(agent: AgentSpec) -> int:
    return len(agent.middlewares) + len(agent.handlers)


def _of_calls(calls: Sequence[ToolCall], where: str) -> Iterator[tuple[str, str]]:
    """Yield what the calls of one message need."""
    for call in calls:
        if not is_usual(call.arguments):
            yield "arguments_text", f"{where}, call {call.id!r}"
    if len(calls) > 1:
        yield "parallel_calls", where
    if len({each.id for each in calls}) < len(calls):
        yield "equal_call_ids", where


def _of_run(run: RunSpec, where: str) -> Iterator[tuple[str, str]]:
    if run.options:
        yield "run_options", f"{where}.options"
    if run.checkpoint is not None or run.resume is not None:
        yield "resume", where
    if run.cancel is not None:
        yield "cancellation", f"{where}.cancel"
    if "context" in run.doors:
        yield "run_context", f"{where}.doors"
    if run.streaming:
        yield "streaming", where


def _of_agent(agent: AgentSpec) -> Iterator[tuple[str, str]]:
    if agent.retry is not None:
        yield "retry", "an agent's retry"
        if agent.retry.fall_back:
            yield "fall_back", "an agent's retry"
    for where in _asking(agent):
        yield "resume", where
    for at, handler in enumerate(agent.handlers):
        edits = handler.before_agent or ()
        for capability, kinds in _OF_CONFIG.items():
            if any(isinstance(op, kinds) for op in edits):
                yield capability, f"handlers[{at}].before_agent"
        around = handler.wrap_model
        if around is not None and _writes_options(around):
            yield "run_options", f"handlers[{at}].wrap_model"
    yield from chain.from_iterable(map(_of_tool, agent.every_tool))
    for where, todo in _all_ops(agent):
        yield from _of_ops(todo, where)
    for where, wrap in _wraps(agent):
        yield from _of_wrap(wrap, where)


def _of_tool(tool: ops.ToolSpec) -> Iterator[tuple[str, str]]:
    """Yield what a tool needs that only the objects of ours have."""
    for capability, needed in (
        ("run_context", tool.agent is not None),
        ("actions", tool.action is not None),
        ("own_errors", tool.as_json),
    ):
        if needed:
            yield capability, f"tool {tool.name!r}"


def _of_ops(todo: Sequence[ops.Op], where: str) -> Iterator[tuple[str, str]]:
    for op in todo:
        if isinstance(op, ops.CtxSet | ops.CtxAppend):
            yield "context", where
        if isinstance(op, ops.AppendTools) and op.return_directly is not None:
            yield "return_directly", where
        if isinstance(op, ops.GiveBack):
            yield "own_errors", where
        if isinstance(op, ops.RunLocalSet | ops.RunLocalRead):
            yield "run_locals", where
        if isinstance(op, ops.EditWithMessage):
            yield from _of_calls(parse_message(op.msg).tool_calls, where)


def _of_wrap(wrap: ToolWrapSpec, where: str) -> Iterator[tuple[str, str]]:
    if wrap.new_ctx or wrap.ctx_append is not None:
        yield "context", where
    if wrap.rewrite_args is not None and not _is_object(wrap.rewrite_args):
        yield "arguments_text", where
    if wrap.call_next > 1:
        yield "next_twice", where
    if wrap.runlocal_get is not None:
        yield "run_locals", where
    if _writes_options(wrap):
        yield "run_options", where


def _writes_options(wrap: ToolWrapSpec | ModelWrapSpec) -> bool:
    return wrap.clear_options or wrap.set_options is not None


def _asking(agent: AgentSpec) -> Iterator[str]:
    """Yield whatever interrupts a run of the agent."""
    asks = ops.Ask | ops.Interrupts
    for tool in agent.every_tool:
        if tool.interrupt:
            yield f"tool {tool.name!r}"
    for where, todo in _all_ops(agent):
        if any(isinstance(op, asks) for op in todo):
            yield where
    for at, handler in enumerate(agent.handlers):
        wrap = handler.wrap_model
        if wrap is not None and (wrap.interrupt or wrap.ask):
            yield f"handlers[{at}].wrap_model"
    for where, each in _wraps(agent):
        if each.interrupt or each.ask:
            yield where


def _all_ops(agent: AgentSpec) -> Iterator[tuple[str, Sequence[ops.Op]]]:
    """Yield what each hook of a pipeline and each tool of an agent does."""
    for tool in agent.every_tool:
        yield f"tool {tool.name!r}", tool.body
    for at, struct in enumerate(agent.middlewares):
        hooks = (*struct.before_chat_model, *struct.after_chat_model)
        yield f"middlewares[{at}]", hooks
    for at, handler in enumerate(agent.handlers):
        for hook, todo in _of_handler(handler):
            yield f"handlers[{at}].{hook}", todo


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


def _calls(entry: ScriptEntry) -> Sequence[ToolCall]:
    if isinstance(entry, ModelFailure):
        return ()
    if isinstance(entry, str):
        return parse_message(entry).tool_calls
    return join_chunks(map(parse_chunk, entry.chunks)).tool_calls


def is_usual(arguments: str) -> bool:
    """Tell whether arguments are an object, written as Python writes one.

    Only those come out as they were where an engine reads them and writes them again;
    half of a character does not, since many readers refuse it.
    """
    try:
        tree: object = json.loads(arguments)
    except ValueError:
        return False
    written = (json.dumps(tree), json.dumps(tree, ensure_ascii=False))
    is_valid = encoded(written[1]) == written[1]
    return isinstance(tree, dict) and is_valid and arguments in written


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
