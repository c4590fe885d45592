"""Threads of a loop on virtual time: either a thread works, or its loop does.

Else time would jump while a thread works, and what two threads do would come in any
order. A thread may ask its loop for something and wait for it, as engines do that run
their tools and hooks in threads:

    asyncio.run_coroutine_threadsafe(tool.invoke(ctx, arguments, {}), loop).result()

Then the loop goes on until that is there, and other threads may begin. Threads that an
engine starts itself may do so, too; but when those work nobody knows, so the loop gives
them a moment of real time before its own jumps, and their order is luck.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

T = TypeVar("T")

PATIENCE: Final = 5.0
"""Real seconds that a loop waits for a thread, which may wait for another one."""
MOMENT: Final = 0.01
"""Real seconds that a loop gives to threads of which it does not know."""
TRACER: Final = "langsmith"
"""Asks a thread for something before and after each call of a traced function."""


class Asking:
    """What asks a loop for something and waits for it there."""

    def __init__(self) -> None:
        self.asked: set[asyncio.Future[Any]] = set()

    def call(self, callback: Callable[..., object], *args: object) -> None:
        """Call back in the loop; the tasks that makes there are what was asked for."""
        loop = asyncio.get_running_loop()
        before = loop.get_task_factory()
        loop.set_task_factory(self._task)
        try:
            callback(*args)
        finally:
            loop.set_task_factory(before)

    def answered(self, task: asyncio.Future[Any]) -> None:
        """Note that it is there; whoever asked is told right after this."""
        self.asked.discard(task)

    def _task(self, loop: asyncio.AbstractEventLoop, coro: Any, **how: Any) -> Any:  # noqa: ANN401  # as asyncio has it
        task = asyncio.Task(coro, loop=loop, **how)
        self.asked.add(task)
        task.add_done_callback(self.answered)
        return task


class LoopThread(Asking):
    """One thread of a loop; it does one thing after another."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        # Named as asyncio names them: by that a side effect is laid to its session.
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="asyncio_")
        self._turn = threading.Event()
        self._made: Future[Any] | None = None
        self.ident: int | None = None

    @property
    def is_free(self) -> bool:
        """Whether it has nothing to do."""
        return self._made is None or self._made.done()

    @property
    def is_working(self) -> bool:
        """Whether it does something, and does not wait for its loop."""
        return not (self.is_free or self.asked)

    def run(self, func: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """Do it until it is done or waits for the loop; called in the loop."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._turn.clear()
        made = self._made = self._pool.submit(self._known, func, *args)
        made.add_done_callback(lambda _: self.give_way())
        self._turn.wait(PATIENCE)
        if made.done():
            _settle(done, made)
        else:
            tell = self._loop.call_soon_threadsafe
            made.add_done_callback(lambda _: tell(_settle, done, made))
        return done

    def give_way(self) -> None:
        """Let the loop go on: the thread has asked it for something, or is done."""
        self._turn.set()

    def answered(self, task: asyncio.Future[Any]) -> None:
        """Let the thread work as soon as it is told, and the loop wait meanwhile."""
        super().answered(task)
        if not self.asked:
            self._turn.clear()
            self._loop.call_soon(self._turn.wait, PATIENCE)

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()

    def _known(self, func: Callable[..., T], *args: object) -> T:
        self.ident = threading.get_ident()
        return func(*args)


class LoopThreads:
    """The threads of one loop, and what it knows of others that ask it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._home = threading.get_ident()
        self._own: list[LoopThread] = []
        self._stranger: Asking | None = None

    @property
    def used(self) -> bool:
        """Whether any thread had to do with the loop."""
        return bool(self._own) or self._stranger is not None

    @property
    def patience(self) -> float:
        """Real seconds that the loop has to wait for threads before time passes."""
        if self._stranger is not None:
            return MOMENT
        return PATIENCE if any(each.is_working for each in self._own) else 0

    def run(self, func: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """Do it in a thread that is free, until it is done or waits for the loop.

        What a tracer does beside a call, which is nothing where tracing is off, is done
        at once: to hand it over and back takes longer than the rest of a model call.
        """
        if _is_of_a_tracer(func):
            return _done_here(self._loop, func, *args)
        thread = next((each for each in self._own if each.is_free), None)
        if thread is None:
            thread = LoopThread(self._loop)
            self._own.append(thread)
        return thread.run(func, *args)

    def asking(self) -> Asking | None:
        """Return who asks the loop for something here; None for the loop itself."""
        here = threading.get_ident()
        if here == self._home:
            return None
        own = next((each for each in self._own if each.ident == here), None)
        if own is None and self._stranger is None:
            self._stranger = Asking()
        return own or self._stranger

    def give_way(self, asking: Asking) -> None:
        """Let the loop go on; any thread may be what another one waits for."""
        for each in self._own:
            if each is asking or asking is self._stranger:
                each.give_way()

    def close(self) -> None:
        """End them."""
        for each in self._own:
            each.close()


def _is_of_a_tracer(func: object) -> bool:
    """Tell whether what is called is langsmith's own, and in no user's words."""
    if not isinstance(func, partial):
        return False
    named = (getattr(each, "__module__", None) for each in func.args[:1])
    return any(str(each).partition(".")[0] == TRACER for each in named)


def _done_here(
    loop: asyncio.AbstractEventLoop, func: Callable[..., T], *args: object
) -> asyncio.Future[T]:
    done: asyncio.Future[T] = loop.create_future()
    try:
        done.set_result(func(*args))
    except Exception as error:  # noqa: BLE001  # whoever waits is to have it
        done.set_exception(error)
    return done


def _settle(done: asyncio.Future[T], made: Future[T]) -> None:
    """Tell who waits for it how it ended."""
    if done.cancelled():
        return
    error = made.exception()
    if error is None:
        done.set_result(made.result())
    else:
        done.set_exception(error)
