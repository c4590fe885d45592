"""A clock that jumps: waiting costs no time and always ends in the same order.

``run`` plays a coroutine on an event loop whose time advances only when nothing is
ready, straight to the next timer. asyncio's own sleeps and time-outs obey it.
"""

from __future__ import annotations

import asyncio
import selectors
import time
import weakref
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Context
from typing import (
    Any,
    Final,
    Protocol,
    SupportsFloat,
    SupportsIndex,
    TypeVar,
    TypeVarTuple,
)

from refengine.testing.loop_threads import LoopThreads

T = TypeVar("T")
Args = TypeVarTuple("Args")


POLLED: Final = 256
"""Passes of a loop that has work after which it looks at what came from outside."""


class Outside(Protocol):
    """Another process that plays a part in what a loop runs, and works in real time.

    The loop listens to it when it has nothing to do, so that what comes, comes in the
    same order each time; and its clock stands still until the other side has settled.
    """

    patience: float
    """Real seconds in which something has to come when the loop waits for it."""
    file: int
    """The descriptor of what it says, which is registered with the loop."""

    def hear(self) -> None:
        """Take what it has said."""
        ...

    def speak(self) -> None:
        """Say what it was told since it was last heard."""
        ...

    def has_settled(self) -> bool:
        """Tell whether nothing will come before time moves; if not, ask for that."""
        ...

    def give_up(self) -> None:
        """Let all that waits for it fail: nothing came."""
        ...


class _Jump(selectors.DefaultSelector):
    """Never waits: where the loop would, its clock is moved instead."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self.files = 0
        self._passes = 0

    def register(
        self,
        fileobj: Any,  # noqa: ANN401  # as selectors has it, whose type has no name
        events: int,
        data: Any = None,  # noqa: ANN401  # as selectors has it
    ) -> selectors.SelectorKey:
        """Watch a file, and count it."""
        key = super().register(fileobj, events, data)
        self.files += 1
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401  # as register
        """Watch a file no longer."""
        key = super().unregister(fileobj)
        self.files -= 1
        return key

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0 and self.files == 1 and not self._loop.has_signals:
            # The one file only wakes a loop that waits, and this one has work to do.
            return []
        outside = self._loop.outside
        if outside is not None and _is_heard(outside, timeout):
            return self._heard(outside, timeout)
        ready = super().select(self._loop.threads.patience if timeout else 0)
        if ready or timeout is None:
            # Without a timer only a real file descriptor can end the wait.
            return ready or super().select(timeout)
        self._loop.jump(timeout)
        return ready

    def _heard(
        self, outside: Outside, timeout: float | None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0:  # there is work to do: listen later, but not never
            self._passes += 1
            return [] if self._passes % POLLED else super().select(0)
        outside.speak()
        ready = super().select(outside.patience)
        if not ready:
            outside.give_up()
        # Heard here, it costs no pass of the loop.
        others = [each for each in ready if each[0].fd != outside.file]
        if len(others) < len(ready):
            outside.hear()
        return others


def _is_heard(outside: Outside, timeout: float | None) -> bool:
    """Tell whether a loop listens to it, and does not move its clock."""
    return not timeout or not outside.has_settled()


RESOLUTION: Final = 1e-6
"""Seconds: timers closer than that are due together, even after centuries."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, which starts at 0 seconds."""

    def __init__(self) -> None:
        self._now = 0.0
        self._jump = _Jump(self)
        super().__init__(self._jump)
        # asyncio's nanosecond is less than what a float of half a year can tell apart:
        # a timer that is due would never be, and the loop would spin for ever.
        self._clock_resolution = RESOLUTION
        self.threads: LoopThreads = LoopThreads(self)
        self.has_signals: bool = False
        self.outside: Outside | None = None

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def jump(self, seconds: float) -> None:
        """Move the clock forward."""
        self._now += max(seconds, 0.0)

    def add_signal_handler(
        self, sig: int, callback: Callable[[*Args], object], *args: *Args
    ) -> None:
        """Handle a signal; it comes by the loop's own file, which is read from now."""
        self.has_signals = True
        super().add_signal_handler(sig, callback, *args)

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left in it of what ran: it is as a new one, but later.

        No task and no generator that waits, no timer, file, signal or thread, and
        nothing that was set for all that it runs.
        """
        generators = _own(self, "asyncgens")
        left = (
            *(_own(self, "ready"), _own(self, "scheduled")),
            *(self.threads.used, _own(self, "default_executor"), self.has_signals),
            *(self.get_exception_handler(), self.get_task_factory()),
            any(each.ag_frame is not None for each in generators),
            self._jump.files - 1,  # its own, by which threads wake it
        )
        return not (any(left) or self.is_closed() or asyncio.all_tasks(self))

    def rewind(self) -> None:
        """Begin again at 0 seconds."""
        self._now = 0.0

    def run_in_executor(
        self,
        executor: object,  # noqa: ARG002  # as BaseEventLoop
        func: Callable[..., T],
        *args: object,
    ) -> asyncio.Future[T]:
        """Run it in a thread, and wait until it is done or waits for this loop.

        Whatever executor was asked for: see ``loop_threads``. It is another thread
        because plain code may start a loop of its own.
        """
        return self.threads.run(func, *args)

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Args], object],
        *args: *Args,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Call back in this loop; a thread may wait for what that begins."""
        asking = self.threads.asking()
        if asking is None:
            return super().call_soon_threadsafe(callback, *args, context=context)
        call = super().call_soon_threadsafe
        handle = call(asking.call, callback, *args, context=context)
        self.threads.give_way(asking)
        return handle

    def close(self) -> None:
        """Close the loop and end its threads."""
        self.threads.close()
        super().close()


def _own(loop: asyncio.AbstractEventLoop, name: str) -> Any:  # noqa: ANN401  # asyncio's
    """Return what asyncio's loop keeps to itself under that name."""
    return getattr(loop, f"_{name}")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on virtual time, as ``asyncio.run`` would."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


class Loops:
    """Runs coroutines one after the other, each as ``run`` would.

    To make a loop costs as much as half of a short session. So one that was left clean
    is used again, from 0 seconds and in a context of its own; in which something is
    left, a task that waits or a timer, is closed as ever, and nobody sees it again.
    """

    def __init__(self) -> None:
        self._kept: list[VirtualLoop] = []
        weakref.finalize(self, _close_all, self._kept)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end on virtual time.

        Raises RuntimeError within a running loop.
        """
        if asyncio._get_running_loop() is not None:  # noqa: SLF001  # None, and no exception
            main.close()
            raise RuntimeError("a session cannot be run from a running event loop")
        loop = self._kept.pop() if self._kept else VirtualLoop()
        try:
            return loop.run_until_complete(main)
        finally:
            if loop.is_clean:
                loop.rewind()
                self._kept.append(loop)
            else:
                with asyncio.Runner(loop_factory=lambda: loop):
                    pass  # it cancels what waits, and closes the loop


def _close_all(loops: list[VirtualLoop]) -> None:
    for each in loops:
        each.close()


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


def jump(seconds: float) -> None:
    """Move the time of the session that runs here forward, if there is one."""
    loop = asyncio._get_running_loop()  # noqa: SLF001  # None, and no exception
    if isinstance(loop, VirtualLoop):
        loop.jump(seconds)


@contextmanager
def no_waiting(move: Callable[[float], object]) -> Generator[None, None, None]:
    """Have ``time.sleep`` move a clock: what retries with a pause costs no time."""
    slept = time.sleep

    def sleep(seconds: SupportsFloat | SupportsIndex) -> None:
        move(float(seconds))

    time.sleep = sleep
    try:
        yield
    finally:
        time.sleep = slept


def forward_sleeping() -> None:
    """Have whoever imports ``sleep`` by its name wait as ``time.sleep`` then does."""
    really = time.sleep

    def sleep(seconds: SupportsFloat | SupportsIndex) -> None:
        now = time.sleep
        (really if now is sleep else now)(float(seconds))

    time.sleep = sleep


class Ids:
    """Ids that are the same in every run: ``prefix-1``, then ``prefix-2``."""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self.last: int = 0

    def __call__(self) -> str:
        """Return the next id."""
        self.last += 1
        return f"{self._prefix}-{self.last}"
