"""How a function is called: awaited or not, and from which depth of the stack.

10,000 wrappers around a tool are 20,000 nested frames, and Python allows about 1,000.
A task starts on a fresh stack, so the chain continues in one when little is left.
The measured depth decides and not the number of layers, because a wrapper may bring
any number of frames of its own and the caller may already stand deep.

Tried and not used: a higher recursion limit (process-wide, and 3.11 overflows the C
stack); a task a layer (a hop costs as much as 40 layers); counting layers (wrong by
whatever the wrappers and the caller add).
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar


def is_async(function: object) -> bool:
    """Tell whether calling it gives a coroutine, also through a callable object."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # its type matters
    )


async def settled(value: Any) -> Any:  # noqa: ANN401  # whatever a hook gave
    """Return the value, awaited if it has to be: pipeline hooks may be plain."""
    return await value if inspect.isawaitable(value) else value


T = TypeVar("T")

STRIDE: Final = 24
"""Every how many layers the depth is measured; walking the stack is not free."""

STREAM_STRIDE: Final = 12
"""The same for streams that wrap a stream: one takes three frames or more, not two, and
enough has to be left in an event loop that itself was started deep."""

DEEP: Final = 640
"""From this depth on a chain hops. The default limit of 1,000 leaves 360 frames, so 13
frames of its own for each of the layers until the next measurement."""


def is_deep() -> bool:
    """Tell whether the stack has grown past ``DEEP``; costs a walk of that length."""
    try:
        sys._getframe(DEEP)  # noqa: SLF001  # the one way to ask for depth, CPython's
    except ValueError:
        return False
    return True


def on_shallow_stack(call: Callable[[], Awaitable[T]]) -> Awaitable[T]:
    """Start ``call`` here, or in a new task if the stack is deep.

    A task copies the context variables, and cancelling the waiter cancels the task.
    """
    if not is_deep():
        return call()
    return asyncio.ensure_future(call())
