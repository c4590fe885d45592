"""Worlds for graphs: what they have, what they never have, and whose words they use."""

import json
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

from compat.migration.corpus import make_corpus
from refengine.messages import Message, ToolCall
from refengine.testing import parse_message, read_scenario
from refengine.testing.own_tools import own, with_own_tools
from refengine.testing.scenario import ModelFailure
from refengine.testing.subject_worlds.graph_worlds import fits_a_graph, graph_worlds
from refengine.testing.subject_worlds.named_values import (
    GraphWords,
    Option,
    adk_words,
    graph_words,
    is_graph_source,
)
from refengine.testing.subject_worlds.words import Words

WORDS = Words(texts=("secret",), names=("lookup", "delete_all"), numbers=(3,))
MORE = GraphWords(
    options=(
        Option("role", ("admin", "guest")),
        Option("verbose", (True,), needed=True),
    ),
    errors=("TimeoutError",),
)
CORPUS = make_corpus(WORDS, 40, 0, MORE)
WORLDS: list[Any] = [
    entry.scenario for entry in CORPUS.worlds if entry.family != "equal ids"
]


def calls(world):
    for entry in world.model_script:
        texts = [entry] if isinstance(entry, str) else getattr(entry, "chunks", ())
        for text in texts:
            yield from parse_message(text).tool_calls


def test_worlds_have_nothing_that_a_graph_has_no_place_for() -> None:
    for world in WORLDS:
        agent = world.agent
        assert agent.handlers == agent.middlewares == agent.tool_call_middlewares == ()
        assert agent.unknown_tools_handler is None
        assert world.script_end == "exhausted"


def test_calls_of_a_world_have_ids_of_their_own_and_objects_for_arguments() -> None:
    for world in WORLDS:
        found = list(calls(world))
        ids = [call.id for call in found]
        assert len(ids) == len(set(ids))
        assert all(isinstance(json.loads(c.arguments or "{}"), dict) for c in found)


def test_histories_have_a_result_for_every_call() -> None:
    for world in WORLDS:
        for run in world.runs:
            messages = [parse_message(text) for text in run.input]
            results = {message.tool_call_id for message in messages}
            asked = {call.id for message in messages for call in message.tool_calls}
            assert asked <= results


def test_no_answer_calls_tools_of_which_only_some_end_the_run() -> None:
    direct = [world for world in WORLDS if world.agent.return_directly]

    assert direct
    for world in direct:
        flags = world.agent.return_directly
        for entry in world.model_script:
            if isinstance(entry, str):
                called = parse_message(entry).tool_calls
                assert len({flags.get(call.name, False) for call in called}) < 2


def test_worlds_are_of_both_ways_and_no_two_are_the_same() -> None:
    ways = [world.way for world in WORLDS]
    assert min(ways.count("sync"), ways.count("async")) > len(ways) / 3
    written = {world.model_dump_json(exclude={"way"}) for world in WORLDS}
    assert len(written) == len(WORLDS)


def test_worlds_have_the_options_errors_and_denials_that_a_source_asks_for() -> None:
    options = {key for w in WORLDS for run in w.runs for key in run.options}
    errors = {getattr(e, "error", None) for w in WORLDS for e in w.model_script}
    bodies = {
        op.text for w in WORLDS for tool in w.agent.tools for op in tool.body or ()
    }
    denied = [w for w in WORLDS if any(run.denies for run in w.runs)]

    assert options == {"role", "verbose"}
    assert all("verbose" in run.options for w in WORLDS for run in w.runs)
    assert any("role" not in run.options for w in WORLDS for run in w.runs)
    assert {"TimeoutError", "boom"} <= errors
    assert "TimeoutError" in bodies
    assert denied
    for world in denied:
        ids = {call.id for call in calls(world)}
        assert all(set(run.denies) <= ids for run in world.runs)


def test_every_world_fits_and_says_so() -> None:
    assert all(map(fits_a_graph, WORLDS))


@pytest.mark.parametrize(
    "broken",
    [
        {"runs": [{"input": ["assistant:[c1:t({})]", "user:hi"]}]},
        {"model_script": ["assistant:[c1:t(no)]"]},
        {"model_script": ["assistant:[c1:t({})][c1:t({})]"]},
        {"agent": {"handlers": [{"id": "h", "before_model": [{"op": "record"}]}]}},
        {"agent": {"instruction": "<u+d83d>"}},
        {
            "agent": {"return_directly": {"t": True}},
            "model_script": ["assistant:[a:t({})][b:u({})]"],
        },
    ],
)
def test_world_that_became_something_else_does_not_fit(broken) -> None:
    world = {"agent": {}, "model_script": ["assistant:a"], **broken}

    assert not fits_a_graph(read_scenario(world, "here"))


def test_tools_that_neighbours_add_are_the_agents_own() -> None:
    added = {"middlewares": [{"additional_tools": [{"name": "extra"}]}]}
    world = {"agent": {"tools": [{"name": "t"}], **added}, "runs": [{"input": []}]}
    made = dict(graph_worlds(Words(), GraphWords(), [("happy", world)], 0))["happy"]

    assert [tool["name"] for tool in made["agent"]["tools"]] == ["t", "extra"]


def test_long_words_make_many_short_worlds() -> None:
    assert max(len(world.runs) for world in WORLDS) <= 40
    assert "secret" in CORPUS.json
    assert "delete_all" in CORPUS.json


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("x = runtime.context.role", {"role"}),
        ('x = request.runtime.context.get("role", "user")', {"role"}),
        ('x = config["configurable"].get("who")', {"who"}),
        ('x = config["configurable"]["who"]', {"who"}),
        ('x = config.get("configurable", {}).get("who")', {"who"}),
        ('x = state["plan"]\nclass S:\n    plan: str', {"plan"}),
        ('x = state["plan"]', set()),
        ('x = state["plan"]\nclass S:\n    plan: dict[str, str]', set()),
        ('x = (runtime.context or {}).get("role")', {"role"}),
        ('x = config["configurable"]["thread_id"]; y = state["messages"]', set()),
        ('x = other.get("role")', set()),
    ],
)
def test_names_of_options_are_found(source: str, names: set[str]) -> None:
    assert {option.name for option in graph_words([source]).options} == names


@pytest.mark.parametrize(
    ("annotation", "values"),
    [
        ("int", (0, 1, 2)),
        ("list[str]", (["a"], [], ["a", "b"])),
        ("NotRequired[bool]", (True, False)),
        ('Literal["x", "y"]', ("x", "y")),
        ("str | None", ("a", "admin")),
    ],
)
def test_options_have_values_of_their_type(annotation: str, values: Any) -> None:
    source = f'x = runtime.context.o == "admin"\nclass C:\n    o: {annotation}'

    assert graph_words([source]).options == (Option("o", values, needed=True),)


@pytest.mark.parametrize(
    ("source", "forms"),
    [
        ('x = runtime.context.o == "Pro"', ()),
        ('x = runtime.context.o.lower() == "Pro"', ("A", "pRO")),
        ('x = runtime.context.o.strip() == "Pro"', (" a ", " Pro ")),
    ],
)
def test_texts_come_in_the_forms_that_a_source_makes_alike(source, forms) -> None:
    (option,) = graph_words([source]).options

    assert option.edges == forms


def test_value_is_of_the_type_that_a_source_puts_in_its_place() -> None:
    source = 'x = state.get("kept") or {}\ny = runtime.context.get("used") or 0'

    (option,) = graph_words([source]).options
    assert (option.name, sorted(map(str, option.values))) == (
        "used",
        ["-1", "0", "1", "2"],
    )


def test_session_outlasts_each_number_and_then_asks_again() -> None:
    worlds = of_family("talks", GraphWords(), replace(WORDS, numbers=(3,)))

    said = [[run.input[0] for run in world.runs] for world in worlds]
    topics = [f"user:topic {at}" for at in (0, 1, 2, 3, 3, 0, 1)]
    assert said == [topics, topics]
    assert all(not run.options for world in worlds for run in world.runs)


def test_errors_are_found_but_not_the_general_ones() -> None:
    source = "try: pass\nexcept (TimeoutError, Exception, ConnectionError): pass"

    assert graph_words([source]).errors == ("TimeoutError", "ConnectionError")


def test_source_that_does_not_parse_has_no_words() -> None:
    assert graph_words(["def ("]).options == ()


def test_subject_of_a_graph_is_told_by_what_it_asks_the_world_for() -> None:
    assert is_graph_source("def s(world):\n    return world.as_langchain()")
    assert not is_graph_source("def s(world):\n    return []")


def test_no_world_has_two_tools_of_one_name() -> None:
    for world in WORLDS:
        names = [tool.name for tool in world.agent.tools]
        assert len(names) == len(set(names))


def test_where_a_tool_is_called_there_is_one() -> None:
    assert all(world.agent.tools for world in WORLDS if any(calls(world)))


def test_no_history_has_a_result_that_nothing_asked_for() -> None:
    for world in WORLDS:
        for run in world.runs:
            asked: set[str | None] = set()
            for message in map(parse_message, run.input):
                asked |= {call.id for call in message.tool_calls}
                assert message.role != "tool" or message.tool_call_id in asked


def test_own_tools_are_called_in_some_worlds() -> None:
    own = [call.name for world in WORLDS for call in calls(world) if "<" in call.name]

    assert set(own) >= {"<own 0>", "<own 1>", "<own 2>"}


def of_family(name: str, more: GraphWords = MORE, words: Words = WORDS) -> list[Any]:
    made = graph_worlds(words, more, [], 0)
    return [read_scenario(each, "here") for family, each in made if family == name]


def test_errors_of_different_classes_come_one_after_the_other() -> None:
    rows = [
        [each.error for each in world.model_script if isinstance(each, ModelFailure)]
        for world in of_family("failures")
    ]

    assert any(len(set(row)) > 1 for row in rows)


def test_a_model_fails_in_both_ways_and_as_often_as_two_that_are_tried() -> None:
    failing = [
        (world.way, sum(isinstance(each, ModelFailure) for each in world.model_script))
        for world in of_family("failures")
    ]

    assert {way for way, times in failing if times} == {"sync", "async"}
    # Each world asks twice, and its numbers are at most 5.
    assert max(times for _, times in failing) > 2 * 6


def test_what_was_made_of_a_failure_is_met_in_a_later_turn_of_its_thread() -> None:
    went_on = [
        bool(world.agent.tools)
        for world in of_family("failures")
        if len(world.runs) > 2 and all(run.continues for run in world.runs[1:])
    ]

    assert {True, False} <= {*went_on}


def test_a_tool_of_adk_returns_a_text_too() -> None:
    """``"said"`` in JSON is that text; hooks of ADK are handed it as it is."""
    plain = [
        world.scenario
        for world in make_corpus(WORDS, 1, 0, GraphWords(adk=True)).worlds
        if world.family == "plain results"
    ]

    agents = [each.agent for each in plain if each.agent is not None]
    results = [json.loads(str(each.tools[0].result)) for each in agents]
    assert results
    assert all(isinstance(each, str) for each in results)
    assert all(len(each.runs) == 2 for each in plain)


def test_the_same_call_comes_with_its_keys_in_another_order() -> None:
    for world in of_family("alike"):
        written = {call.arguments for call in calls(world)}
        meant = {json.dumps(json.loads(each), sort_keys=True) for each in written}
        assert len(written) > len(meant)


def test_tools_refuse_arguments_by_a_schema() -> None:
    required = [
        tool.parameters["required"]
        for _, world in graph_worlds(WORDS, MORE, [], 0)
        for agent in read_scenario(world, "here").all_agents
        for tool in agent.tools
        if tool.parameters
    ]

    assert ["q"] in required


def test_letters_come_in_one_piece_and_in_two() -> None:
    texts = [run.input[0] for world in of_family("unicode") for run in world.runs]

    assert any(text != unicodedata.normalize("NFC", text) for text in texts)
    assert any(text != unicodedata.normalize("NFD", text) for text in texts)


def test_steps_are_few_where_a_source_counts_them() -> None:
    counting = replace(MORE, counts=graph_words(["state['remaining_steps']"]).counts)

    assert {run.steps for world in of_family("steps", counting) for run in world.runs}
    assert not of_family("steps")


def test_person_answers_in_every_way_that_there_is() -> None:
    asking = replace(MORE, replies=(("yes", True), ("no", False)))
    made = graph_worlds(WORDS, asking, [], 0)
    first = {world["runs"][0]["replies"][0]["kind"] for _, world in made}

    assert first == {"yes", "no"}


@pytest.mark.parametrize(
    ("values", "arguments"),
    [
        ({"unfit": "missing"}, {"n": 1}),
        ({"unfit": "type"}, {"q": {"no": ["a"]}, "n": 1}),
        ({"unfit": "other"}, {"q": "a", "n": 1, "other": 1}),
    ],
)
def test_own_tool_is_called_with_what_it_refuses(values: Any, arguments: Any) -> None:
    schema = {
        "properties": {"q": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["q", "n"],
    }
    call = ToolCall("c1", own(0), json.dumps(values))
    message = Message("assistant", "", (call,))
    made = with_own_tools(message, [{"name": "mine", "parameters": schema}], [])

    assert json.loads(made.tool_calls[0].arguments) == arguments


def test_call_that_is_made_twice_at_once_is_made_in_order() -> None:
    for world in WORLDS:
        for entry in world.model_script:
            if isinstance(entry, str):
                made = [(c.name, c.arguments) for c in parse_message(entry).tool_calls]
                assert len(made) == len(set(made)) or world.way == "sync"


def test_words_of_a_subject_stand_together_in_one_text() -> None:
    words = Words(texts=("python", "rust", "prices", "two words"))
    made = graph_worlds(words, GraphWords(), [], 0)
    said = [
        run["input"][0]
        for family, w in made
        if family == "together"
        for run in w["runs"]
    ]

    assert "user:python rust prices" in said


def test_calls_of_several_sessions_have_one_id_in_a_world_that_is_unusual() -> None:
    (entry,) = [each for each in CORPUS.worlds if each.family == "equal ids"]

    assert {call.id for call in calls(entry.scenario)} == {"same"}
    assert entry.unusual is not None


CHOOSES = """
RULES = {"basic": "Be brief.", "gold": "Take your time."}

def rules(callback_context, llm_request):
    tier = callback_context.state.get("user:tier", "none")
    llm_request.append_instructions([RULES.get(tier, "")])

def subject(world):
    return world.as_adk()
"""


def test_a_key_of_a_state_has_the_keys_of_a_table_and_its_default_for_values() -> None:
    [option] = adk_words([CHOOSES]).options

    assert option.name == "user:tier"
    assert all(each in option.values for each in ("basic", "gold", "none"))


def test_what_is_counted_in_a_run_of_adk_goes_on_behind_a_transfer() -> None:
    more = GraphWords(agents=("desk", "billing"), adk=True)
    rows = [
        [
            call
            for each in world.scenario.model_script
            if isinstance(each, str)
            for call in parse_message(each).tool_calls
        ]
        for world in make_corpus(WORDS, 1, 0, more).worlds
        if len(world.scenario.runs) == 1
    ]
    counted = set()
    for row in rows:
        names = [call.name for call in row]
        if names.count("transfer_to_agent") != 1:
            continue
        at = names.index("transfer_to_agent")
        to = json.loads(row[at].arguments)["agent_name"]
        counted.add((to, len({*names[:at], *names[at + 1 :]}), at, len(names) - at - 1))

    assert {("desk", 1, 2, 3), ("billing", 1, 2, 3)} <= counted
