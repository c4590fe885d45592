"""What changes when callbacks of agents become plugins of their runner, by name.

A plugin is asked before every callback and for every agent (adk.md §3). So a callback
that moves is asked earlier than those that stay, and, if its function moves as it is,
for agents that did not have it. Those two are certain, and end a port. The others come
about only if a callback raises, writes state, or gives back an empty mapping, which
nobody sees from outside; they are told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from compat.adapters.errors import NoCallbackError
from compat.dialects.flow import Agent, FlowProfile, LlmAgent, Tool
from compat.dialects.flow.tree import AgentTree

PortScope: TypeAlias = Literal["agent", "runner"]
"""Whether the plugin asks a callback for its own agent only, or for every agent."""

AGENT_HOOKS: Final = ("before_agent", "after_agent")
LLM_HOOKS: Final = (
    "before_model",
    "after_model",
    "on_model_error",
    "before_tool",
    "after_tool",
    "on_tool_error",
)
"""What surrounds a model and a tool; an agent that asks no model has none of them."""
CALLBACK_HOOKS: Final = AGENT_HOOKS + LLM_HOOKS

Lists: TypeAlias = Mapping[Agent, Sequence[Any]]
"""The callbacks of one hook that move, by their agent."""


@dataclass(frozen=True, slots=True, order=True)
class CallbackPlace:
    """Where a callback stands: its agent, its hook, and its place in that list."""

    agent: str
    hook: str
    index: int = 0

    def __str__(self) -> str:
        return f"{self.hook}[{self.index}] of agent {self.agent!r}"


ChangeCause: TypeAlias = Literal[
    "scope", "order", "error_class", "lost_state", "empty_mapping", "out_of_reach"
]

CERTAIN: Final[frozenset[ChangeCause]] = frozenset(("scope", "order", "out_of_reach"))
"""The causes that do not wait for what a callback does."""


@dataclass(frozen=True, slots=True)
class CallbackChange:
    """One callback that a plugin does not stand in for, and why.

    ``others`` are the agents that would get it (scope), the callbacks that stay before
    it (order), or the tools that its agent is in (out of reach).
    """

    place: CallbackPlace
    cause: ChangeCause
    others: tuple[str, ...] = ()


def placed(root: Agent) -> Iterator[CallbackPlace]:
    """Yield the place of each callback of a tree, agent by agent."""
    for agent in _tree(root):
        for hook in CALLBACK_HOOKS:
            for index in range(len(getattr(agent, hook, ()))):
                yield CallbackPlace(agent.name, hook, index)


def chosen(
    root: Agent, moving: Collection[CallbackPlace] | None
) -> frozenset[CallbackPlace]:
    """Return the places of the callbacks that move, all of the tree if None.

    Raises NoCallbackError if there is none, or none at a place that is named.
    """
    found = frozenset(placed(root))
    inside = {each.place for each in _inside_tools(root)}
    wanted = found if moving is None else frozenset(moving)
    if not wanted:
        raise NoCallbackError(root.name, "any of its callbacks")
    for each in sorted(wanted - found - inside):
        raise NoCallbackError(root.name, str(each))
    return wanted


def changes_of(
    root: Agent,
    profile: FlowProfile,
    *,
    moving: Collection[CallbackPlace] | None = None,
    scope: PortScope = "agent",
) -> tuple[CallbackChange, ...]:
    """Return what changes for the callbacks that move, in the order of the tree.

    Callbacks of an agent inside an agent tool are told as well, although they stay.
    Raises NoCallbackError, and AgentPlaceError for what is not a tree.
    """
    AgentTree(root)
    wanted = chosen(root, moving)
    found = [*_certain(root, wanted, profile, scope), *_inside_tools(root)]
    for place in placed(root):
        if place in wanted:
            found += _conditional(root, place, profile, scope)
    return tuple(found)


def moving_lists(root: Agent, hook: str, wanted: Collection[CallbackPlace]) -> Lists:
    """Return the callbacks of a hook that move, for each agent that can have any."""
    reached = (x for x in _tree(root) if hook in AGENT_HOOKS or isinstance(x, LlmAgent))
    return {
        agent: tuple(
            callback
            for index, callback in enumerate(getattr(agent, hook))
            if CallbackPlace(agent.name, hook, index) in wanted
        )
        for agent in reached
    }


def _certain(
    root: Agent,
    wanted: frozenset[CallbackPlace],
    profile: FlowProfile,
    scope: PortScope,
) -> Iterator[CallbackChange]:
    for place in placed(root):
        if place not in wanted:
            continue
        before = (
            CallbackPlace(place.agent, place.hook, each) for each in range(place.index)
        )
        stay = tuple(str(each) for each in before if each not in wanted)
        if stay:
            yield CallbackChange(place, "order", stay)
    if scope == "runner":
        for hook in CALLBACK_HOOKS:
            yield from _widened(root, hook, wanted, profile)


def _widened(
    root: Agent, hook: str, wanted: frozenset[CallbackPlace], profile: FlowProfile
) -> Iterator[CallbackChange]:
    """Yield each callback that is not every agent's, or not everywhere as early."""
    lists = moving_lists(root, hook, wanted)
    inner = tuple(_reached_inside(root, hook, profile))
    for agent, callbacks in lists.items():
        for place, function in zip(
            (x for x in sorted(wanted) if (x.agent, x.hook) == (agent.name, hook)),
            callbacks,
            strict=True,
        ):
            lacking = [x.name for x, given in lists.items() if function not in given]
            others = (*lacking, *inner)
            if others:
                yield CallbackChange(place, "scope", others)
                continue
            elsewhere = [x.name for x, given in lists.items() if given != callbacks]
            if elsewhere:
                yield CallbackChange(place, "order", tuple(elsewhere))


def _reached_inside(root: Agent, hook: str, profile: FlowProfile) -> Iterator[str]:
    """Yield the agents inside agent tools that a plugin's hook is asked for."""
    if profile.agent_tool_plugins == "none":
        return
    for _, inner in _agents_in_tools(root):
        if hook in AGENT_HOOKS or isinstance(inner, LlmAgent):
            yield inner.name


def _inside_tools(root: Agent) -> Iterator[CallbackChange]:
    for tool, inner in _agents_in_tools(root):
        for hook in CALLBACK_HOOKS:
            for index in range(len(getattr(inner, hook, ()))):
                place = CallbackPlace(inner.name, hook, index)
                yield CallbackChange(place, "out_of_reach", (tool,))


def _conditional(
    root: Agent, place: CallbackPlace, profile: FlowProfile, scope: PortScope
) -> Iterator[CallbackChange]:
    if profile.plugin_errors == "wrapped":
        yield CallbackChange(place, "error_class")
    if place.hook == "after_model" and profile.plugin_after_model_state == "lost":
        yield CallbackChange(place, "lost_state")
    agent = AgentTree(root).find(place.agent)
    last = place.index == len(getattr(agent, place.hook)) - 1
    counts = profile.tool_hook_values == "truthy" and scope == "runner" and not last
    if counts and place.hook in {"before_tool", "after_tool"}:
        yield CallbackChange(place, "empty_mapping")


def _tree(agent: Agent) -> Iterator[Agent]:
    yield agent
    for each in agent.sub_agents:
        yield from _tree(each)


def _agents_in_tools(root: Agent) -> Iterator[tuple[str, Agent]]:
    """Yield each agent inside an agent tool of the tree, with that tool's name."""
    for agent in _tree(root):
        for tool in agent.tools if isinstance(agent, LlmAgent) else ():
            if isinstance(tool, Tool) and tool.agent is not None:
                for each in _tree(tool.agent):
                    yield tool.name, each
                yield from _agents_in_tools(tool.agent)
