"""A clock that jumps: waiting costs no time and always ends in the same order.

``run`` plays a coroutine on an event loop whose time advances only when nothing is
ready, straight to the next timer. asyncio's own sleeps and time-outs obey it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

T = TypeVar("T")


class _Jump(selectors.DefaultSelector):
    """Never waits: where the loop would, its clock is moved instead."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout is None:
            # Without a timer only a real file descriptor can end the wait.
            return ready or super().select(timeout)
        self._loop.jump(timeout)
        return ready


RESOLUTION: Final = 1e-6
"""Seconds: timers closer than that are due together, even after centuries."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, which starts at 0 seconds."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jump(self))
        # asyncio's nanosecond is less than what a float of half a year can tell apart:
        # a timer that is due would never be, and the loop would spin for ever.
        self._clock_resolution = RESOLUTION
        self._thread: ThreadPoolExecutor | None = None

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def jump(self, seconds: float) -> None:
        """Move the clock forward."""
        self._now += max(seconds, 0.0)

    def run_in_executor(
        self,
        executor: object,  # noqa: ARG002  # as BaseEventLoop
        func: Callable[..., T],
        *args: object,
    ) -> asyncio.Future[T]:
        """Run it in a thread and wait, whatever executor was asked for.

        Else virtual time would jump while a thread works, and two threads would come in
        any order. It is another thread because plain code may start a loop of its own.
        """
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1)
        done: asyncio.Future[T] = self.create_future()
        made = self._thread.submit(func, *args)
        error = made.exception()
        if error is None:
            done.set_result(made.result())
        else:
            done.set_exception(error)
        return done

    def close(self) -> None:
        """Close the loop and end its thread."""
        if self._thread is not None:
            self._thread.shutdown()
        super().close()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on virtual time, as ``asyncio.run`` would."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


class Clock:
    """The time of one session: that of its event loop, or its own where there is none.

    What a framework runs in other threads has no running loop to ask.
    """

    def __init__(self) -> None:
        self.loop: VirtualLoop | None = None
        self._now = 0.0

    def now(self) -> float:
        """Return the virtual time in seconds."""
        if self.loop is not None:
            return self.loop.time()
        running = asyncio._get_running_loop()  # noqa: SLF001  # None, and no exception
        return self._now if running is None else running.time()

    def sleep(self, seconds: float) -> None:
        """Wait without waiting: move the time forward."""
        if self.loop is not None:
            self.loop.jump(seconds)
        else:
            self._now += max(seconds, 0.0)


class Ids:
    """Ids that are the same in every run: ``prefix-1``, then ``prefix-2``."""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._last = 0

    def __call__(self) -> str:
        """Return the next id."""
        self._last += 1
        return f"{self._prefix}-{self._last}"
