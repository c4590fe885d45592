"""Callbacks of agents as plugins of their runner (dialects.md, FLOW, Adapters).

With the scope ``agent`` one plugin asks, for the agent that runs, what that agent had.
With ``runner`` the functions move as they are, a plugin for each place in a list, as
one would move them by hand. Either way the plugins have to be the last ones: callbacks
are asked behind every plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from compat.adapters.errors import (
    FlippedOrderError,
    NotReachedError,
    WiderScopeError,
)
from compat.adapters.flow.changes import (
    CALLBACK_HOOKS,
    CERTAIN,
    CallbackChange,
    CallbackPlace,
    Lists,
    PortScope,
    changes_of,
    chosen,
    moving_lists,
    placed,
)
from compat.dialects.flow import Agent, CallbackContext, FlowProfile, Plugin
from compat.dialects.flow.stages import callback_value

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
