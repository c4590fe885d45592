"""Exploring interleavings: what a schedule decides, what is found, how it is told."""

import asyncio
import contextlib
from contextvars import ContextVar

import pytest

from refengine.testing.schedules import (
    HELD,
    CheckError,
    DeadlockError,
    EndlessError,
    ExploreArgumentError,
    InterleavingError,
    ProgramError,
    Schedule,
    StaleScheduleError,
    UnrepeatableError,
    UnseenError,
    explore,
    replay,
)
from refengine.testing.schedules import loop as scheduled_loop
from tests.test_docs import blocks, output_of

# A counter that two tasks count up. In asyncio's own order the quick one has written
# long before the slow one reads.


async def counted_by_two() -> int:
    """Return what two tasks have counted: 2, unless an update is lost."""
    count = 0

    async def slow() -> None:
        nonlocal count
        for _ in range(3):
            await asyncio.sleep(0)
        count += 1

    async def quick() -> None:
        nonlocal count
        read = count
        await asyncio.sleep(0)
        count = read + 1

    await asyncio.gather(slow(), quick())
    return count


def lost(count: int) -> str | None:
    return None if count == 2 else f"counted {count}, not 2"


def test_a_lost_update_that_asyncio_s_own_order_hides_is_found():
    own = explore(counted_by_two, check=lost, deviations=0, seeded=0)
    assert (own.failure, own.schedules) == (None, 1)

    explored = explore(counted_by_two, check=lost)

    assert explored.failure is not None
    assert explored.failure.what == "counted 1, not 2"
    assert explored.schedules == 8
    assert explored.complete == 0
    assert explored.failure.schedule == Schedule(((3, HELD),))


def test_a_failure_is_told_with_tasks_functions_and_lines_and_can_be_replayed():
    failure = explore(counted_by_two, check=lost).failure
    assert failure is not None
    first = counted_by_two.__code__.co_firstlineno

    slow, quick = (
        f"{name} (test_interleaving.py:{first + down})"
        for name, down in (("slow", 7), ("quick", 13))
    )
    assert str(failure).splitlines() == [
        "counted 1, not 2",
        "found by schedule 8, and shrunk to:",
        f"  1. task 2 at {quick} is held back, task 1 at {slow} goes on",
        "play it again: replay(program, Schedule(deviations=((3, -1),)))",
    ]
    assert replay(counted_by_two, failure.schedule) == 1
    with pytest.raises(InterleavingError, match="counted 1, not 2"):
        replay(counted_by_two, failure.schedule, check=lost)
    assert replay(counted_by_two, Schedule(), check=lost) == 2


def test_what_random_schedules_find_is_shrunk_to_one_deviation():
    explored = explore(counted_by_two, check=lost, deviations=0, seed=3)

    assert explored.failure is not None
    assert len(explored.failure.first.deviations) > 1
    assert len(explored.failure.schedule.deviations) == 1


def test_of_what_a_failure_is_shrunk_to_nothing_can_be_left_out():
    program, _ = steps_of(3, 3)

    def check(order: str) -> str | None:
        return order if order.startswith("ba") and order.endswith("ab") else None

    left_out = 0
    for seed in range(5):
        failure = explore(program, check=check, deviations=0, seed=seed).failure
        assert failure is not None
        kept = failure.schedule.deviations
        assert check(replay(program, failure.schedule))
        assert len(kept) >= 2
        left_out += len(failure.first.deviations) - len(kept)
        for each in kept:
            rest = Schedule(tuple(other for other in kept if other != each))
            with contextlib.suppress(StaleScheduleError):
                assert not check(replay(program, rest))
    assert left_out > 0


def test_a_task_that_has_not_begun_is_told_to_be_at_its_start():
    program, _ = steps_of(1, 1)
    failure = explore(program, check=lambda order: order if order == "ba" else None)

    assert "task 1 at the start of walk (" in str(failure.failure)


def test_verify_raises_what_was_found_and_why():
    async def failing() -> None:
        raise OSError("broken")

    with pytest.raises(InterleavingError, match="OSError: broken") as caught:
        explore(failing).verify()

    assert isinstance(caught.value.__cause__, OSError)
    explore(counted_by_two).verify()


# What a schedule decides


def steps_of(*lengths: int):
    """Return a program of tasks with so many steps, and where it puts their orders."""
    orders: list[str] = []

    async def program() -> str:
        order: list[str] = []

        async def walk(name: str, length: int) -> None:
            for _ in range(length - 1):
                order.append(name)
                await asyncio.sleep(0)
            order.append(name)

        walks = (walk("abc"[at], length) for at, length in enumerate(lengths))
        await asyncio.gather(*walks)
        orders.append("".join(order))
        return orders[-1]

    return program, orders


@pytest.mark.parametrize(
    ("lengths", "many"), [((2, 2), 6), ((3, 2), 10), ((2, 2, 1), 30), ((2, 2, 2), 90)]
)
def test_enough_deviations_play_every_order_that_there_is(lengths, many):
    program, orders = steps_of(*lengths)
    explore(program, deviations=5, limit=20_000, seeded=0)

    assert len(set(orders)) == many


def test_without_deviations_the_order_is_asyncio_s():
    program, orders = steps_of(3, 1, 2)
    explore(program, deviations=0, seeded=0)
    asyncio.run(program())

    assert orders[0] == orders[1] == "abcaca"


def test_one_that_goes_first_does_so_for_one_step():
    program, _ = steps_of(2, 2, 2)

    assert replay(program, Schedule()) == "abcabc"
    assert replay(program, Schedule(((0, 1),))) == "bacbac"


def test_one_that_is_held_back_waits_until_nothing_else_can_go_on():
    program, _ = steps_of(2, 2, 2)

    assert replay(program, Schedule(((0, HELD),))) == "bcbcaa"


def test_one_that_is_held_back_may_go_first_all_the_same():
    program, _ = steps_of(2, 2, 2)

    assert replay(program, Schedule(((0, HELD), (1, 2)))) == "bacbac"


@pytest.mark.parametrize("how", [{"seeded": 0}, {"deviations": 0}])
def test_the_same_seed_plays_the_same_schedules(how):
    def played(seed: int) -> list[str]:
        program, orders = steps_of(3, 3, 3)
        explore(program, limit=12, seed=seed, **how)
        return orders

    assert played(1) == played(1)
    assert played(1) != played(2)


def test_no_schedule_is_played_twice():
    program, _ = steps_of(1, 1)

    # asyncio's own, the second task first, the first one held back; then one is left
    assert explore(program).schedules == 3


def test_timers_due_together_are_ready_together_and_longer_ones_never_before():
    orders: set[str] = set()

    async def program() -> None:
        order: list[str] = []

        async def wait(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            order.append(name)

        await asyncio.gather(wait("a", 5), wait("b", 5), wait("c", 5.1))
        assert asyncio.get_running_loop().time() == pytest.approx(5.1)
        orders.add("".join(order))

    explore(program).verify()

    assert orders == {"abc", "bac"}


def test_sets_of_tasks_have_one_order():
    async def program() -> list[int]:
        order: list[int] = []

        async def cancelled(number: int) -> None:
            try:
                await asyncio.sleep(9)
            finally:
                order.append(number)

        tasks = {asyncio.create_task(cancelled(number)) for number in range(100)}
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return order

    assert replay(program, Schedule()) == list(range(100))


def test_a_program_starts_as_if_none_had_been_played():
    seen = ContextVar("seen", default=0)

    async def program() -> None:
        assert asyncio.get_running_loop().time() == 0
        assert seen.get() == 0
        seen.set(1)
        asyncio.create_task(asyncio.sleep(100), name="left over")  # noqa: RUF006  # it is meant to be left
        await asyncio.gather(asyncio.sleep(1), asyncio.sleep(1))

    assert explore(program).failure is None


def test_a_program_with_nothing_to_choose_is_played_once():
    async def program() -> None:
        await asyncio.sleep(1)

    explored = explore(program)

    assert (explored.schedules, explored.choice_points) == (1, 0)


def test_no_more_schedules_than_the_limit_and_the_seeded_are_played():
    program, orders = steps_of(4, 4, 4)
    explored = explore(program, limit=50, seeded=7)

    assert explored.schedules == 57
    assert len(orders) == 58  # asyncio's own order twice, to see that it stays the same
    assert explored.complete == 1


# What else is a failure


async def two_locks() -> None:
    first, second = asyncio.Lock(), asyncio.Lock()

    async def take(one: asyncio.Lock, other: asyncio.Lock, late: int) -> None:
        for _ in range(late):
            await asyncio.sleep(0)
        async with one:
            await asyncio.sleep(0)
            async with other:
                pass

    await asyncio.gather(take(first, second, 0), take(second, first, 9))


def test_a_deadlock_is_found_and_says_who_waits_where():
    assert replay(two_locks, Schedule()) is None

    failure = explore(two_locks).failure

    assert failure is not None
    assert isinstance(failure.error, DeadlockError)
    assert len(failure.error.waiting) == 3
    assert failure.error.waiting[1].startswith("task 1 at take (test_interleaving.py:")


def test_one_that_asks_again_and_again_does_not_hold_another_back_for_ever():
    async def program() -> None:
        task = asyncio.create_task(asyncio.sleep(0))
        while not task.done():  # noqa: ASYNC110  # as some do
            await asyncio.sleep(0)

    explore(program, limit=50, seeded=5).verify()


def test_what_never_ends_is_a_failure(monkeypatch):
    monkeypatch.setattr(scheduled_loop, "STEPS", 100)

    async def program() -> None:
        while True:  # noqa: ASYNC110  # it is meant to go on
            await asyncio.sleep(0)

    failure = explore(program).failure

    assert failure is not None
    assert isinstance(failure.error, EndlessError)


def test_an_error_of_a_task_that_nobody_waits_for_is_a_failure():
    async def failing() -> None:
        raise OSError("unseen")

    async def program() -> None:
        task = asyncio.create_task(failing(), name="writer")
        await asyncio.sleep(1)
        del task

    failure = explore(program).failure

    assert failure is not None
    assert isinstance(failure.error, UnseenError)
    assert failure.what.startswith(
        "UnseenError: 'writer' failed with OSError('unseen')"
    )


def test_an_error_of_a_callback_is_a_failure():
    async def program() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    failure = explore(program).failure

    assert failure is not None
    assert "ZeroDivisionError" in failure.what


def test_a_failing_assertion_of_the_check_is_a_failure():
    def check(count: int) -> None:
        assert count == 2, "an update was lost"

    failure = explore(counted_by_two, check=check).failure

    assert failure is not None
    assert failure.what.startswith("AssertionError: an update was lost")


def test_shrinking_does_not_go_from_one_failure_to_another():
    async def program() -> None:
        found: list[str] = []

        async def first() -> None:
            await asyncio.sleep(0)
            found.append("first")

        async def second() -> None:
            for _ in range(4):
                await asyncio.sleep(0)
            if not found:
                raise OSError
            found.append("second")

        async def third() -> None:
            for _ in range(8):
                await asyncio.sleep(0)
            if "second" not in found:
                raise ValueError

        await asyncio.gather(first(), second(), third())

    kinds = set()
    for seed in range(6):
        failure = explore(program, deviations=0, seed=seed).failure
        assert failure is not None
        assert len(failure.schedule.deviations) <= 2
        with pytest.raises(type(failure.error)):
            replay(program, failure.schedule)
        kinds.add(type(failure.error))
    assert kinds == {OSError, ValueError}


# What cannot be explored


def test_a_program_that_is_not_the_same_every_time_is_refused():
    left = []

    async def program() -> None:
        left.append(None)
        await asyncio.gather(*(asyncio.sleep(0) for _ in left))

    with pytest.raises(UnrepeatableError, match="does not do the same every time"):
        explore(program)


def test_a_schedule_that_does_not_fit_is_refused():
    with pytest.raises(StaleScheduleError, match=r"\[\(99, 1\)\] of Schedule"):
        replay(counted_by_two, Schedule(((99, 1),)))


@pytest.mark.parametrize("wrong", [True, False, "", 1])
def test_a_check_that_says_nothing_is_refused(wrong):
    with pytest.raises(CheckError, match=f"returned {wrong!r}"):
        explore(counted_by_two, check=lambda _: wrong)


@pytest.mark.parametrize(
    "wrong", [{"deviations": -1}, {"limit": 0}, {"limit": True}, {"seeded": 1.0}]
)
def test_a_search_that_there_is_none_of_is_refused(wrong):
    with pytest.raises(ExploreArgumentError, match=f"got {next(iter(wrong))}="):
        explore(counted_by_two, **wrong)


@pytest.mark.parametrize("make", [counted_by_two, lambda: int])
def test_what_makes_no_coroutine_is_refused(make):
    with pytest.raises(ProgramError):
        explore(make())


def test_a_running_loop_is_refused():
    async def inside() -> None:
        explore(counted_by_two)

    with pytest.raises(RuntimeError, match="from a running event loop"):
        asyncio.run(inside())


def test_the_page_on_concurrency_shows_what_its_example_prints() -> None:
    page = "docs/concurrency.md"
    shown = [code for language, code in blocks(page) if not language]

    assert shown == [output_of(page)]
