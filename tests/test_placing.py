"""Events count for what they tell of, however late their consumer takes them."""

import asyncio

import pytest

from compat.engines.capabilities import CAPABILITIES
from property_tests.checks import CHECKS
from property_tests.judging.world import judge
from property_tests.late import LateEngine
from property_tests.playing import VariantPlayer
from refengine.profile import SEED_001
from refengine.testing.doors import ReferenceEngine
from tests.deciding import decisions, scenario, worlds

CALLS = ("assistant:[c1:t({})]", "assistant:[c1:t({})]", "assistant:done")
LOOP = scenario({"tools": [{"name": "t", "result": "r"}]}, *CALLS)


class AheadEngine(ReferenceEngine):
    """Runs in a task of its own, and leaves its events in a queue."""

    async def build(self, config, on_notice):
        return AheadAgent(await super().build(config, on_notice))


class AheadAgent:
    def __init__(self, agent) -> None:
        self.agent = agent

    def run(self, *given, **how):
        return AheadRun(self.agent.run(*given, **how))


class AheadRun:
    """One run; ``dropped`` are the places of events that never come."""

    def __init__(self, run) -> None:
        self.run = run
        self.queue = asyncio.Queue()
        self.outcome = None

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        pass

    async def pump(self):
        async for event in self.run:
            self.queue.put_nowait(event)
        self.queue.put_nowait(None)

    async def __aiter__(self):
        pumping = asyncio.ensure_future(self.pump())
        while (event := await self.queue.get()) is not None:
            yield event
        await pumping
        self.outcome = self.run.outcome


CAPABLE = frozenset(CAPABILITIES) - {"lock_step", "cancellation"}
ON_TIME = {"STR-024", "STR-025"}
"""What a consumer that is late cannot say of its engine."""
ASKED = [e for e in CHECKS if e.applies(CAPABLE) and e.clause not in ON_TIME]
AHEAD = LateEngine(AheadEngine(SEED_001))


def check_of(clause):
    return next(each for each in CHECKS if each.clause == clause)


def test_every_event_of_an_engine_that_runs_ahead_is_in_its_iteration() -> None:
    played = VariantPlayer(AHEAD, SEED_001).case(LOOP).played
    [run] = played.runs
    first = run.events[0].seq

    last = run.iterations[-1].response
    assert last is not None
    assert first > last.seq
    told = [
        [e.data["kind"] for e in now.entries if e.kind == "event"]
        for now in run.iterations
    ]
    assert told == [["model", "tool"], ["model", "tool"], ["model"]]
    assert [len(now.calls["c1"].events) for now in run.iterations[:2]] == [1, 1]


@pytest.mark.parametrize(
    "family",
    [
        *("events", "concurrency", "direct", "order", "instruction", "errors"),
        *("streaming", "state"),  # streams that break, and models that are asked again
    ],
)
def test_an_engine_that_runs_ahead_is_right(family) -> None:
    player = VariantPlayer(AHEAD, SEED_001, CAPABLE)
    failed = {
        clause
        for world in worlds(family)
        if not (world.scenario.keeps or world.repeat)
        for clause in judge(player, world, ASKED).failed
    }

    assert failed == set()


@pytest.mark.parametrize(
    ("lost", "clause"), [(0, "EVT-001"), (2, "EVT-001"), (1, "EVT-004"), (3, "EVT-004")]
)
def test_an_event_that_an_engine_which_runs_ahead_loses_is_missed(lost, clause) -> None:
    class Losing(AheadRun):
        async def __aiter__(self):
            at = 0
            async for event in super().__aiter__():
                if at != lost:
                    yield event
                at += 1

    engine = AheadEngine(SEED_001)
    build = engine.build

    async def losing(config, on_notice):
        agent = await build(config, on_notice)
        agent.run = lambda *given, **how: Losing(agent.agent.run(*given, **how))
        return agent

    engine.build = losing
    found = decisions(check_of(clause), LOOP, LateEngine(engine))

    assert any(not each.holds for each in found)


def test_a_run_that_fails_is_told_behind_what_was_taken_late() -> None:
    failing = scenario({"tools": [{"name": "t"}]}, CALLS[0], {"error": "no model"})
    for clause in ("EVT-001", "EVT-004", "EVT-012"):
        found = decisions(check_of(clause), failing, AHEAD)
        assert found
        assert all(each.holds for each in found)
