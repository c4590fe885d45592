"""Each hook by itself: which time is its own. The clock is moved by the hooks alone."""

import asyncio
from dataclasses import dataclass
from functools import partial

import pytest

from benchmarks import measure, probes
from benchmarks.parts import SharedParts
from benchmarks.probes import HookProbes, probed
from benchmarks.rows import hook_costs
from benchmarks.specs import Effort, Setting, SideSpec
from benchmarks.subject import NO_HOOK, Subjects
from refengine import AgentMiddleware, ToolCallResult, ToolMiddleware

EFFORT = Effort(sets=3, rounds=2, seconds=1.0)
SIDE = SideSpec("subject", Setting(NO_HOOK, n=1))
MODEL, TOOL = "wrap_model_call", "wrap_invokable_tool_call"


class Virtual:
    """A clock that stands still but for the work that handlers say they do."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def work(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Virtual()
    monkeypatch.setattr(probes, "perf_counter", made)
    return made


def spent(monkeypatch, clock, *extensions, stream=False):
    """Return (calls, own seconds of one call) of every hook, by handler and hook."""

    async def once(*_):
        return 1

    monkeypatch.setattr(probes, "repeats", once)
    subjects = Subjects({"subject": ("mine", lambda world: [*extensions])})
    side = SideSpec("subject", Setting(NO_HOOK, n=1, stream=stream))
    rows, never = hook_costs(asyncio.run(probed(subjects, side, EFFORT)))
    found = {(row.handler, row.hook): row for row in rows}
    assert all(row.seconds.low == row.seconds.high for row in found.values())
    told = {key: (row.calls, round(row.seconds.value, 9)) for key, row in found.items()}
    return {**told, **dict.fromkeys(never)}


@pytest.fixture
def own(monkeypatch, clock):
    return partial(spent, monkeypatch, clock)


class Around:
    """Works before and after what it wraps."""

    def __init__(self, name, clock, before=1.0, after=2.0):
        self.name = name
        self._clock = clock
        self._before = before
        self._after = after

    async def wrap_model_call(self, ctx, request, next):
        return await self._around(ctx, request, next)

    async def wrap_invokable_tool_call(self, ctx, input, next):
        return await self._around(ctx, input, next)

    async def _around(self, ctx, value, next):
        self._clock.work(self._before)
        try:
            return await next(ctx, value)
        finally:
            self._clock.work(self._after)


class TestWrapper:
    def test_has_its_own_time_without_that_of_next(self, own, clock):
        found = own(Around("a", clock), Around("b", clock, 30.0, 40.0))

        assert found == {
            ("handlers[0] a", MODEL): (2, 3.0),
            ("handlers[0] a", TOOL): (1, 3.0),
            ("handlers[1] b", MODEL): (2, 70.0),
            ("handlers[1] b", TOOL): (1, 70.0),
        }

    def test_that_calls_next_twice_has_the_time_of_neither(self, own, clock):
        class Retrying:
            name = "retrying"

            async def wrap_invokable_tool_call(self, ctx, input, next):
                clock.work(1.0)
                await next(ctx, input)
                clock.work(1.0)
                return await next(ctx, input)

        found = own(Retrying(), Around("b", clock))

        assert found["handlers[0] retrying", TOOL] == (1, 2.0)
        assert found["handlers[1] b", TOOL] == (2, 3.0)

    def test_that_catches_what_next_raises_has_its_own_time(self, own, clock):
        class Catching:
            name = "catching"

            async def wrap_invokable_tool_call(self, ctx, input, next):
                clock.work(5.0)
                try:
                    return await next(ctx, input)
                except ValueError as error:
                    return ToolCallResult(str(error))

        class Failing:
            name = "failing"

            async def wrap_invokable_tool_call(self, ctx, input, next):
                clock.work(7.0)
                raise ValueError("no")

        found = own(Catching(), Failing())

        assert found["handlers[0] catching", TOOL] == (1, 5.0)
        assert found["handlers[1] failing", TOOL] == (1, 7.0)


class TestPipelineHook:
    def test_has_its_time_plain_or_async(self, own, clock):
        class Both:
            name = "both"

            def before_model_rewrite_history(self, ctx, messages):
                clock.work(1.0)
                return ctx, messages

            async def after_model_rewrite_history(self, ctx, messages):
                clock.work(2.0)
                return ctx, messages

            def after_agent(self, ctx, messages):
                clock.work(3.0)
                return ctx

        assert own(Both()) == {
            ("handlers[0] both", "before_model_rewrite_history"): (2, 1.0),
            ("handlers[0] both", "after_model_rewrite_history"): (2, 2.0),
            ("handlers[0] both", "after_agent"): (1, 3.0),
        }

    def test_that_is_plain_and_gives_something_to_await_has_that_time_too(
        self, own, clock
    ):
        class Late:
            name = "late"

            def after_agent(self, ctx, messages):
                clock.work(1.0)
                return self._later(ctx)

            async def _later(self, ctx):
                clock.work(2.0)
                return ctx

        assert own(Late()) == {("handlers[0] late", "after_agent"): (1, 3.0)}

    def test_that_acts_when_the_agent_is_built_was_not_called(self, own, clock):
        class Building:
            name = "building"

            def modify_instruction(self, ctx, instruction):
                clock.work(9.0)
                return instruction

            def modify_tools(self, ctx, tools):
                clock.work(9.0)
                return tools

            def pre_process_message_state(self, ctx, messages):
                clock.work(1.0)
                return messages

        assert own(Building()) == {
            ("handlers[0] building", "pre_process_message_state"): (2, 1.0),
            "handlers[0] building modify_instruction": None,
            "handlers[0] building modify_tools": None,
        }

    def test_that_works_in_some_calls_only_has_their_mean(self, own, clock):
        class Every:
            name = "every"
            calls = 0

            def before_model_rewrite_history(self, ctx, messages):
                self.calls += 1
                clock.work(4.0 if self.calls % 2 else 0.0)
                return ctx, messages

        found = own(Every())

        assert found == {
            ("handlers[0] every", "before_model_rewrite_history"): (2, 2.0)
        }


class TestLowLevel:
    def layer(self, clock, inner, seconds):
        async def call(ctx, value):
            clock.work(seconds)
            return await inner(ctx, value)

        return call

    def test_bind_tool_has_the_time_of_what_it_makes(self, own, clock):
        layer = self.layer

        class Low:
            name = "low"

            def bind_tool(self, info, endpoint, kind):
                return layer(clock, endpoint, 6.0)

        found = own(Low(), Around("b", clock))

        assert found["handlers[0] low", "bind_tool"] == (1, 6.0)
        assert found["handlers[1] b", TOOL] == (1, 3.0)

    def test_a_struct_factory_has_the_time_of_what_it_makes(self, own, clock):
        wrap = ToolMiddleware(invokable=lambda inner: self.layer(clock, inner, 6.0))
        found = own(AgentMiddleware(wrap_tool_call=wrap))

        assert found == {("middlewares[0]", "wrap_tool_call.invokable"): (1, 6.0)}

    def test_a_factory_that_hands_back_what_it_was_given_adds_no_layer(self):
        wrap = HookProbes().factory("a", "b", lambda inner: inner)

        assert wrap(len) is len

    def test_a_factory_may_make_a_plain_function(self, own, clock):
        def called(later, ctx, value):
            return later(ctx, value)

        def plain(inner):
            return partial(called, self.layer(clock, inner, 6.0))

        found = own(AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable=plain)))

        assert found == {("middlewares[0]", "wrap_tool_call.invokable"): (1, 6.0)}

    def test_callbacks_of_a_struct_have_their_time(self, own, clock):
        async def before(ctx, state):
            clock.work(1.0)

        async def after(ctx, state):
            clock.work(2.0)

        struct = AgentMiddleware(before_chat_model=before, after_chat_model=after)

        assert own(struct) == {
            ("middlewares[0]", "before_chat_model"): (2, 1.0),
            ("middlewares[0]", "after_chat_model"): (2, 2.0),
        }


class TestOddHandlers:
    def test_structs_and_handlers_are_told_apart_by_their_places(self, own, clock):
        async def before(ctx, state):
            clock.work(1.0)

        struct = AgentMiddleware(before_chat_model=before)
        found = own(Around("a", clock), struct, Around("a", clock, 0.0, 5.0))

        assert found["middlewares[0]", "before_chat_model"] == (2, 1.0)
        assert found["handlers[0] a", TOOL] == (1, 3.0)
        assert found["handlers[1] a", TOOL] == (1, 5.0)

    def test_a_handler_with_slots_is_measured(self, own, clock):
        class Slotted:
            __slots__ = ("name",)

            def __init__(self):
                self.name = "slotted"

            def after_agent(self, ctx, messages):
                clock.work(1.0)
                return ctx

        assert own(Slotted()) == {("handlers[0] slotted", "after_agent"): (1, 1.0)}

    def test_a_frozen_dataclass_is_measured(self, own, clock):
        @dataclass(frozen=True, slots=True)
        class Frozen:
            name: str = "frozen"

            def after_agent(self, ctx, messages):
                clock.work(1.0)
                return ctx

        assert own(Frozen()) == {("handlers[0] frozen", "after_agent"): (1, 1.0)}

    def test_hooks_that_a_handler_does_not_declare_are_not_measured(self, own, clock):
        class Declaring:
            name = "declaring"
            hooks = frozenset({"after_agent"})

            def after_agent(self, ctx, messages):
                clock.work(1.0)
                return ctx

            def before_model_rewrite_history(self, ctx, messages):
                raise AssertionError

        assert own(Declaring()) == {("handlers[0] declaring", "after_agent"): (1, 1.0)}

    def test_a_streamed_run_is_measured(self, own, clock):
        found = own(Around("a", clock), stream=True)

        assert found["handlers[0] a", MODEL] == (2, 3.0)

    def test_two_hundred_handlers_have_a_row_each(self, own, clock):
        many = [Around(f"h{at}", clock) for at in range(200)]
        found = own(*many)

        assert set(found.values()) == {(2, 3.0), (1, 3.0)}
        assert len(found) == 400


class TestSampling:
    def test_repeats_until_a_sample_is_long_enough(self, monkeypatch, clock):
        class Working:
            name = "working"
            runs = 0

            def after_agent(self, ctx, messages):
                self.runs += 1
                clock.work(0.25)
                return ctx

        handler = Working()
        monkeypatch.setattr(measure, "CLOCK", clock)
        subjects = Subjects({"subject": ("mine", lambda world: [handler])})
        asyncio.run(probed(subjects, SIDE, EFFORT))
        # A set-up: 1, 4 to find out that 4 are a second; two rounds of them.
        assert handler.runs == EFFORT.sets * (1 + 4 + 2 * 4)


class TestQuietWorld:
    def test_forgets_effects(self):
        worlds = []

        def subject(world):
            world.effect("an effect", {"of": "a subject"})
            worlds.append(world)
            return [AgentMiddleware(additional_instruction="x")]

        Subjects({"subject": ("mine", subject)}).extensions(SIDE, SharedParts())

        assert [world.recorder.last("effect") for world in worlds] == [None]
