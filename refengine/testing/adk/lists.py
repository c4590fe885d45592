"""The lists of what a subject built with ADK in which an order can be another one.

A runner asks its plugins in the order in which they were registered, and an agent its
callbacks of one stage in the order of their list, until one of them answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias, cast

from google.adk.agents import BaseAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.tools.agent_tool import AgentTool

from refengine.testing.flows.watching import STAGES
from refengine.testing.json_values import is_list

Moved: TypeAlias = "Callable[[str, Sequence[Any]], list[Any]]"

PLUGINS: Final = "plugins"


def with_lists_moved(got: object, moved: Moved) -> object:
    """Return what a subject returned with each list as ``moved`` has it."""
    root, result = _with_plugins_moved(got, moved)
    for agent in agents_below(root):
        for stage in STAGES:
            name = f"{stage}_callback"
            given = getattr(agent, name, None)
            if is_list(given):
                setattr(agent, name, moved(f"{name} of {agent.name}", given))
    return result


def _with_plugins_moved(got: object, moved: Moved) -> tuple[object, object]:
    """Return the root agent, and what the subject returned with its plugins moved."""
    if isinstance(got, Runner):
        manager = got.plugin_manager
        manager.plugins[:] = moved(PLUGINS, [*manager.plugins])
        return got.agent, got
    if isinstance(got, App):
        got.plugins = moved(PLUGINS, got.plugins)
        return got.root_agent, got
    pair = pair_of(got)
    if len(pair) == 2:
        root, plugins = pair
        return root, (root, moved(PLUGINS, plugins) if is_list(plugins) else plugins)
    return got, got


def pair_of(got: object) -> tuple[object, ...]:
    """Return the parts of what a subject returned, nothing if it has none."""
    return cast("tuple[object, ...]", got) if isinstance(got, tuple) else ()


def agents_below(root: object) -> Iterator[BaseAgent]:
    """Yield an agent and all below it, those that it has as tools too, each once."""
    seen, waiting = set[int](), [root]
    while waiting:
        agent = waiting.pop(0)
        if isinstance(agent, AgentTool):
            agent = agent.agent
        if not isinstance(agent, BaseAgent) or id(agent) in seen:
            continue
        seen.add(id(agent))
        yield agent
        waiting += [*agent.sub_agents, *getattr(agent, "tools", ())]
