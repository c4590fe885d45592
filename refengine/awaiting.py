"""How the engine waits: for what, from which depth of the stack, and when to stop.

10,000 wrappers around a tool are 20,000 nested frames, and Python allows about 1,000.
A task starts on a fresh stack, so the chain continues in one when little is left.
The measured depth decides and not the number of layers, because a wrapper may bring
any number of frames of its own and the caller may already stand deep.

Tried and not used: a higher recursion limit (process-wide, and 3.11 overflows the C
stack); a task a layer (a hop costs as much as 40 layers); counting layers (wrong by
whatever the wrappers and the caller add).

A run may be left where it is: cancelled, or broken off by who consumes it. Whatever
interrupts the leaving itself, a second cancellation above all, stops what waits at that
moment and nothing else; it comes out when all is closed.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable
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


SEES_SWALLOWED: Final = sys.version_info >= (3, 13)
"""Whether a cancellation that somebody swallowed can be told from one of asyncio's own.
Before 3.13 a TaskGroup whose task fails cancels the task around it, and may leave it at
that: a tool that uses one would end the run, though nobody cancelled it."""


class CancellationWatch:
    """Knows whether the task that asked for the next event was cancelled since.

    Hooks, wrappers and tools are anybody's code, and may swallow a CancelledError. The
    task still counts it, until ``uncancel`` is called, which is how asyncio's own
    time-outs say that a cancellation was theirs. Where several tasks ask for events of
    one run, it is the one that asked first, or that closes the run.
    """

    __slots__ = ("count", "had")

    def __init__(self) -> None:
        self.count: Callable[[], int] = _never
        """How often it was cancelled; its own method, because every event asks."""
        self.had: int = 0

    def begin(self) -> None:
        """Watch the task that runs now, from now on."""
        task = asyncio.current_task()
        if task is not None:
            self.count = task.cancelling
        self.had = self.count()

    @property
    def cancelled(self) -> bool:
        """Whether the task was cancelled since, even if that was swallowed."""
        return self.count() > self.had

    async def come_out(self) -> None:
        """Raise CancelledError if the task was cancelled; returns if not after all."""
        await asyncio.sleep(0)  # one that is still to be delivered comes here
        if not SEES_SWALLOWED:
            self.had = self.count()
        if self.cancelled:
            raise asyncio.CancelledError


def _never() -> int:
    return 0


async def in_turn(closings: Iterable[Callable[[], Awaitable[object]]]) -> None:
    """Do them all, one after the other; raise what came instead of an end.

    An error is nobody's any more; only a cancellation, and its like, is raised.
    """
    came: BaseException | None = None
    for close in closings:
        try:
            await close()
        except Exception:  # noqa: BLE001, S110  # what fails to close has no reader left
            pass
        except BaseException as error:  # noqa: BLE001  # raised below
            came = came or error
    if came is not None:
        raise came


async def ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, in order, and wait until all have ended, whatever they do."""
    came: asyncio.CancelledError | None = None
    left = [task for task in tasks if not task.done()]
    while left:
        for task in left:
            task.cancel()
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            came = error
        left = [task for task in left if not task.done()]
    if came is not None:
        raise came
