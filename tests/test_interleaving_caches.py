"""Caches of tool results, explored: the seed's unsafe ones are found, others pass."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from property_tests.mutants import examples
from refengine.agent import Agent
from refengine.context import Context
from refengine.handlers import CacheHandler
from refengine.messages import Message
from refengine.testing.schedules import Explored, explore, replay
from refengine.tools import Endpoint, ToolCallInput, ToolCallResult
from tests.exploring import Asking, Slow
from tests.support import build, finish, tool_texts


class Cache:
    """What the caches here share: a name, and results by name and arguments."""

    name = "cache"

    def __init__(self) -> None:
        self.kept: dict[str, ToolCallResult] = {}

    @staticmethod
    def key(input: ToolCallInput) -> str:
        return f"{input.name}:{input.arguments}"


class Unsafe(Cache):
    """The wrong example of seed 001 §6.3, line by line."""

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        if (key := self.key(input)) in self.kept:
            return self.kept[key]
        result = await next(ctx, input)
        self.kept[key] = result
        return result


class LockedAsTheSeed(Cache):
    """The right example of seed 001 §6.3: one lock to read, and again one to write.

    It keeps Go's map whole. In asyncio a dict needs no lock for that, and the tool
    still runs between the two.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lock = asyncio.Lock()

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        key = self.key(input)
        async with self.lock:
            if key in self.kept:
                return self.kept[key]
        result = await next(ctx, input)
        async with self.lock:
            self.kept[key] = result
        return result


class Locked(LockedAsTheSeed):
    """One lock around looking, running and keeping; everybody gets a copy."""

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        key = self.key(input)
        async with self.lock:
            if key not in self.kept:
                self.kept[key] = await next(ctx, input)
            return replace(self.kept[key])


class LockedAndShared(LockedAsTheSeed):
    """One lock around everything, but one mutable result for everybody (§5.3)."""

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        key = self.key(input)
        async with self.lock:
            if key not in self.kept:
                self.kept[key] = await next(ctx, input)
            return self.kept[key]


class Stamp:
    """An outer handler that edits a result in place, as it may, after a wait."""

    name = "stamp"

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        result = await next(ctx, input)
        await asyncio.sleep(0)
        result.result += "!"
        return result


@dataclass(frozen=True)
class Seen:
    executed: dict[str, int]
    texts: tuple[str, ...]


def wrong(seen: Seen) -> str | None:
    """Return what is wrong unless each tool ran once and nobody saw another's edit."""
    for arguments, times in seen.executed.items():
        if times > 1:
            return f"the tool was executed {times} times for {arguments!r}"
    edited = [text for text in seen.texts if "!!" in text]
    return f"edited by another: {edited[0]!r}" if edited else None


def calls_at_once(cache: Callable[[], object], *outer: object):
    """Return a program: one run, whose model makes two equal calls in one message."""

    async def program() -> Seen:
        tool = Slow()
        agent = await build(*outer, cache(), model=Asking("x", "x"), tools=[tool])
        return Seen(tool.executed, tuple(tool_texts(await finish(agent))))

    return program


def runs_at_once(cache: Callable[[], object], *outer: object, agents: int = 1):
    """Return a program: two runs at once that make the same call, the second late."""

    async def program() -> Seen:
        tools = [Slow() for _ in range(agents)]
        made = [
            await build(*outer, cache(), model=Asking("x"), tools=[tool])
            for tool in tools
        ]
        first, second = made[0], made[-1]
        results = await asyncio.gather(run(first, "now"), run(second, "late"))
        most = Counter({"x": max(tool.executed["x"] for tool in tools)})
        return Seen(most, tuple(text for each in results for text in each))

    async def run(agent: Agent, when: str) -> list[str]:
        return tool_texts(await finish(agent, [Message("user", when)]))

    return program


def found(explored: Explored) -> tuple[str, int, int]:
    """Return what was found, by which schedule, and with how many deviations."""
    assert explored.failure is not None
    failure = explored.failure
    return failure.what, failure.after, len(failure.schedule.deviations)


TWICE = "the tool was executed 2 times for 'x'"
TWICE_RUN = [Unsafe, LockedAsTheSeed, examples._cache_of_copies]
EDITED = "edited by another: 'x 1!!'"


@pytest.mark.parametrize("cache", TWICE_RUN)
def test_two_calls_of_one_message_run_twice_with_the_seed_s_caches(cache):
    explored = explore(calls_at_once(cache), check=wrong)

    assert found(explored) == (TWICE, 1, 0)


@pytest.mark.parametrize("cache", TWICE_RUN)
def test_two_runs_that_hardly_meet_run_twice_in_another_order_only(cache):
    program = runs_at_once(cache)
    assert wrong(asyncio.run(program())) is None

    explored = explore(program, check=wrong)

    what, after, deviations = found(explored)
    assert (what, deviations) == (TWICE, 1)
    assert 1 < after <= 30
    assert explored.failure is not None
    assert wrong(replay(program, explored.failure.schedule)) == TWICE


@pytest.mark.parametrize("cache", [Unsafe, LockedAndShared, examples._cache_example])
def test_a_result_that_one_run_edits_is_seen_by_another(cache):
    explored = explore(runs_at_once(cache, Stamp()), check=wrong)

    assert found(explored)[0] == EDITED


@pytest.mark.parametrize("outer", [[], [Stamp()]], ids=["", "edited"])
@pytest.mark.parametrize("cache", [Locked, CacheHandler])
@pytest.mark.parametrize("program", [calls_at_once, runs_at_once])
def test_a_safe_cache_passes_every_schedule_within_the_bound(program, cache, outer):
    explored = explore(program(cache, *outer), check=wrong, limit=300)

    explored.verify()
    assert explored.complete is not None
    assert explored.complete >= 1
    assert explored.schedules > 30


def test_one_unsafe_cache_for_each_agent_is_safe_between_agents_but_not_within():
    explore(runs_at_once(Unsafe, agents=2), check=wrong, limit=300).verify()

    assert found(explore(calls_at_once(Unsafe), check=wrong))[0] == TWICE
