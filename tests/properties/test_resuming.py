"""The law of INT: a run that was cut and resumed is the run that was never cut.

The long search is a command of its own: python -m tools.resuming.search
"""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from compat.verdicts.exit_codes import NOTHING_RAN
from property_tests.drawing import drawn
from refengine.profile import profile
from refengine.resume.checkpoint import Keeper, Saved, Step
from refengine.state import Checkpoints, MemoryStore, SqliteStore
from refengine.state.values import Types
from refengine.testing import Scenario
from refengine.testing.scenario_files import read_scenario
from refengine.testing.strategies import scenarios
from tools.resuming import search
from tools.resuming.halves import in_two_processes
from tools.resuming.judging import PROFILES, BrokenLaw, CutsJudge, Figures, Stores
from tools.resuming.points import How, Way

MEMORY = Stores("memory", lambda: Checkpoints(MemoryStore()))
WORLDS: dict[str, Any] = {"failures": True, "unknown_calls": True, "counting": True}


def judged(
    scenario: Scenario, how: How | None = None, stores: Stores = MEMORY
) -> Figures:
    figures = Figures()
    CutsJudge(scenario, how or How(), stores, figures).every(Random(0))  # noqa: S311  # no secret
    return figures


def told(figures: Figures) -> str:
    return "\n\n".join(map(str, figures.broken))


@pytest.mark.parametrize(
    ("under", "way", "examples"),
    [
        ("seed-001", "native", 8),
        ("seed-001", "adapted", 6),
        ("langgraph-prebuilt-1", "native", 3),
        ("langchain-1", "native", 3),
    ],
)
def test_a_world_cut_at_any_point_has_the_trace_of_the_whole_one(
    under: str, way: Way, examples: int
) -> None:
    assert under in PROFILES
    # Not by @given: it traces each line of a test, and a world is played often here.
    for scenario in drawn(scenarios(**WORLDS), examples, number=7):
        found = judged(scenario, How(profile(under), way))
        assert not found.broken, told(found)


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
    found = judged(CASES[case]())
    assert not found.broken, told(found)
    assert found.cuts > 0


def test_every_kind_of_place_is_cut() -> None:
    small = world(streams=(True, False), tool_call_middlewares=[ALL])
    phases = CutsJudge(small, How(), MEMORY, Figures()).labels
    assert {name.split(" ")[0] for name in phases} == {
        *("before_chat_model", "after_chat_model", "wrap_tool_call"),
        *("before_model_rewrite_history", "after_model_rewrite_history"),
        *("wrap_model_call", "wrap_invokable_tool_call", "wrap_streamable_tool_call"),
        *("tool_call_middlewares", "tool", "after_agent"),
    }


def test_the_law_holds_for_steps_in_a_file(tmp_path: Path) -> None:
    small = world(handlers=[{"after_model": []}], middlewares=[])
    with closing(SqliteStore(tmp_path / "runs.db")) as store:
        found = judged(small, stores=Stores("sqlite", lambda: Checkpoints(store)))
    assert not found.broken, told(found)


def test_the_law_holds_across_processes(tmp_path: Path) -> None:
    figures = Figures()
    judge = CutsJudge(world(), How(), MEMORY, figures)
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
    assert judged(world(), stores=Stores("bad", keeper)).broken


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
def test_what_the_law_says_nothing_about_is_left_out_and_told(given, why) -> None:
    left_out = judged(read_scenario(given), How(profile("langchain-1")))
    held = judged(read_scenario(given))

    assert [each.startswith(why) for each in left_out.skipped] == [True]
    assert (left_out.worlds, held.worlds) == (0, 1)
    assert not held.broken, told(held)


def test_a_report_tells_what_was_cut_and_the_world_that_broke_the_law() -> None:
    small = world(handlers=[{"after_model": []}], middlewares=[])
    held = search.shown(judged(small))
    assert "the law held everywhere" in held
    assert "after_model_rewrite_history start" in held
    broken = search.shown(judged(small, stores=Stores("bad", Rewriting)))
    assert small.model_dump_json(exclude_defaults=True) in broken
    assert "BROKEN" in broken


def test_a_search_that_cut_nothing_has_an_exit_code_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # What is drawn first for each family is the plainest world there is.
    assert search.main(["--worlds", "10", "--processes", "0"]) == NOTHING_RAN
    assert "ever entered" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        search.main(["--worlds", "0"])


def test_parts_tell_together_what_the_whole_would() -> None:
    """What a part tells is JSON, and joined it is the figures of the whole."""
    whole, joined = Figures(), Figures()
    whole.count("phase", "tool", 2)
    whole.skipped["cannot be built"] += 1
    whole.broken.append(BrokenLaw("{}", "p", "native", "all", (1, 2), "tool", "why"))
    whole.worlds = 3

    joined.join(json.loads(json.dumps(whole.to_json())))

    assert joined == whole
