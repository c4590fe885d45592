"""Leaving a run where it is: cancelled, or broken off by who consumes it.

Whatever interrupts the leaving itself, a second cancellation above all, stops what
waits at that moment and nothing else; it comes out when all is closed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from refengine.messages import History, Message, ToolCall

NOT_BEGUN: Final = "The run was cancelled before this call began."
NOT_ENDED: Final = "The run was cancelled before this call ended."
FAILED: Final = "This call failed, and then the run was cancelled."
"""What the model reads as the result of a call that has none, once a thread goes on."""


SEES_SWALLOWED: Final = sys.version_info >= (3, 13)
"""Whether a cancellation that somebody swallowed can be told from one of asyncio's own.
Before 3.13 a TaskGroup whose task fails cancels the task around it, and may leave it at
that: a tool that uses one would end the run, though nobody cancelled it."""


class Watch:
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
        self.had = 0

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


async def ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until all have ended, whatever they do about it."""
    came: asyncio.CancelledError | None = None
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            came = error
        left = {task for task in left if not task.done()}
    if came is not None:
        raise came


def result_of(call: ToolCall, why: str) -> Message:
    """Return what stands for the result of a call that has none."""
    return Message(
        "tool",
        why,
        tool_call_id=call.id,
        name=call.name,
        extra={"is_error": True},
    )


def answered(history: History) -> History:
    """Return the history with a result for each call of its last answer.

    Those that are missing are put after those that are there.
    """
    at = len(history) - 1
    while at >= 0 and history[at].role != "assistant":
        at -= 1
    if at < 0:
        return history
    end = at + 1
    while end < len(history) and history[end].role == "tool":
        end += 1
    done = {each.tool_call_id for each in history[at + 1 : end]}
    missing = [call for call in history[at].tool_calls if call.id not in done]
    results = [result_of(call, NOT_BEGUN) for call in missing]
    if end == len(history):
        return with_results(history, results)
    return History((*history[:end], *results, *history[end:]))


def with_results(history: History, results: Sequence[Message]) -> History:
    """Return the history with these results at its end."""
    for result in results:
        history = history.appended(result)
    return history
