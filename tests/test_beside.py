"""Agents with hooks beside the reference: which clause a difference is put down to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from compat.engines.capabilities import CAPABILITIES
from compat.profiles.own_words import OwnWords
from property_tests.check import Decision
from property_tests.checks import CHECKS
from property_tests.late import LateEngine
from property_tests.oracle import WorldBeside, agent_entries, agents_oracle
from refengine.messages import Message
from refengine.profile import SEED_001, profile
from refengine.testing import Scenario, clock, play
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from refengine.testing.trace import Observation, Trace
from tests.deciding import handlers, scenario

ALL = frozenset(CAPABILITIES)
COMPARED = [each for each in CHECKS if each.compares]
HOOKS = {"before_model": [], "after_model": [], "wrap_model": {}}
WORLD = scenario({"instruction": "base", **handlers(HOOKS, HOOKS)}, "assistant:done")
TWICE = scenario(
    {"tools": [{"name": "t", "result": "T"}], **handlers({"wrap_invokable": {}})},
    "assistant:[c1:t({})][c1:t({})]",
    "assistant:done",
)
ONCE = scenario(
    {"tools": [{"name": "t", "result": "T"}], **handlers({"wrap_invokable": {}})},
    "assistant:[c1:t({})]",
    "assistant:done",
)
INSIDE = scenario(
    {
        "tools": [{"name": "t", "error": "boom"}],
        **handlers(
            {"wrap_invokable": {"call_next": 2, "catch_error": "caught"}},
            {"wrap_invokable": {}},
        ),
    },
    "assistant:[c1:t({})]",
    "assistant:done",
)
BOTH = scenario(
    {
        "middlewares": [{"id": "m", "before_chat_model": [{"op": "record"}]}],
        **handlers(HOOKS, HOOKS),
    },
    "assistant:done",
)


def right(world: Scenario, under: str = "seed-001") -> list[Observation]:
    return list(clock.run(play(world, ReferenceEngine(profile(under)))))


def failing(
    world: Scenario, seen: Sequence[Observation], under: str = "seed-001"
) -> set[str]:
    """Return the clauses that a trace breaks in a world."""
    numbered = [
        Observation(each.kind, each.run, at, each.data, each.call_id)
        for at, each in enumerate(seen)
    ]
    beside = WorldBeside(agents_oracle(), world, Trace(numbered), profile(under), ALL)
    return {e.clause for e in COMPARED if not _held(beside.of(e.clause))}


def _held(decisions: Sequence[Decision]) -> bool:
    return all(each.holds for each in decisions)


def of_hook(seen: Sequence[Observation], name: str) -> list[int]:
    """Return the places in which a hook is entered."""
    return [
        at
        for at, each in enumerate(seen)
        if each.kind == "hook_enter" and each.data["hook"] == name
    ]


def swapped(seen: list[Observation], name: str) -> None:
    """Let both extensions enter a hook in the other order, and leave it so."""
    first, second = of_hook(seen, name)
    width = second - first
    seen[first : second + width] = [
        *seen[second : second + width],
        *seen[first:second],
    ]


def test_the_reference_beside_itself_keeps_every_clause() -> None:
    assert failing(WORLD, right(WORLD)) == set()
    assert failing(TWICE, right(TWICE)) == set()


def test_what_is_otherwise_is_put_down_to_the_clause_that_says_so() -> None:
    seen = right(WORLD)
    swapped(seen, "before_model")

    assert failing(WORLD, seen) == {"ORD-001"}


def test_what_differs_behind_another_difference_is_not_accused() -> None:
    seen = right(WORLD)
    swapped(seen, "before_model")
    swapped(seen, "after_model")

    assert failing(WORLD, seen) == {"ORD-001"}


def test_nothing_is_a_consequence_of_a_notice() -> None:
    seen = [each for each in right(BOTH) if each.kind != "warning"]
    swapped(seen, "after_model")

    assert failing(BOTH, seen) == {"ORD-003", "ORD-019"}


def test_what_follows_from_another_request_is_not_accused() -> None:
    seen = right(WORLD)
    at = next(n for n, each in enumerate(seen) if each.kind == "model_request")
    asked = seen[at]
    messages = asked.data["messages"]
    assert isinstance(messages, Sequence)
    other = {**asked.data, "messages": messages[:1]}
    seen[at] = Observation(asked.kind, asked.run, asked.seq, other, asked.call_id)
    swapped(seen, "after_model")

    assert not failing(WORLD, seen) & {"ORD-003"}


def test_what_the_reference_did_again_is_seen_to_be_the_same_at_once() -> None:
    for world in (WORLD, TWICE, INSIDE):
        beside = agents_oracle().right(world, SEED_001, frozenset())

        assert beside.same(agent_entries(Trace(right(world)), world))


def test_calls_of_one_id_are_told_apart_from_the_others() -> None:
    entries = agent_entries(Trace(right(TWICE)), TWICE)

    assert {each["twin"] for each in entries if "call" in each} == {True}


def test_an_entry_says_whether_its_part_begins_with_it() -> None:
    seen = agent_entries(Trace(right(TWICE)), TWICE)
    begun = {
        (each["kind"], each["first"], each["sibling"])
        for each in seen
        if "call" in each
        if each["kind"] in {"hook_enter", "tool_start"}
    }

    assert ("hook_enter", True, False) in begun
    assert ("tool_start", True, False) not in begun


def test_an_entry_says_in_which_wrapper_it_was_met_and_upon_what() -> None:
    seen = agent_entries(Trace(right(INSIDE)), INSIDE)
    met = [
        (each["kind"], (each["outer"] or {}).get("extension"), each["behind"])
        for each in seen
        if each.get("part") == "around_tool" or each["kind"] == "tool_start"
    ]

    assert met == [
        ("hook_enter", None, ""),
        *[("hook_enter", "h0", ""), ("tool_start", "h1", "")],
        *[("hook_enter", "h0", "tool_error"), ("tool_start", "h1", "tool_error")],
        ("hook_exit", None, "tool_error"),
    ]


@pytest.mark.parametrize(
    ("hook", "opens"), [("before_model", "kept"), ("after_model", "after")]
)
def test_an_iteration_opens_with_what_was_kept_or_left_behind_the_model(
    hook: str, opens: str
) -> None:
    agent = {"tools": [{"name": "t"}], **handlers({hook: []}, {"wrap_model": {}})}
    world = scenario(agent, "assistant:[c1:t({})]", "assistant:done")
    entries = agent_entries(Trace(right(world)), world)

    assert [each["opens"] for each in entries if "opens" in each] == ["run", opens]


def test_histories_are_told_by_role_and_as_far_as_their_calls_have_results() -> None:
    entries = agent_entries(Trace(right(IN_PART)), IN_PART)
    asked = [each for each in entries if each["kind"] == "model_request"]

    assert [[*each["roles"]] for each in asked] == [
        ["user"],
        ["user", "assistant", "tool"],
    ]
    assert [each["unanswered"] for each in asked] == [False, False]


def test_a_turn_tells_what_of_the_last_run_it_does_not_begin_with() -> None:
    runs = [{"input": ["user:hi"]}, {"input": ["user:more"], "continues": True}]
    agent = {"agent": {"instruction": "be kind"}, "model_script": ["assistant:done"]}
    world = read_scenario({**agent, "runs": runs}, "a test")
    entries = agent_entries(Trace(right(world)), world)

    assert [each["dropped"] for each in entries if "dropped" in each] == [
        [],
        [{"role": "system", "content": "be kind"}],
    ]


def test_a_call_under_another_id_is_where_it_began_and_not_before() -> None:
    seen = right(ONCE)
    at = next(n for n, each in enumerate(seen) if each.kind == "tool_start")
    ran = seen[at]
    seen[at] = Observation(ran.kind, ran.run, ran.seq, ran.data, "other")

    assert "CTX-010" in failing(ONCE, seen)


def test_what_a_hook_left_says_which_tools_the_model_is_told_of() -> None:
    removed = {"before_agent": [{"op": "remove_tool", "name": "t"}]}
    world = scenario({"tools": [{"name": "t"}], **handlers(removed)}, "assistant:done")
    entries = agent_entries(Trace(right(world)), world)

    assert [e["left"] for e in entries if e["kind"] == "model_request"] == ["none"]


IN_PART = read_scenario(
    {
        "agent": {
            "tools": [
                {"name": name, "body": [{"op": "ask", "payload": "sure?"}]}
                for name in ("a", "b")
            ]
        },
        "model_script": ["assistant:[c1:a({})][c2:b({})]", "assistant:done"],
        "runs": [
            {"input": ["user:hi"], "checkpoint": "k"},
            {"resume": "k", "answers": {"a(c1)": True}},
            {"resume": "k", "answers": {"b(c2)": True}},
        ],
    },
    "a test",
)


@pytest.mark.parametrize(
    ("run", "address", "clauses"),
    [
        (1, " 1 tool a a(c1)", {"INT-007"}),
        (2, " 1 tool b b(c2)", set()),
        (2, "another", {"INT-010"}),
        (2, " 1 tool a a(c1)", {"INT-010", "INT-017"}),
    ],
    ids=["told twice", "waiting", "moved on", "answered"],
)
def test_an_address_is_told_once_and_again_only_while_it_waits(
    run: int, address: str, clauses: set[str]
) -> None:
    seen = right(IN_PART)
    at = max(n for n, e in enumerate(seen) if e.kind == "interrupt" and e.run == run)
    asked = seen[at]
    parts = {"call_id": "c2", "text": address}
    data = {**asked.data, "address": parts}
    seen[at] = Observation(asked.kind, run, asked.seq, data, asked.call_id)

    assert failing(IN_PART, seen) == clauses


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("tool", [{"result": "T"}, {"error": "boom"}])
@pytest.mark.parametrize("beside", [{}, HOOKS, {"wrap_invokable": {}}])
@pytest.mark.parametrize("other", ["x", "c2"])
def test_an_engine_that_leaves_another_call_id_out_is_accused_of_that_alone(
    other: str, beside: dict[str, object], tool: dict[str, str], *, streaming: bool
) -> None:
    wrap = {"set_input_call_id": other}
    calls = "assistant:[c1:t({})][c2:u({})]"
    asked, left_out = (
        scenario(
            {
                "tools": [{"name": "t", **tool}, {"name": "u"}],
                **handlers({"wrap_invokable": {"by_tool": {"t": each}}}, beside),
            },
            calls,
            "assistant:done",
            streaming=streaming,
        )
        for each in (wrap, {})
    )

    assert failing(asked, right(left_out)) == {"WRAP-016"}


def test_an_engine_has_words_of_its_own_for_a_tool_that_is_missing() -> None:
    world = scenario(
        handlers(*[{"wrap_invokable": {}}] * 2), "assistant:[c1:t({})]", "assistant:ok"
    )
    seen = [_in_other_words(each) for each in right(world, "langchain-1")]

    assert failing(world, seen, "langchain-1") == set()


@pytest.mark.parametrize("streaming", [False, True])
def test_an_engine_has_words_of_its_own_for_what_a_tool_raised(
    *, streaming: bool
) -> None:
    world = scenario(
        {"tools": [{"name": "t", "error": "boom"}], **handlers({"wrap_invokable": {}})},
        "assistant:[c1:t({})]",
        "assistant:ok",
        streaming=streaming,
    )
    seen = right(world, "strands-1")

    assert failing(world, _written(seen, "Failure: boom"), "strands-1") == set()
    assert failing(world, _written(seen, "Error: bang"), "strands-1") == {"WRAP-012"}


@pytest.mark.parametrize("told", [("down", "shut down"), ("shut down", "down")])
def test_of_several_errors_of_a_call_the_longest_that_a_text_ends_with_counts(
    told: tuple[str, ...],
) -> None:
    trace = Trace(
        Observation("tool_error", 1, at, {"error": each}, "c1")
        for at, each in enumerate(told)
    )

    assert OwnWords(trace).without("Error: shut down", "c1") == "<raised> shut down"


def _written(seen: Sequence[Observation], text: str) -> list[Observation]:
    """Return what was seen with another text in place of ``Error: boom``."""

    def other(value: Any) -> Any:
        if isinstance(value, Message):
            return replace(value, content=other(value.content))
        if isinstance(value, str):
            return value.replace("Error: boom", text)
        if isinstance(value, Mapping):
            return {key: other(each) for key, each in value.items()}
        return (
            type(value)(map(other, value))
            if isinstance(value, (list, tuple))
            else value
        )

    return [replace(each, data=other(each.data)) for each in seen]


def _in_other_words(seen: Observation) -> Observation:
    """Return what was seen as LangChain puts it that there is no tool."""
    if seen.data.get("hook") != "wrap_invokable" or seen.kind != "hook_exit":
        return seen
    words = "Error: t is not a valid tool, try one of []."
    return replace(seen, data={**seen.data, "value": words})


@pytest.mark.parametrize("streaming", [False, True])
def test_how_long_an_engine_waits_does_not_depend_on_when_its_consumer_looks(
    *, streaming: bool
) -> None:
    agent = {"tools": [{"name": "t"}], "retry": {"max_retries": 2, "wait_ms": 10}}
    script = ("assistant:[c1:t({})]", {"error": "busy"}, "assistant:done")
    world = scenario(agent, *script, streaming=streaming)
    seen = clock.run(play(world, LateEngine(ReferenceEngine(profile("seed-001")))))
    hasty = [each for each in seen if each.kind == "model_request"][-1]
    time = hasty.data["time"]
    assert isinstance(time, float)
    sooner = replace(hasty, data={**hasty.data, "time": time - 0.005})

    assert failing(world, list(seen)) == set()
    assert failing(world, [sooner if e is hasty else e for e in seen]) == {"ERR-033"}


def broken_off(seen: Sequence[Observation], at: int, point: str) -> list[Observation]:
    """Return a run that an engine itself ended before one of its entries."""
    because = "FrameworkError: " if point == "harness" else ""
    error = {"point": point, "text": f"{because}no more"}
    told = {"kind": "error", "agent": "", "error": error, "class": "Error"}
    end = {**seen[-1].data, "status": "error", "answer": None}
    return [
        *seen[:at],
        Observation("event", 1, at, told),
        Observation("run_end", 1, at + 1, end),
    ]


@pytest.mark.parametrize("streaming", [False, True])
def test_a_run_that_a_framework_broke_off_is_accused_of_an_error_from_nowhere(
    *, streaming: bool
) -> None:
    agent = {"tools": [{"name": "t"}], **handlers(HOOKS, {"wrap_invokable": {}})}
    world = scenario(agent, "assistant:[c1:t({})][c2:t({})]", streaming=streaming)
    seen = right(world)
    cuts = [at for at, each in enumerate(seen) if each.kind in {"hook_enter", "event"}]

    found = [failing(world, broken_off(seen, at, "harness")) for at in cuts]

    assert found == [{"ERR-014"}] * len(cuts)


def test_an_engine_that_runs_out_of_iterations_too_early_is_told_by_how_it_ends() -> (
    None
):
    agent = {
        "tools": [{"name": "t"}],
        "return_directly": {"t": True},
        **handlers({"after_agent": []}),
    }
    world = scenario(agent, "assistant:[c1:t({})]")
    seen = right(world)
    [at] = of_hook(seen, "after_agent")

    assert failing(world, broken_off(seen, at, "max_iterations")) == {"RD-001"}


def test_what_differed_before_a_run_was_broken_off_is_accused() -> None:
    seen = right(WORLD)
    swapped(seen, "before_model")
    [at] = [n for n, each in enumerate(seen) if each.kind == "model_request"]

    assert failing(WORLD, broken_off(seen, at, "harness")) == {"ORD-001"}


@pytest.mark.parametrize(("often", "accused"), [(1, {"ERR-007"}), (2, set[str]())])
def test_of_calls_that_failed_at_once_an_engine_may_tell_any(
    often: int, accused: set[str]
) -> None:
    calls = "".join(f"[c{at}:t({{}})]" for at in range(often))
    tool = {"name": "t", "error": "boom"}
    world = scenario({"tools": [tool, {"name": "u"}]}, f"assistant:{calls}[d:u({{}})]")
    seen = right(world, "langchain-1")
    at = next(n for n, each in enumerate(seen) if each.data.get("kind") == "error")
    told = seen[at].data
    error = told["error"]
    assert isinstance(error, dict)
    other = {**told, "error": {**error, "call": "c1"}}
    seen[at] = replace(seen[at], data=other)

    assert failing(world, seen, "langchain-1") == accused


def test_wrappers_that_a_call_of_no_tool_does_not_pass_are_accused_alone() -> None:
    world = scenario(
        handlers(*[{"wrap_invokable": {}}] * 2, HOOKS), "assistant:[c1:gone({})]"
    )
    seen = right(world, "langchain-1")
    bare = [each for each in seen if each.data.get("hook") != "wrap_invokable"]

    assert failing(world, bare, "langchain-1") == {"ORD-014"}


def test_calls_that_are_run_because_a_run_was_given_them_are_put_down_to_that() -> None:
    agent = {"tools": [{"name": "t"}], **handlers({"wrap_invokable": {}}, HOOKS)}
    given = ["user:hi", "assistant:[c1:t({})]"]
    world = scenario(agent, "assistant:done", input=given)
    asked = scenario(agent, given[1], "assistant:done")
    seen = right(asked)
    called = next(n for n, each in enumerate(seen) if each.call_id)
    start = next(n for n, each in enumerate(seen) if each.kind == "run_start")

    assert failing(world, [*seen[: start + 1], *seen[called:]]) == {"MSG-002"}
