"""Virtual time for graphs: a loop with their clock, and pauses that cost none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, SupportsFloat, SupportsIndex, TypeVar

from refengine.testing.clock import Clock, VirtualLoop

T = TypeVar("T")


def run_on(clock: Clock, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a virtual loop, whose time is that of the session."""

    def loop() -> VirtualLoop:
        clock.loop = VirtualLoop()
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
