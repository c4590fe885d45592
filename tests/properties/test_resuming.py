"""The law of INT: a run that was cut and resumed is the run that was never cut.

Without what was entered again: same-effects. Each world is cut at each point of each
hook, wrapper and tool, at two and at three of them, and at all.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from property_tests.generating import FAMILIES
from refengine.profile import profile
from refengine.resume.checkpoint import Keeper, Saved, Step
from refengine.state import Checkpoints, MemoryStore, SqliteStore
from refengine.state.values import Types
from refengine.testing import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.strategies import scenarios
from tests.cuts.halves import in_two_processes
from tests.cuts.judging import (
    PROFILES,
    BrokenLaw,
    CutsJudge,
    builds_again,
    in_memory,
    outside,
)
from tests.cuts.points import How, Way
from tests.properties.support import counted, noted, searching

WORLDS = st.one_of(scenarios(**each) for each in FAMILIES.values())


def judged(
    scenario: Scenario, how: How | None = None, make: Callable[[], Keeper] = in_memory
) -> list[BrokenLaw]:
    return [*CutsJudge(scenario, how or How(), make).every(Random(0))]  # noqa: S311  # no secret


@pytest.mark.parametrize(
    ("under", "way"),
    [*((each, "native") for each in PROFILES), ("seed-001", "adapted")],
)
@searching(16)
@given(WORLDS, st.integers(0, 9), st.integers(0, 99))
def test_a_world_cut_at_any_point_has_the_trace_of_the_whole_one(
    under: str, way: Way, scenario: Scenario, number: int, chance: int
) -> None:
    why = outside(scenario, profile(under))
    counted(why or "the law says something")
    assume(why is None)
    noted(scenario, under, way)
    with (
        TemporaryDirectory() as folder,
        closing(SqliteStore(Path(folder) / "runs.db")) as store,  # opened if it is used
    ):
        make = (lambda: Checkpoints(store)) if number == 9 else in_memory
        judge = CutsJudge(scenario, How(profile(under), way), make)
        for label in judge.labels:
            counted(label)
        assert [*map(str, judge.every(Random(chance)))] == []  # noqa: S311  # no secret


@pytest.mark.hours
@searching(1, long=40)
@given(WORLDS, st.sampled_from(("native", "adapted")), st.integers(0, 999))
def test_a_world_goes_on_in_another_process(
    scenario: Scenario, way: Way, at: int
) -> None:
    judge = CutsJudge(scenario, How(way=way))
    # Operations count in objects that no process hands on.
    assume(judge.labels and not builds_again(scenario))
    noted(scenario, way)
    cut = at % len(judge.labels) + 1
    with TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        trace = in_two_processes(scenario, How(way=way), cut, file)
    assert judge.same(trace) is None


ALL = {"prefix_result": "[", "record": "w"}
TWO_CALLS = "assistant:[c1:t(1)][c2:u(2)]"


def world(
    *,
    script: tuple[Any, ...] = (TWO_CALLS, "assistant:done"),
    streams: tuple[bool, ...] = (True,),
    **agent: Any,
) -> Scenario:
    """Return a world of two tools in which every hook takes part; a turn a mode."""
    hooks = {
        "before_model": [{"op": "append", "msg": "user:<len>"}],
        "after_model": [{"op": "ctx_append", "key": "h", "text": "a"}],
        "after_agent": [{"op": "ctx_append", "key": "h", "text": "z"}],
        "wrap_model": {"map_output": "<<content>>"},
        "wrap_invokable": ALL,
        "wrap_streamable": ALL,
    }
    tools = [
        {"name": "t", "kind": "both", "chunks": ["a", "b"], "delay_ms": 2},
        {"name": "u", "result": "got <args>"},
    ]
    made = {
        "name": "agent",
        "instruction": "be brief",
        "tools": tools,
        "handlers": [{"id": "one", **hooks}],
        "middlewares": [
            {
                "before_chat_model": [{"op": "prepend", "msg": "user:first"}],
                "after_chat_model": [{"op": "ctx_append", "key": "h", "text": "m"}],
                "wrap_tool_call": {"invokable": ALL, "streamable": ALL},
            }
        ],
    }
    runs = [
        {"input": ["user:a"], "continues": at > 0, "streaming": streaming}
        for at, streaming in enumerate(streams)
    ]
    data = {"agent": {**made, **agent}, "model_script": list(script * len(streams))}
    return read_scenario({**data, "runs": runs}, "a world")


CASES: dict[str, Callable[[], Scenario]] = {
    "every hook, two calls, two turns": lambda: world(streams=(False, True)),
    "one call after the other": lambda: world(sequential=True),
    "a tool that ends the run": lambda: world(return_directly={"u": True}),
    "an unknown tool": lambda: world(
        script=("assistant:[c1:t()][c2:x()]", "assistant:done"),
        unknown_tools_handler="there is no <name>",
    ),
    "an unknown tool that ends the run with an error": lambda: world(
        script=("assistant:[c1:t()][c2:x()]",)
    ),
    "no iteration left": lambda: world(max_iterations=1),
    "a model that fails": lambda: world(script=(TWO_CALLS, {"error": "no-model"})),
    "a model whose stream breaks off": lambda: world(
        script=({"chunks": ["assistant:a"], "stream_error": "cut"},)
    ),
    "a tool that fails beside one that does not": lambda: world(
        tools=[
            {"name": "t", "error": "boom"},
            {"name": "u", "kind": "both", "result": "u"},
        ]
    ),
    "a stream that fails beside a tool that does not": lambda: world(
        tools=[
            {"name": "t", "kind": "both", "chunks": ["a"], "stream_error": "boom"},
            {"name": "u", "result": "u"},
        ]
    ),
    "an error that a wrapper around catches": lambda: world(
        tools=[{"name": "t", "error": "boom"}, {"name": "u", "error": "bang"}],
        tool_call_middlewares=[{"catch_error": "caught <error>"}, {}],
    ),
    "a wrapper that calls next three times": lambda: world(
        handlers=[], tool_call_middlewares=[{"call_next": 3}, {}]
    ),
    "a wrapper that answers itself": lambda: world(
        tool_call_middlewares=[{}, {"short_circuit": "no"}]
    ),
    "tools that are hidden for one call": lambda: world(
        handlers=[{"wrap_model": {"hide_tools": ["u"]}, "after_model": []}],
        unknown_tools_handler="there is no <name>",
    ),
    "tools that a handler takes away": lambda: world(
        handlers=[{"before_agent": [{"op": "remove_tool", "name": "u"}]}],
        unknown_tools_handler="there is no <name>",
    ),
    "hooks that drop and move messages": lambda: world(
        handlers=[
            {"before_model": [{"op": "keep_last", "n": 1}], "after_agent": []},
            {"after_model": [{"op": "prepend", "msg": "user:new"}], "after_agent": []},
        ]
    ),
    "hooks that leave nothing": lambda: world(
        handlers=[{"after_model": [{"op": "clear"}]}]
    ),
    "operations that count": lambda: world(
        handlers=[
            {
                "before_model": [
                    {"op": "append", "msg": "user:once", "on_call": 1},
                    {"op": "append", "msg": "user:twice", "on_call": 2},
                ]
            }
        ]
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", CASES)
def test_the_law_holds_where(case: str) -> None:
    judge = CutsJudge(CASES[case](), How())
    assert judge.labels
    assert [*judge.every(Random(0))] == []  # noqa: S311  # no secret


def test_every_kind_of_place_is_cut() -> None:
    small = world(streams=(True, False), tool_call_middlewares=[ALL])
    phases = CutsJudge(small, How()).labels
    assert {name.split(" ")[0] for name in phases} == {
        *("before_chat_model", "after_chat_model", "wrap_tool_call"),
        *("before_model_rewrite_history", "after_model_rewrite_history"),
        *("wrap_model_call", "wrap_invokable_tool_call", "wrap_streamable_tool_call"),
        *("tool_call_middlewares", "tool", "after_agent"),
    }


def test_the_law_holds_for_steps_in_a_file(tmp_path: Path) -> None:
    small = world(handlers=[{"after_model": []}], middlewares=[])
    with closing(SqliteStore(tmp_path / "runs.db")) as store:
        assert judged(small, make=lambda: Checkpoints(store)) == []


def test_the_law_holds_across_processes(tmp_path: Path) -> None:
    judge = CutsJudge(world(), How())
    cut = judge.labels.index("wrap_invokable_tool_call after next") + 1
    trace = in_two_processes(world(), How(), cut, tmp_path / "runs.db")
    assert judge.same(trace) is None


class Forgetful:
    """A keeper that loses what an interrupted call had done."""

    def __init__(self) -> None:
        self._kept = Checkpoints(MemoryStore())

    @property
    def types(self) -> Types:
        return self._kept.types

    async def write(self, key: str, step: Step) -> None:
        point = replace(step.point, entries=())
        await self._kept.write(key, replace(step, point=point))

    async def read(self, key: str) -> Saved:
        return await self._kept.read(key)


class Rewriting(Forgetful):
    """A keeper that loses the newest message."""

    async def write(self, key: str, step: Step) -> None:
        left = step.splice.messages[:-1] if step.seq else step.splice.messages
        splice = replace(step.splice, messages=left)
        await self._kept.write(key, replace(step, splice=splice))


@pytest.mark.parametrize("keeper", [Forgetful, Rewriting])
def test_a_keeper_that_loses_something_is_found(keeper: Callable[[], Keeper]) -> None:
    [first, *_] = judged(world(), make=keeper)
    assert "cut" in str(first)


TWO: dict[str, Any] = {
    "agent": {
        "tools": [{"name": "t", "result": "r"}],
        "handlers": [{"id": "h", "wrap_invokable": {"set_input_call_id": "one"}}],
    },
    "model_script": ["assistant:[c1:t({})][c2:t({})]", "assistant:done"],
    "runs": [{"input": ["user:hi"]}],
}
COUNTS: dict[str, Any] = {
    "agent": {
        "handlers": [
            {"id": "h", "before_agent": [{"op": "record", "on_call": 2}]},
            {"id": "asks", "before_model": []},
        ]
    },
    "model_script": ["assistant:done"],
    "runs": [{"input": ["user:hi"]}],
}


@pytest.mark.parametrize(
    ("given", "why"),
    [(TWO, "a wrapper may give two calls"), (COUNTS, "before_agent counts its runs")],
)
def test_the_law_says_nothing_about_a_world_where(given, why) -> None:
    world = read_scenario(given)

    assert (outside(world, profile("langchain-1")) or "").startswith(why)
    assert outside(world, profile("seed-001")) is None
    assert judged(world) == []
