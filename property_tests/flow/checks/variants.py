"""Checks of two worlds side by side: what may change nothing is changed in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from compat.engines.flow.comparing import comparable_flow
from compat.engines.flow.scenario import (
    FlowAgentSpec,
    FlowAnswerSpec,
    FlowPluginSpec,
    FlowReplySpec,
    FlowScenario,
    said_of,
)
from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.flow.view import FlowView
from refengine.testing.trace import Trace

Decisions = Iterator[DialectDecision]

HOOKS: Final = frozenset(("hook_enter", "hook_exit"))
TEXT: Final = frozenset(("text", "finish_reason", "turn_complete", "usage"))
"""What a chunk may say that is only a piece of a text."""


def without_abstaining(scenario: FlowScenario) -> FlowScenario | None:
    """Return the world without hooks that never do anything; None if all do.

    Of callbacks only the last of a list are taken away: the others keep their numbers.
    """
    plugins = tuple(
        less
        for less in map(_doing_plugin, scenario.plugins)
        if less.hooks or not _named(scenario, less.name).hooks
    )
    less = scenario.model_copy(
        update={"plugins": plugins, "agent": _doing_agent(scenario.agent)}
    )
    return None if less == scenario else less


def _named(scenario: FlowScenario, name: str) -> FlowPluginSpec:
    return next(each for each in scenario.plugins if each.name == name)


def _doing_plugin(plugin: FlowPluginSpec) -> FlowPluginSpec:
    hooks = {hook: todo for hook, todo in plugin.hooks.items() if todo}
    return plugin.model_copy(update={"hooks": hooks})


def _doing_agent(agent: FlowAgentSpec) -> FlowAgentSpec:
    callbacks = {
        hook: tuple(listed[: max(at for at, x in enumerate(listed, 1) if x)])
        for hook, listed in agent.callbacks.items()
        if any(listed)
    }
    below = tuple(map(_doing_agent, agent.sub_agents))
    tools = tuple(
        each
        if each.agent is None
        else each.model_copy(update={"agent": _doing_agent(each.agent)})
        for each in agent.tools
    )
    changed = {"callbacks": callbacks, "sub_agents": below, "tools": tools}
    return agent.model_copy(update=changed)


def abstaining(seen: FlowView, other: FlowView) -> Decisions:
    """FLOW-013: without hooks that give nothing all is as it is with them."""
    one, two = (_without_hooks(each) for each in (seen, other))
    claim = "hooks that give nothing change nothing"
    yield DialectDecision(claim, two, one)


def _without_hooks(seen: FlowView) -> Sequence[Any]:
    trace = Trace(each for each in seen.trace if each.kind not in HOOKS)
    return comparable_flow(trace, seen.scenario)


def joined_chunks(scenario: FlowScenario) -> FlowScenario | None:
    """Return the world whose streamed texts come in one piece; None if all do.

    Hooks may count or replace chunks, so it is for worlds without any.
    """
    hooked = scenario.plugins or any(each.callbacks for each in scenario.agents())
    streams = any(each.stream for each in scenario.turns)
    if hooked or not streams:
        return None
    less = scenario.model_copy(update={"agent": _joined_agent(scenario.agent)})
    return None if less == scenario else less


def _joined_agent(agent: FlowAgentSpec) -> FlowAgentSpec:
    script = tuple(map(_joined_answer, agent.script))
    below = tuple(map(_joined_agent, agent.sub_agents))
    return agent.model_copy(update={"script": script, "sub_agents": below})


def _joined_answer(answer: FlowAnswerSpec) -> FlowAnswerSpec:
    plain = all(e is not None and e.text and said_of(e) <= TEXT for e in answer.chunks)
    if len(answer.chunks) < 2 or not plain or answer.error is not None:
        return answer
    chunks = cast("tuple[FlowReplySpec, ...]", answer.chunks)
    text = "".join(each.text or "" for each in chunks)
    one = chunks[-1].model_copy(update={"text": text})
    return answer.model_copy(update={"chunks": (one,)})


def cut_otherwise(seen: FlowView, other: FlowView) -> Decisions:
    """FLOW-095: what is sent is the same however streamed text was cut."""
    one, two = (
        [(each.agent, each.contents) for turn in side.turns for each in turn.requests]
        for side in (seen, other)
    )
    claim = "what is sent does not depend on how streamed text was cut"
    yield DialectDecision(claim, two, one)


CHECKS: Final = (
    DialectCheck(
        clause="FLOW-013",
        decide=abstaining,
        under={"tool_hook_values": ("not_none",)},
        variant=without_abstaining,
    ),
    DialectCheck(clause="FLOW-095", decide=cut_otherwise, variant=joined_chunks),
)
