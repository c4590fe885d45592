"""Sides: what our engine does in a setting, what is written by hand, and the gate.

Each is run with parts that count, as before every measurement.
"""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from benchmarks import kinds
from benchmarks.byhand import DEEPEST, TooDeepByHandError
from benchmarks.kinds import (
    KINDS,
    NoSuchSideError,
    UnknownHookError,
    bare_side,
    engine_side,
)
from benchmarks.making import Maker, NotDoneError
from benchmarks.noops import ModelWrapper, Rewriter, ToolWrapper
from benchmarks.parts import ANSWERS, SharedParts
from benchmarks.specs import FORMS, Setting, SideSpec
from benchmarks.subject import Subjects

MAKER = Maker(Subjects({}))
BEFORE, MODEL, TOOL = (
    "before_model_rewrite_history",
    "wrap_model_call",
    "wrap_invokable_tool_call",
)
RUNS = sorted(hook for hook, kind in KINDS.items() if kind.unit == "run")
SINGLE = [replace(kind.setting(3), history=4, tools=2) for kind in KINDS.values()]
PLAIN = [replace(kind.setting(3), plain=True) for kind in KINDS.values() if kind.plain]
STREAMED = [replace(KINDS[hook].setting(3), stream=True) for hook in RUNS]
FORMED = [
    replace(kind.setting(3), form=form)
    for kind in KINDS.values()
    if kind.field
    for form in FORMS
]
EMPTY = [kind.setting(0) for kind in KINDS.values()]
WAYS = list(dict.fromkeys((*SINGLE, *PLAIN, *STREAMED, *FORMED, *EMPTY)))


def admit(maker, setting):
    return asyncio.run(MAKER.admit(SideSpec(maker, setting)))


def refused(maker, setting):
    with pytest.raises(NotDoneError) as caught:
        admit(maker, setting)
    return caught.value


def kind_like(monkeypatch, hook, noop):
    """Have handlers of another class measured at a hook, under its own name."""
    noop.__name__ = KINDS[hook].noop.__name__
    changed = {**KINDS, hook: replace(KINDS[hook], noop=noop)}
    monkeypatch.setattr(kinds, "KINDS", changed)


@pytest.mark.parametrize("setting", WAYS, ids=lambda setting: setting.key)
class TestEveryWay:
    def test_of_our_engine_makes_exactly_its_calls(self, setting):
        assert 0 <= admit("engine", setting) <= 1

    def test_by_hand_makes_exactly_its_calls(self, setting):
        assert 0 <= admit("bare", setting) <= 1

    def test_is_known_again_from_json(self, setting):
        assert Setting.of(setting.to_json()) == setting


class TestEqualWork:
    @pytest.mark.parametrize("stream", [False, True], ids=["invoked", "streamed"])
    @pytest.mark.parametrize("hook", RUNS)
    def test_by_hand_and_ours_give_the_same_answer(self, hook, stream):
        setting = replace(KINDS[hook].setting(5), stream=stream)

        async def both():
            ours, bare = (
                await engine_side(setting, SharedParts()),
                bare_side(setting, SharedParts()),
            )
            return await ours.work(), await bare.work()

        ours, bare = asyncio.run(both())

        assert ours == bare == ANSWERS

    @pytest.mark.parametrize("history", [1, 40])
    def test_by_hand_and_ours_show_the_model_equal_histories(self, history):
        class Seeing(SharedParts):
            """Keeps how many messages each call of the model was given."""

            def __init__(self):
                super().__init__(Counter())
                self.lengths = []

            def counted(self, method, key):
                if key != "CannedModel.invoke":
                    return method

                async def looked(ctx, messages, *more):
                    self.lengths.append(len(messages))
                    return await method(ctx, messages, *more)

                return looked

        setting = replace(KINDS[BEFORE].setting(2), history=history)
        ours, bare = Seeing(), Seeing()

        async def both():
            await (await engine_side(setting, ours)).work()
            await bare_side(setting, bare).work()

        asyncio.run(both())

        assert ours.lengths == bare.lengths == [history + 1, history + 3]


class TestBrokenHandler:
    def test_that_calls_next_twice_breaks_run_004(self, monkeypatch):
        class Twice(ToolWrapper):
            async def wrap_invokable_tool_call(self, ctx, input, next):
                await next(ctx, input)
                return await next(ctx, input)

        kind_like(monkeypatch, TOOL, Twice)
        error = refused("engine", Setting(TOOL, n=1))

        assert error.clause == "RUN-004"
        assert error.why == "the tool ran 2 times in run 1, and 1 are right"

    def test_that_swallows_the_tool_breaks_run_004(self, monkeypatch):
        class Swallowing(ToolWrapper):
            kept = None

            async def wrap_invokable_tool_call(self, ctx, input, next):
                self.kept = self.kept or await next(ctx, input)
                return self.kept

        kind_like(monkeypatch, TOOL, Swallowing)
        error = refused("engine", Setting(TOOL, n=1))

        assert error.clause == "RUN-004"
        assert error.why == "the tool ran 0 times in run 2, and 1 are right"

    def test_that_answers_for_the_model_breaks_run_002(self, monkeypatch):
        class Knowing(ModelWrapper):
            async def wrap_model_call(self, ctx, request, next):
                return ANSWERS

        kind_like(monkeypatch, MODEL, Knowing)
        error = refused("engine", Setting(MODEL, n=1))

        assert error.clause == "RUN-002"
        assert error.why == "the model was called 0 times in run 1, and 2 are right"

    def test_is_refused_by_hand_too(self, monkeypatch):
        class Twice(ToolWrapper):
            async def wrap_invokable_tool_call(self, ctx, input, next):
                await next(ctx, input)
                return await next(ctx, input)

        kind_like(monkeypatch, TOOL, Twice)

        assert refused("bare", Setting(TOOL, n=1)).clause == "RUN-004"


class TestBrokenEngine:
    def test_that_calls_no_hook_breaks_the_clause_of_the_hook(self, monkeypatch):
        class Deaf(Rewriter):
            hooks = frozenset({"after_agent"})

            async def after_agent(self, ctx, messages):
                return ctx

        kind_like(monkeypatch, BEFORE, Deaf)
        error = refused("engine", Setting(BEFORE, n=2))

        assert error.clause == "ORD-002"
        assert error.why == f"{BEFORE} was called 0 times in run 1, and 4 are right"

    def test_that_calls_another_hook_breaks_run_009(self, monkeypatch):
        class Both(Rewriter):
            async def after_agent(self, ctx, messages):
                return ctx

        kind_like(monkeypatch, BEFORE, Both)
        error = refused("engine", Setting(BEFORE, n=2))

        assert error.clause == "RUN-009"
        assert error.why == "after_agent was called 2 times in run 1, and 0 are right"


class TestDeepOnion:
    @pytest.mark.parametrize("hook", [MODEL, TOOL, "wrap_streamable_tool_call"])
    def test_has_no_floor_above_900_layers(self, hook):
        with pytest.raises(TooDeepByHandError, match="a bare onion of 901 layers"):
            bare_side(KINDS[hook].setting(DEEPEST + 1), SharedParts())

    def test_of_our_engine_has_none_of_that(self):
        assert admit("engine", Setting(TOOL, n=DEEPEST + 1)) >= 0

    def test_by_hand_that_ends_the_stack_is_told(self):
        # With parts that count there are two frames a layer.
        error = refused("bare", Setting(TOOL, n=DEEPEST))

        assert error.clause is None
        assert error.why == "Python's stack ends before 900 layers"

    def test_a_loop_by_hand_has_no_depth(self):
        assert admit("bare", Setting(BEFORE, n=DEEPEST + 1)) >= 0


class TestNoSuchSide:
    @pytest.mark.parametrize("maker", ["bare", "engine"])
    def test_an_unknown_hook_is_told_with_those_that_there_are(self, maker):
        with pytest.raises(UnknownHookError, match=r"no hook 'wrap_all'.*wrap_model"):
            admit(maker, Setting("wrap_all", n=1))

    @pytest.mark.parametrize("hook", [MODEL, TOOL, "wrap_streamable_tool_call"])
    @pytest.mark.parametrize("maker", ["bare", "engine"])
    def test_no_wrapper_is_plain(self, maker, hook):
        with pytest.raises(NoSuchSideError, match="async always"):
            admit(maker, replace(KINDS[hook].setting(1), plain=True))

    @pytest.mark.parametrize("form", ["adapted", "native"])
    @pytest.mark.parametrize("hook", [MODEL, "after_agent", "before_agent"])
    def test_no_struct_has_a_field_for_some_hooks(self, hook, form):
        with pytest.raises(NoSuchSideError, match="no field for"):
            admit("engine", replace(KINDS[hook].setting(1), form=form))
