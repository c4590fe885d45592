"""Callbacks of agents as plugins of their runner (dialects.md, FLOW, Adapters).

With the scope ``agent`` one plugin asks, for the agent that runs, what that agent had.
With ``runner`` the functions move as they are, a plugin for each place in a list, as
one would move them by hand. Either way the plugins have to be the last ones: callbacks
are asked behind every plugin.

A plugin is asked before every callback and for every agent (adk.md §3). So a callback
that moves is asked earlier than those that stay, and, if its function moves as it is,
for agents that did not have it. Those two are certain, and end a port. The others come
about only if a callback raises, writes state, or gives back an empty mapping, which
nobody sees from outside; they are told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from compat.adapters.errors import (
    FlippedOrderError,
    NoCallbackError,
    NotReachedError,
    WiderScopeError,
)
from compat.dialects.flow import (
    Agent,
    CallbackContext,
    FlowProfile,
    LlmAgent,
    Plugin,
    Tool,
)
from compat.dialects.flow.stages import callback_value
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


_REFUSALS: Final = {
    "scope": WiderScopeError,
    "order": FlippedOrderError,
    "out_of_reach": NotReachedError,
}


@dataclass(frozen=True, slots=True)
class PortedAgents:
    """The tree without the callbacks that moved, and the plugins that have them.

    ``changes`` says what is another if a callback raises, writes state or gives back an
    empty mapping, and which callbacks stay because no plugin reaches them.
    """

    root: Agent
    plugins: tuple[Plugin, ...]
    changes: tuple[CallbackChange, ...] = ()


def callbacks_to_plugins(
    root: Agent,
    profile: FlowProfile,
    plugins: Sequence[Plugin] = (),
    *,
    moving: Collection[CallbackPlace] | None = None,
    scope: PortScope = "agent",
) -> PortedAgents:
    """Return the tree and the plugins to give to a runner in its place.

    ``plugins`` are those that the runner has already, which stay first; ``moving`` is
    every callback of the tree if None. Raises WiderScopeError for a callback that other
    agents would get, FlippedOrderError for one that overtakes another, NotReachedError
    for one inside an agent tool, NoCallbackError for one that is not there.
    """
    changes = changes_of(root, profile, moving=moving, scope=scope)
    wanted = chosen(root, moving)
    for each in changes:
        stays = each.cause == "out_of_reach" and (
            moving is None or each.place not in wanted - {*placed(root)}
        )
        if each.cause in CERTAIN and not stays:
            raise _REFUSALS[each.cause](each.place, each.others)
    stripped: dict[Agent, Agent] = {}
    left = _without(root, wanted, stripped)
    lists = {
        hook: {stripped[agent]: found for agent, found in given.items()}
        for hook in CALLBACK_HOOKS
        for given in [moving_lists(root, hook, wanted)]
    }
    names = {each.name for each in plugins}
    made = _scoped(lists, names) if scope == "agent" else _as_they_are(lists, names)
    return PortedAgents(left, (*plugins, *made), changes)


def ported(
    root: Agent, profile: FlowProfile, plugins: Sequence[Plugin]
) -> tuple[Agent, Sequence[Plugin]]:
    """Return tree and plugins with all callbacks in one plugin, if there are any."""
    try:
        port = callbacks_to_plugins(root, profile, plugins)
    except NoCallbackError:
        return root, plugins
    return port.root, port.plugins


def _without(
    agent: Agent, wanted: Collection[CallbackPlace], stripped: dict[Agent, Agent]
) -> Agent:
    """Return the agent without what moves, and note in whose place each new one is."""
    stay: dict[str, Any] = {
        hook: tuple(
            callback
            for index, callback in enumerate(getattr(agent, hook))
            if CallbackPlace(agent.name, hook, index) not in wanted
        )
        for hook in CALLBACK_HOOKS
        if hasattr(agent, hook)
    }
    below = tuple(_without(each, wanted, stripped) for each in agent.sub_agents)
    made = replace(agent, sub_agents=below, **stay)
    stripped[agent] = made
    return made


def _scoped(lists: Mapping[str, Lists], taken: Collection[str]) -> list[Plugin]:
    hooks: dict[str, Any] = {
        hook: _of_own_agent(hook, given)
        for hook, given in lists.items()
        if any(given.values())
    }
    return [Plugin(name=_free("callbacks", taken), **hooks)]


def _of_own_agent(hook: str, lists: Lists) -> Callable[..., object]:
    """Return a hook that asks the list of the agent that runs, which decides as ever.

    Agents are told apart by what they are: one inside an agent tool may have the name
    of one of the tree.
    """

    async def ask(ctx: CallbackContext, *args: object) -> object:
        whole = ctx.invocation_context
        return await callback_value(
            whole, hook, lists.get(whole.agent, ()), (ctx, *args)
        )

    return ask


def _as_they_are(lists: Mapping[str, Lists], taken: Collection[str]) -> list[Plugin]:
    """Return a plugin for each place in a list; every agent has the same lists."""
    columns: dict[str, Sequence[Any]] = {
        hook: next((each for each in given.values() if each), ())
        for hook, given in lists.items()
    }
    made: list[Plugin] = []
    for index in range(max(map(len, columns.values()))):
        hooks: dict[str, Any] = {
            hook: column[index]
            for hook, column in columns.items()
            if index < len(column)
        }
        made.append(Plugin(name=_free(f"callbacks-{index}", taken), **hooks))
    return made


def _free(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number behind it if another plugin has it."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found
