"""Worlds shrink to what something needs, and stay worlds."""

import json

import pytest

from compat.migration.shrink import WORDS, ShrinkEffort, shrink, size
from refengine.testing import Scenario, read_scenario
from refengine.testing.notation import parse_message

LARGE = read_scenario(
    {
        "agent": {
            "instruction": "be brief " * 50,
            "tools": [
                {"name": "t", "result": "r" * 200},
                {"name": "u", "kind": "streamable", "chunks": ["a", "b"]},
            ],
            "handlers": [{"id": "h", "before_model": [{"op": "record"}]}],
            "max_iterations": 7,
            "sequential": True,
        },
        "model_script": [
            'assistant:first[c1:t({"q": 1})][c2:u({"q": 2})]',
            {"chunks": ["assistant:sec", "assistant:ond[c3:t({})]"]},
            "assistant:third",
        ],
        "runs": [
            {"input": [f"user:message {n}" for n in range(30)], "streaming": True},
            {"input": ["user:again"], "continues": True, "options": {"a": [1, 2]}},
        ],
    }
)


def calls_of(world: Scenario) -> list[str]:
    texts = [entry for entry in world.model_script if isinstance(entry, str)]
    return [call.name for text in texts for call in parse_message(text).tool_calls]


def small(world: Scenario) -> dict[str, object]:
    return world.model_dump(mode="json", exclude_defaults=True)


@pytest.mark.parametrize(
    ("still", "wanted"),
    [
        (lambda _: True, {"agent": {}}),
        (lambda w: len(w.runs) == 2, {"agent": {}, "runs": [{}, {}]}),
        (
            lambda w: any(len(run.input) >= 7 for run in w.runs),
            {"agent": {}, "runs": [{"input": ["user:a"] * 7}]},
        ),
        (
            lambda w: "u" in calls_of(w),
            {"agent": {}, "model_script": ["assistant:a[c2:u({})]"]},
        ),
        (
            lambda w: any(t.result.count("r") > 40 for t in w.agent.tools),
            {"agent": {"tools": [{"name": "a", "result": "r" * 41}]}},
        ),
        (lambda w: w.agent.sequential, {"agent": {"sequential": True}}),
        (
            lambda w: any(run.options.get("a") for run in w.runs),
            {"agent": {}, "runs": [{"options": {"a": [0]}}]},
        ),
    ],
)
def test_only_what_is_needed_is_left(still, wanted) -> None:
    found = small(shrink(LARGE, still))

    assert json.dumps(found) == json.dumps(wanted)


def test_calls_go_with_their_results_wherever_they_stand() -> None:
    pairs = [f"assistant:[c{n}:t({{}})];tool(c{n}):r".split(";") for n in range(30)]
    said = ["user:go", *(text for pair in pairs for text in pair), "user:Hello"]

    def still(world: Scenario) -> bool:
        messages = [parse_message(text) for run in world.runs for text in run.input]
        calls = [call.id for each in messages for call in each.tool_calls]
        ids = [each.tool_call_id for each in messages if each.tool_call_id]
        return calls == ids and len(ids) >= 4 and messages[-1].role == "user"

    found = shrink(read_scenario({"agent": {}, "runs": [{"input": said}]}), still)

    assert len(found.runs[0].input) == len(("call", "result")) * 4 + 1


def test_runs_between_two_that_matter_go_with_their_answers() -> None:
    numbers = range(12)
    script = [[f"assistant:[c{n}:t{n}({{}})]", f"assistant:{n}"] for n in numbers]
    runs = [{"input": [f"user:run {n}"]} for n in numbers]
    answers = [each for turn in script for each in turn]

    def still(world: Scenario) -> bool:  # each run has the answer that was its own
        texts = map(str, world.model_script)
        said = [parse_message(each) for each in texts if "[" not in each]
        asked = [run.input[0].split()[-1] for run in world.runs if run.input]
        return [each.content for each in said] == asked and {"1", "11"} <= {*asked}

    found = shrink(
        read_scenario({"agent": {}, "model_script": answers, "runs": runs}), still
    )

    assert [run.input for run in found.runs] == [("user: 1",), ("user: 11",)]


def test_it_is_asked_no_more_often_than_it_may() -> None:
    asked: list[Scenario] = []

    def still(world: Scenario) -> bool:
        asked.append(world)
        return len(world.model_script) > 1

    assert size(shrink(LARGE, still, ShrinkEffort(25))) < size(LARGE)
    assert len(asked) <= 25


def test_no_world_is_asked_for_twice() -> None:
    asked: list[str] = []

    def still(world: Scenario) -> bool:
        asked.append(world.model_dump_json())
        return "t" in calls_of(world)

    shrink(LARGE, still)

    assert len(asked) == len(set(asked))


def test_world_in_which_nothing_smaller_will_do_comes_back() -> None:
    assert shrink(LARGE, lambda _: False) == LARGE


def test_texts_become_words_that_a_person_reads() -> None:
    world = shrink(
        LARGE,
        lambda w: bool(w.runs and w.runs[0].input and "u" in calls_of(w)),
        plain=WORDS,
    )

    assert small(world) == {
        "agent": {},
        "model_script": ["assistant:[c1:u({})]", "assistant:Done."],
        "runs": [{"input": ["user:Hello"]}],
    }


def test_names_that_nothing_asks_for_become_plain_ones_wherever_they_stand() -> None:
    odd = {
        "agent": {"tools": [{"name": "failed"}, {"name": "k0(1)"}]},
        "model_script": ['assistant:[c-13:failed({"failed": 1})][c-1:failed({})]'],
        "runs": [
            {"input": ["user:failed", "assistant:[c-13:failed({})]", "tool(c-13):c-13"]}
        ],
    }

    world = shrink(
        read_scenario(odd),
        lambda w: (
            all(
                text in json.dumps(small(w))
                for text in ('\\"failed\\": 1', "user:failed", ":c-13", "k0(1)")
            )
            and calls_of(w) == [w.all_agents[0].tools[0].name] * 2
            and w.runs[0].input[1].startswith("assistant:[")
        ),
        plain=WORDS,
    )

    assert small(world) == {
        "agent": {"tools": [{"name": "lookup"}, {"name": "k0(1)"}]},
        "model_script": [
            'assistant:[c1:lookup({"failed": 1})][c2:lookup({})]',
            "assistant:Done.",
        ],
        "runs": [
            {"input": ["user:failed", "assistant:[c1:lookup({})]", "tool(c1):c-13"]}
        ],
    }


def test_names_that_something_asks_for_stay() -> None:
    def calls_u(world: Scenario) -> bool:
        there = [each.name for each in world.all_agents[0].tools]
        return "u" in calls_of(world) and "u" in there

    world = shrink(LARGE, calls_u, plain=WORDS)

    assert small(world)["agent"] == {"tools": [{"name": "u"}]}


def test_digits_of_other_scripts_become_plain_ones_where_they_will_do() -> None:
    odd = {"agent": {}, "runs": [{"input": ["assistant:0\u0663-1", "user:a"]}]}

    world = shrink(
        read_scenario(odd),
        lambda w: any(
            len(text) == 4 and text[:2].isdecimal()
            for run in w.runs
            for text in (parse_message(each).content for each in run.input)
        ),
        plain=WORDS,
    )

    assert small(world)["runs"] == [{"input": ["assistant:03-1"]}]


def test_world_is_made_smaller_as_long_as_that_works() -> None:
    """What costs much is tried a few times in vain, and not a few times in all."""
    asked: list[bool] = []

    def still(world: Scenario) -> bool:
        asked.append("u" in calls_of(world))
        return asked[-1]

    found = shrink(LARGE, still, ShrinkEffort(200, in_vain=5))

    assert small(found)["model_script"] == ["assistant:a[c2:u({})]"]
    assert 5 < len(asked) < 200


def test_world_that_gets_no_smaller_is_tried_so_often_in_vain() -> None:
    asked: list[Scenario] = []
    shrink(LARGE, lambda each: bool(asked.append(each)), ShrinkEffort(200, in_vain=12))

    assert len(asked) == 12


@pytest.mark.parametrize("at", [0, 3, 120, 199])
def test_a_long_session_is_played_a_few_times_until_one_turn_is_left(at: int) -> None:
    runs = [{"input": [f"user:turn {n}"]} for n in range(200)]
    calls = ["assistant:[c1:t({})]", "assistant:ok"]
    script = [each for n in range(200) for each in calls[n % 2 :]]
    long = {"agent": {}, "model_script": script, "runs": runs}
    played: list[int] = []

    def still(world: Scenario) -> bool:
        played.append(len(world.runs))
        return any(f"user:turn {at}" in run.input for run in world.runs)

    found = shrink(read_scenario(long, "here"), still, ShrinkEffort(tries=60))

    assert len(found.runs) == 1
    assert sum(played) < 4 * len(runs)
