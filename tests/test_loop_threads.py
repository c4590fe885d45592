"""Threads that ask a loop on virtual time for something, and wait for it."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

import pytest

from refengine.testing import clock


class Asked:
    """Puts down what is asked of the loop, and when."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, float]] = []
        self.loop = asyncio.get_running_loop()

    async def slow(self, number: int, seconds: float) -> int:
        self.seen.append(("begins", number, self.loop.time()))
        await asyncio.sleep(seconds)
        self.seen.append(("ends", number, self.loop.time()))
        return number

    def from_thread(self, number: int, seconds: float) -> int:
        asked = asyncio.run_coroutine_threadsafe(self.slow(number, seconds), self.loop)
        return asked.result()


ALL_AT_ONCE = [
    *(("begins", 0, 0.0), ("begins", 1, 0.0), ("begins", 2, 0.0)),
    *(("ends", 2, 1.0), ("ends", 1, 2.0), ("ends", 0, 3.0)),
]


def test_threads_wait_for_their_loop_at_the_same_virtual_time() -> None:
    async def main() -> Any:
        asked = Asked()
        work = (asyncio.to_thread(asked.from_thread, at, 3 - at) for at in range(3))
        return await asyncio.gather(*work), asked.seen

    assert clock.run(main()) == ([0, 1, 2], ALL_AT_ONCE)


def test_a_thread_may_ask_for_what_asks_in_another_thread() -> None:
    async def main() -> Any:
        asked = Asked()

        async def deeper(left: int) -> int:
            return await asyncio.to_thread(work, left - 1)

        def work(left: int) -> int:
            if left == 0:
                return asked.from_thread(7, 1)
            return asyncio.run_coroutine_threadsafe(deeper(left), asked.loop).result()

        return await asyncio.to_thread(work, 40), asked.seen

    assert clock.run(main()) == (7, [("begins", 7, 0.0), ("ends", 7, 1.0)])


def test_what_a_thread_does_between_two_questions_takes_no_virtual_time() -> None:
    async def main() -> list[tuple[str, float]]:
        asked, seen = Asked(), []

        async def timer() -> None:
            await asyncio.sleep(5)
            seen.append(("timer", asked.loop.time()))

        def work() -> None:
            asked.from_thread(0, 1)
            for _ in range(200_000):
                pass
            asked.loop.call_soon_threadsafe(seen.append, ("told", 1.0))
            asked.from_thread(1, 1)
            asked.loop.call_soon_threadsafe(seen.append, ("told", 2.0))

        await asyncio.gather(asyncio.to_thread(work), timer())
        return seen

    assert clock.run(main()) == [("told", 1.0), ("told", 2.0), ("timer", 5.0)]


def test_what_was_asked_for_and_raised_is_raised_in_the_thread() -> None:
    async def fails() -> None:
        raise ZeroDivisionError

    async def main() -> None:
        loop = asyncio.get_running_loop()
        ask = asyncio.run_coroutine_threadsafe
        await asyncio.to_thread(lambda: ask(fails(), loop).result())

    with pytest.raises(ZeroDivisionError):
        clock.run(main())


def test_threads_of_an_engines_own_get_their_answers() -> None:
    async def main() -> Any:
        asked = Asked()

        def core() -> list[int]:
            with ThreadPoolExecutor() as pool:
                return list(pool.map(asked.from_thread, range(3), (3, 2, 1)))

        inside = await asyncio.to_thread(core)
        done: asyncio.Future[list[int]] = asked.loop.create_future()
        tell = asked.loop.call_soon_threadsafe
        threading.Thread(target=lambda: tell(done.set_result, core())).start()
        return inside, await done, len(asked.seen)

    assert clock.run(main()) == ([0, 1, 2], [0, 1, 2], 12)


@pytest.mark.parametrize(
    ("module", "is_here"), [("langsmith.run_helpers", True), ("langsmithy", False)]
)
def test_only_a_tracer_is_asked_without_a_thread(module: str, is_here: bool) -> None:
    def asked() -> int:
        return threading.get_ident()

    asked.__module__ = module

    async def main() -> int:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, partial(copy_context().run, asked))

    found = clock.run(main())

    assert (found == threading.get_ident()) == is_here


def test_what_a_tracer_raises_reaches_who_waits_for_it() -> None:
    def fails() -> None:
        raise ValueError("no run")

    fails.__module__ = "langsmith"

    async def main() -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, partial(copy_context().run, fails))

    with pytest.raises(ValueError, match="no run"):
        clock.run(main())
