"""A second engine is conformant in what it declares, and what breaks it is seen."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from property_tests.checks import CHECKS
from property_tests.judging.inputs import make_corpus
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from refengine.messages import Message
from refengine.profile import SEED_001
from refengine.run import RunResult
from tests.engines.second import Agent, Run, Second


class LastToolFirst(Agent):
    def folded(self, tools):
        return super().folded(tools)[::-1]


class FirstToolCounts(Agent):
    def folded(self, tools):
        return super().folded([*tools][::-1])[::-1]


class ConfigurationLost(Agent):
    async def configured(self, who, hook, edited):
        before = edited.instruction
        ctx = await super().configured(who, hook, edited)
        edited.instruction = before
        return ctx


class InstructionLost(Run):
    def __init__(self, *given):
        super().__init__(*given)
        self.history, self.first = (
            [m for m in self.history if m is not self.first],
            None,
        )


class OneMore(Run):
    def goes_on(self):
        most = self.agent.config.max_iterations
        if self.asked == most + 1:
            self.status = "max_iterations"
        else:
            self.asked += 1
        return not self.status


class CountedFromZero(Run):
    def goes_on(self):
        return super().goes_on()

    async def told(self):
        async for each in super().told():
            is_end = isinstance(each, RunResult)
            yield replace(each, iterations=each.iterations - 1) if is_end else each


class OneHook(Run):
    async def hooked(self, hook, ctx):
        kept, own = self.agent.hooks, self.agent.hooks.get(hook, [])
        self.agent.hooks = {**kept, hook: own[:1]}
        try:
            return await super().hooked(hook, ctx)
        finally:
            self.agent.hooks = kept


class HooksBackwards(Run):
    async def hooked(self, hook, ctx):
        kept, own = self.agent.hooks, self.agent.hooks.get(hook, [])
        self.agent.hooks = {**kept, hook: own[::-1]}
        try:
            return await super().hooked(hook, ctx)
        finally:
            self.agent.hooks = kept


class EditsLost(Run):
    async def hooked(self, hook, ctx):
        before = self.history
        ctx = await super().hooked(hook, ctx)
        self.history = before
        return ctx


class ContextLost(Run):
    async def hooked(self, hook, ctx):
        await super().hooked(hook, ctx)
        return self.ctx


class AskedTwice(Run):
    async def asked_model(self, ctx, request):
        await super().asked_model(ctx, request)
        return await super().asked_model(ctx, request)


class WithoutOptions(Run):
    async def asked_model(self, ctx, request):
        return await super().asked_model(ctx, replace(request, options={}))


class FirstCallOnly(Run):
    def route(self):
        return super().route()[:1]


class NeverCalls(Run):
    def route(self):
        super().route()
        return ()


class HiddenRun(Run):
    def prepared(self, call, ctx):
        self.shown = [each.tool.info for each in self.agent.tools]
        return super().prepared(call, ctx)


class ArgumentsLost(Run):
    async def call(self, call, tool, ctx):
        return await super().call(replace(call, arguments="{}"), tool, ctx)


class Trimmed(Run):
    async def call(self, call, tool, ctx):
        return (await super().call(call, tool, ctx)).strip()


class ResultsBackwards(Run):
    def settle(self, told, failed):
        super().settle(told, failed)
        if len(told) > 1:
            self.history[-len(told) :] = told[::-1]


class FailuresForgotten(Run):
    def settle(self, told, failed):
        super().settle(told, [])


class LastFailure(Run):
    def settle(self, told, failed):
        super().settle(told, failed[::-1])


class NeverDirect(Run):
    def settle(self, told, failed):
        super().settle(told, failed)
        self.status, self.answer = "", None


class Nameless(Run):
    def settle(self, told, failed):
        super().settle(
            [Message("tool", m.content, (), m.tool_call_id) for m in told], failed
        )


MUTANTS = {
    "TOOL-001": Second(LastToolFirst),
    "TOOL-015": Second(FirstToolCounts),
    "INS-007": Second(ConfigurationLost),
    "MSG-001": Second(runs=InstructionLost),
    "RUN-010": Second(runs=OneMore),
    "RUN-016": Second(runs=CountedFromZero),
    "ORD-002": Second(runs=OneHook),
    "ORD-001": Second(runs=HooksBackwards),
    "MSG-004": Second(runs=EditsLost),
    "CTX-003": Second(runs=ContextLost),
    "RUN-002": Second(runs=AskedTwice),
    "WRAP-018": Second(runs=WithoutOptions),
    "RUN-004": Second(runs=FirstCallOnly),
    "MSG-012": Second(runs=NeverCalls),
    "TOOL-018": Second(runs=HiddenRun),
    "WRAP-002": Second(runs=ArgumentsLost),
    "WRAP-011": Second(runs=Trimmed),
    "MSG-010": Second(runs=ResultsBackwards),
    "ERR-007": Second(runs=FailuresForgotten),
    "CONC-006": Second(runs=LastFailure),
    "RD-001": Second(runs=NeverDirect),
}
"""The second engine, broken, by the clause that says so."""


@cache
def worlds():
    return make_corpus(0, 0).corpus.worlds


def failing(engine: Second, clause: str) -> bool:
    """Play the fixed worlds of a clause, or a few others, until one fails."""
    checks = [each for each in CHECKS if each.clause == clause]
    own = [each for each in worlds() if each.clause == clause]
    player = VariantPlayer(engine, SEED_001, frozenset(engine.capabilities))
    return any(clause in judge(player, each, checks).failed for each in own)


@pytest.mark.parametrize("clause", MUTANTS)
def test_a_broken_second_engine_is_told_by_the_clause(clause: str) -> None:
    assert failing(MUTANTS[clause], clause)
    assert not failing(Second(), clause)


def test_the_second_engine_is_small_and_shares_no_loop() -> None:
    text = (Path(__file__).parent / "engines" / "second.py").read_text("utf-8")
    assert len(text.splitlines()) <= 250
    assert "refengine.loop" not in text
    assert "refengine.chain" not in text
