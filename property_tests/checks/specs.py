"""What the specification of an agent holds, wherever in it that stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from refengine.testing.ops import ToolSpec
from refengine.testing.scenario import (
    AgentSpec,
    Scenario,
    ToolWrapSpec,
)

DEFAULT_LIMIT: Final = 20
"""So many iterations a run has where a limit below one stands for the default."""


def limit(agent: AgentSpec) -> int:
    """Return how many iterations a run of the agent has, if it can be built."""
    return agent.max_iterations if agent.max_iterations >= 1 else DEFAULT_LIMIT


def tool_wraps(agent: AgentSpec) -> Iterator[ToolWrapSpec]:
    """Yield the wrappers around tool calls of an agent, those for one tool too."""
    found: list[ToolWrapSpec | None] = []
    for struct in agent.middlewares:
        found += [struct.wrap_tool_call.invokable, struct.wrap_tool_call.streamable]
    for handler in agent.handlers:
        found += [handler.wrap_invokable, handler.wrap_streamable]
    for each in (*found, *agent.tool_call_middlewares):
        if each is not None:
            yield from each.with_own()


def keeps_ids(agent: AgentSpec) -> bool:
    """Tell whether no wrapper asks for another call id.

    Else what wrappers further in record stands under the id that was asked for, and
    may be mixed with that of another call.
    """
    return all(each.set_input_call_id is None for each in tool_wraps(agent))


def answers_itself(agent: AgentSpec) -> bool:
    """Tell whether some wrapper answers a call without the tool."""
    wraps = tool_wraps(agent)
    return any(each.short_circuit is not None or each.catch_error for each in wraps)


def tools_of(scenario: Scenario) -> Iterator[ToolSpec]:
    """Yield every tool that some agent of a scenario may have."""
    for agent in scenario.all_agents:
        yield from agent.every_tool
