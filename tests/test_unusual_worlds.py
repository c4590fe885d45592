"""Unusual worlds: what no application meets, and what is ordinary all the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from compat.migration.check import corpus_of
from compat.migration.corpus import make_corpus
from compat.migration.refs import parse_ref
from compat.migration.subject_runner import CheckOptions
from compat.report.next_step import declarations
from compat.verdicts.migration import Exercise, Migration
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.unusual import UNSPOKEN, Spoken, unusual
from refengine.testing.subject_worlds.words import Words


def told(data: dict[str, object], spoken: Spoken = UNSPOKEN) -> str | None:
    usual = {"agent": {}, "model_script": ["assistant:ok"], "runs": [{"input": GO}]}
    return unusual(read_scenario({**usual, **data}, "here"), spoken)


GO = ["user:go"]
CALLED = ["assistant:[c1:t({})]", "tool(c1):r"]
CALL = ["assistant:[c1:t({})]", "assistant:ok"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"runs": [{"input": ["tool(c1):r", *GO]}]}, "result 'c1' has no call"),
        ({"runs": [{"input": [*GO, *CALLED]}]}, "run 1 does not end with the user"),
        ({"runs": [{"input": [*GO, "assistant:a"]}]}, "does not end with the user"),
        ({"runs": [{"input": []}]}, "run 1 does not end with the user"),
        ({"model_script": [*CALL, *CALL]}, "2 calls have the id 'c1'"),
        (
            {"model_script": CALL, "runs": [{"input": [*CALLED, *GO]}]},
            "2 calls have the id 'c1'",
        ),
        ({"model_script": ["assistant:<u+d83d>"]}, "lone surrogate <u+d83d>"),
        (
            {"model_script": CALL[:1], "script_end": "repeat_last"},
            "2 calls have the id 'c1'",
        ),
        (
            {"agent": {"tools": [{"name": "t"}], "return_directly": {"t": True}}},
            "'t' returns directly",
        ),
    ],
)
def test_world_that_nobody_meets_is_unusual(data: dict[str, object], why: str) -> None:
    assert why in (told(data) or "ordinary")


@pytest.mark.parametrize(
    "data",
    [
        {"model_script": CALL},  # no tool is there: an unknown one
        {"agent": {"tools": [{"name": "t"}], "return_directly": {"t": False}}},
        {"runs": [{"input": [*CALLED, *GO]}, {"input": [*CALLED, *GO]}]},
        {
            "model_script": CALL,
            "runs": [{"input": GO}, {"input": ["tool(c1):r", *GO], "continues": True}],
        },
        {"runs": [{"input": ["user:" + "a" * 10_000]}]},
        {"runs": [{"input": ["user:"]}], "model_script": ["assistant:"]},
        {"model_script": ["assistant:[c1:t(not json)]", "assistant:ok"]},
        {
            "model_script": [
                {"chunks": ["assistant:", "assistant:a[c1:t({})]"]},
                {"chunks": ["assistant:b[c2:t({})]"]},
            ]
        },
        {"model_script": ["assistant:e\u0301 👩‍👩‍👧"]},
        {"model_script": [{"error": "TimeoutError"}]},
    ],
)
def test_world_that_an_application_may_meet_is_ordinary(
    data: dict[str, object],
) -> None:
    assert told(data) is None


def test_tool_that_returns_directly_is_ordinary_where_a_side_speaks_of_it() -> None:
    direct: dict[str, object] = {
        "agent": {"tools": [{"name": "t"}], "return_directly": {"t": True}}
    }

    assert told(direct, Spoken.of(["", "@tool(return_direct=True)"])) is None
    assert told(direct, Spoken.of(["config.return_directly"])) is None
    assert told(direct, Spoken.of(["a direct line"])) is not None


def test_tools_of_one_name_are_unusual_where_a_side_binds_them_by_itself() -> None:
    twice = {"agent": {"tools": [{"name": "t"}, {"name": "t"}]}}

    assert told(twice, Spoken.of(["create_agent(model, tools)"])) is None
    assert "2 tools have the name 't'" in str(
        told(twice, Spoken.of(["m.bind_tools(x)"]))
    )
    once = {"agent": {"tools": [{"name": "t"}, {"name": "u"}]}}
    assert told(once, Spoken.of(["m.bind_tools(x)"])) is None


def test_calls_without_a_result_are_unusual_for_frameworks_that_pair_them() -> None:
    asks = {"input": ["user:a", "assistant:[c1:t({})]", "user:b"]}
    answered = {"input": ["user:a", "assistant:[c1:t({})]", "tool(c1):r", "user:b"]}

    assert told({"runs": [asks]}, Spoken()) is None
    assert "'c1' has no result" in str(told({"runs": [asks]}, Spoken(pair=True)))
    assert told({"runs": [answered]}, Spoken(pair=True)) is None


def test_two_calls_of_one_answer_are_luck_for_a_tool_that_fails_by_their_count() -> (
    None
):
    """Who tries the first one again comes before the second, or behind it."""
    fails = {"op": "error", "text": "boom", "on_call": 1}
    flaky: dict[str, object] = {"tools": [{"name": "t", "body": [fails]}]}
    both = {"agent": flaky, "model_script": ["assistant:[c1:t({})][c2:t({})]"]}
    tasks = replace(UNSPOKEN, tasks=True)

    assert told(both, tasks) == "2 calls of 't' at one time, which counts them"
    assert told({**both, "way": "sync"}, tasks) is None
    assert told({**both, "agent": {"tools": [{"name": "t"}]}}, tasks) is None
    assert told({**both, "model_script": CALL}, tasks) is None
    assert told(both) is None


@pytest.mark.parametrize(
    ("outside", "data"),
    [
        (
            "no tool returns directly",
            {"agent": {"tools": [{"name": "t"}], "return_directly": {"t": True}}},
        ),
        ("at least one tool", {}),
        ("input ends with the user", {"runs": [{"input": ["assistant:a"]}]}),
        ("no tool fails", {"agent": {"tools": [{"name": "t", "error": "a"}]}}),
        (
            "only known tools are called",
            {"agent": {}, "model_script": ["assistant:a[1:t({})]"]},
        ),
        (
            "no two tools have one name",
            {"agent": {"tools": [{"name": "t"}, {"name": "t"}]}},
        ),
        (
            "no two tools have one name",
            {
                "agent": {
                    "tools": [{"name": "t"}],
                    "middlewares": [{"additional_tools": [{"name": "t"}]}],
                }
            },
        ),
        ("no other extensions", {"agent": {"handlers": [{"id": "H"}]}}),
        ("no other extensions", {"agent": {"middlewares": [{"id": "M"}]}}),
        ("no other extensions", {"agent": {"tool_call_middlewares": [{}]}}),
        ("no run streams", {"runs": [{"input": ["user:a"], "streaming": True}]}),
        ("no message has several texts", {"model_script": ["assistant:a␞b"]}),
    ],
)
def test_what_is_declared_outside_is_unusual(
    outside: str, data: dict[str, object]
) -> None:
    speaks = ["return_direct"]

    assert told(data, Spoken.of(speaks, [outside])) is not None


@pytest.mark.parametrize(
    ("name", "is_known"), [("rates", True), ("<own 0>", True), ("other", False)]
)
def test_own_tool_is_a_known_one(name: str, *, is_known: bool) -> None:
    sources = ['({ tools: { rates: tool({ execute: () => "1.10" }) } })']
    spoken = Spoken.of(sources, ["only known tools are called"])
    world: dict[str, object] = {
        "agent": {},
        "model_script": [f"assistant:a[1:{name}({{}})]"],
    }

    assert (told(world, spoken) is None) is is_known


@pytest.mark.parametrize(
    ("new", "tool", "proposed"),
    [
        ({"ai-sdk": "5"}, {"error": "no"}, "no tool fails"),
        ({"ai-sdk": "5"}, {"result": "r"}, None),
        ({"ai-sdk": "4"}, {"error": "no"}, None),
        ({"langchain": "1"}, {"error": "no"}, None),
    ],
)
def test_where_one_engine_has_two_versions_what_to_declare_is_proposed(
    new: dict[str, str], tool: dict[str, str], proposed: str | None
) -> None:
    world = {"agent": {"tools": [{"name": "t", **tool}]}, "runs": [{"input": GO}]}
    sides = zip(("old", "new"), ({"ai-sdk": "4"}, new), strict=True)
    verdict = Migration(
        *("same-effects", 1, ""),
        world=read_scenario(world, "here"),
        exercise={side: Exercise("s", {}, frameworks=f) for side, f in sides},
    )

    found = [each for each in declarations(verdict) if "outside" in each]

    assert found == ([f'  outside = ["{proposed}"]'] if proposed else [])


def test_a_call_of_a_tool_that_the_sides_make_is_not_proposed_to_be_left_out() -> None:
    world = {
        "agent": {"tools": [{"name": "a"}]},
        "model_script": ["assistant:a[1:refund({})]"],
        "runs": [{"input": GO}],
    }
    sides = zip(
        ("old", "new"), ({"langchain": "1.3"}, {"langchain": "1.5"}), strict=True
    )
    verdict = Migration(
        *("same-effects", 1, ""),
        world=read_scenario(world, "here"),
        exercise={side: Exercise("s", {}, frameworks=f) for side, f in sides},
    )

    assert len([*declarations(verdict)]) == 2
    assert not [*declarations(replace(verdict, own_tools=frozenset(("refund",))))]


def test_tools_that_python_declares_are_known_ones(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(DECLARES, "utf-8")
    ref = parse_ref("agent.py", cwd=tmp_path)

    corpus = corpus_of([ref, ref], CheckOptions(), ["only known tools are called"])

    assert "refund" in corpus.spoken.own_tools


DECLARES = """
from langchain.agents import create_agent
from langchain_core.tools import tool


@tool
def refund(order: str) -> str:
    \"\"\"Refund an order.\"\"\"
    return order


def subject(world):
    lc = world.as_langchain()
    return create_agent(lc.model, [*lc.tools, refund])
"""


def test_corpus_says_which_of_its_worlds_are_unusual() -> None:
    corpus = make_corpus(Words(), 20, 0)
    reasons = [each.unusual for each in corpus.worlds]

    assert reasons == [corpus.unusual(each.scenario) for each in corpus.worlds]
    assert None in reasons
    assert len(set(reasons)) > 2
