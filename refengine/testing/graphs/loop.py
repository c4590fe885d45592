"""An event loop and a clock on which a framework's own threads change no result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, SupportsFloat, SupportsIndex, TypeVar

from refengine.testing.clock import Clock, VirtualLoop

T = TypeVar("T")


class OneThingLoop(VirtualLoop):
    """A virtual loop that waits for what it gives to a thread.

    Else virtual time would jump while a thread works, and two threads would come in any
    order. The thread is another one because plain code may start a loop of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._thread = ThreadPoolExecutor(1)

    def run_in_executor(
        self,
        executor: object,  # noqa: ARG002  # as BaseEventLoop
        func: Callable[..., T],
        *args: object,
    ) -> asyncio.Future[T]:
        """Run it now, whatever executor was asked for."""
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
        self._thread.shutdown()
        super().close()


def run_on(clock: Clock, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on such a loop, whose time is that of the session."""

    def loop() -> OneThingLoop:
        clock.loop = OneThingLoop()
        return clock.loop

    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(main)
    finally:
        clock.loop = None


@contextmanager
def no_waiting(clock: Clock) -> Generator[None, None, None]:
    """Have ``time.sleep`` move the clock: what retries with a pause costs no time."""
    slept = time.sleep

    def sleep(seconds: SupportsFloat | SupportsIndex) -> None:
        clock.sleep(float(seconds))

    time.sleep = sleep
    try:
        yield
    finally:
        time.sleep = slept
