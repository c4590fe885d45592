"""A stage: all hooks of one kind, plugins first, then the agent's own, in order.

The first value or error wins the stage: no later hook of it is called, the agent's own
among them (adk.md §1.5). After hooks run in the order of registration too, not
backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from compat.dialects.flow.contexts import InvocationContext
from compat.dialects.flow.hooks import GIVES
from compat.dialects.flow.run_errors import CallbackReturnError
from refengine.awaiting import settled


async def plugin_value(ctx: InvocationContext, hook: str, *args: object) -> Any:  # noqa: ANN401  # what the hook gives
    """Return the first value of the plugins' hooks, None if all abstain.

    An exception leaves as the profile has it, with a note that names the plugin.
    """
    plugins = ctx.invocation.plugins
    for name, function in plugins.having(hook):
        owner = f"plugin {name!r}"
        try:
            value = await settled(function(*args))
        except Exception as error:
            blamed = plugins.blamed(name, hook, error)
            if blamed is not error:
                raise blamed from error
            error.add_note(f"{owner}, {hook}")
            raise
        if value is not None:
            return _fitting(owner, hook, value)
    return None


def counting(ctx: InvocationContext, hook: str) -> Callable[[Any], bool]:
    """Return what tells whether a callback's value ends its list.

    An error hook's empty mapping is a value even where that of other tool hooks is not.
    """
    truthy = ctx.profile.tool_hook_values == "truthy"
    return bool if truthy and hook in {"before_tool", "after_tool"} else _is_value


async def callback_value(
    ctx: InvocationContext,
    hook: str,
    callbacks: Iterable[Callable[..., object]],
    args: tuple[object, ...],
) -> Any:  # noqa: ANN401  # what the hook gives
    """Return the first value of an agent's callbacks that counts as one.

    If none does, it is what the last one gave: it ends no list, but is given all the
    same. An exception leaves as it is, with a note that names agent, hook and index.
    """
    value: Any = None
    counts = counting(ctx, hook)
    for index, function in enumerate(callbacks):
        owner = f"agent {ctx.agent.name!r}, callback {index}"
        try:
            value = await settled(function(*args))
        except Exception as error:
            error.add_note(f"{owner}, {hook}")
            raise
        if value is not None:
            _fitting(owner, hook, value)
        if counts(value):
            return value
    return value


def _is_value(value: object) -> bool:
    return value is not None


def _fitting(owner: str, hook: str, value: object) -> object:
    wanted = GIVES.get(hook)
    if wanted is not None and not isinstance(value, wanted):
        names = " or ".join(each.__name__ for each in wanted)
        raise CallbackReturnError(owner, hook, value, names)
    return value
