"""What the strategies promise: worlds of all shapes, and only what was wanted."""

import subprocess
import sys
from typing import Any, TypeVar

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from refengine.testing import Scenario, parse_scenario
from refengine.testing.notation import parse_message
from refengine.testing.ops import AppendInstruction
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    MiddlewareSpec,
    ModelChunks,
    ModelFailure,
    ModelWrapSpec,
    ToolWrapSpec,
    WrapToolCallSpec,
)
from refengine.testing.strategies import (
    WorldChoices,
    answers,
    config_ops,
    distributes,
    message_ops,
    messages,
    model_wraps,
    rechunked,
    recut,
    scenarios,
    texts,
    tool_names,
    tool_wraps,
    tools,
)
from refengine.testing.strategies.variants import MODEL_WRAP, TOOL_WRAP
from tests.properties.support import searching

T = TypeVar("T")


def agent_of(scenario: Scenario) -> AgentSpec:
    [agent] = scenario.all_agents
    return agent


@searching(60)
@given(scenarios(failures=True, unknown_calls=True, counting=True))
def test_a_world_is_what_its_json_says(scenario: Scenario) -> None:
    assert parse_scenario(scenario.model_dump_json()) == scenario


@searching(30)
@given(scenarios(middlewares=False, handlers=False, tool_call_middlewares=False))
def test_a_world_may_be_without_extensions(scenario: Scenario) -> None:
    agent = agent_of(scenario)

    assert (agent.middlewares, agent.handlers, agent.tool_call_middlewares) == (
        (),
        (),
        (),
    )


@pytest.mark.parametrize("streaming", [True, False])
@searching(30)
@given(st.data())
def test_all_runs_are_streamed_or_none(streaming: bool, data: st.DataObject) -> None:
    scenario = data.draw(scenarios(streaming=streaming))

    assert {run.streaming for run in scenario.runs} == {streaming}


FAILS = {"error", "factory_error", "stream_error"}
COUNTS = {"on_call", "closure_counter", "count_factory", "at_most_once"}


@searching(60)
@given(scenarios())
def test_nothing_fails_or_counts_unless_that_is_wanted(scenario: Scenario) -> None:
    found = keys_of(scenario.model_dump(exclude_defaults=True))

    assert not found & {("key", name) for name in FAILS | COUNTS}
    assert ("op", "error") not in found
    assert "<run>" not in scenario.model_dump_json()


@searching(30)
@given(scenarios(delays=False, max_runs=1))
def test_tools_take_no_time_and_there_is_one_run_if_so_wanted(
    scenario: Scenario,
) -> None:
    assert "delay_ms" not in scenario.model_dump_json(exclude_defaults=True)
    assert len(scenario.runs) == 1


def calls_of(scenario: Scenario) -> set[str]:
    said = [e for e in scenario.model_script if isinstance(e, str)]
    return {call.name for text in said for call in parse_message(text).tool_calls}


@searching(60)
@given(scenarios(middlewares=False, handlers=False))
def test_only_known_tools_are_called_unless_others_are_wanted(
    scenario: Scenario,
) -> None:
    assert calls_of(scenario) <= {tool.name for tool in agent_of(scenario).tools}


def some(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """Return examples as a test gets them."""
    found: list[T] = []

    @searching(count)
    @given(strategy)
    def collect(example: T) -> None:
        found.append(example)

    collect()
    return found


def keys_of(value: Any) -> set[tuple[str, Any]]:
    """Return each key that stands anywhere, and each operation by its name."""
    found: set[tuple[str, Any]] = set()
    if isinstance(value, dict):
        found = {
            ("op", each) if key == "op" else ("key", key) for key, each in value.items()
        }
    if isinstance(value, (dict, list, tuple)):
        inner = value.values() if isinstance(value, dict) else value
        found |= {key for each in inner for key in keys_of(each)}
    return found


NOT_GENERATED = {
    "op",  # told apart by its value
    "record_built",
    "record_factory_calls",
    "agents",  # strategies make one agent
    "after_build",  # what the caller records is not part of a world's shape
    "after",
    "via",  # the way in is the door's
    "checkpoint",
    "same_as",  # refused by the default profile
    "version",
    "subject",
    "options",  # what the caller hands to model and tools is not theirs to look at
    "denies",  # a person is asked by graphs of other frameworks
    "way",  # in which those are run
    "hand_over",  # two sides play such a session
    "by_call",  # what a recording brings
    *("steps", "replies", "doors"),  # what callers of such graphs and people bring
    *("description", "parameters"),  # what a user's file of tools brings
    "output_key",  # what the caller keeps is not part of a world's shape
    *("reads", "instead", "spoils_options"),  # fixed worlds and what is grafted on them
    *("wraps_errors", "action", "as_json", "early"),  # what fixed worlds alone have
    *("new_ctx", "shape", "give_back", "error_instead"),
    "record_interrupts",
    *("interrupt", "ask", "info", "times", "state", "payload"),  # worlds run through;
    *("resume", "targets", "answers", "rebuild", "tool", "address", "data"),  # cuts
    *("cancel", "mode", "when", "nth", "block_until_cancel"),  # are put into them
    *("retry", "max_retries", "retry_on", "backoff", "wait_ms", "fall_back"),
    *("set_options", "clear_options", "options_on_call"),  # of worlds with options
}


ALL = WorldChoices(failures=True, unknown_calls=True, counting=True)
PARTS = {
    "ops of before_agent": st.tuples(*[config_ops(ALL, tools(ALL))] * 6),
    "ops of before_model": st.tuples(*[message_ops(ALL, after=False)] * 6),
    "tool wraps": st.tuples(*[tool_wraps(ALL, "w")] * 6),
    "model wraps": st.tuples(*[model_wraps(ALL, "w")] * 3),
    "worlds": scenarios(failures=True, unknown_calls=True, counting=True),
}


def words_of(part: st.SearchStrategy[Any]) -> set[tuple[str, Any]]:
    return {key for each in some(part, 200) for key in keys_of(plain(each))}


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value.model_dump(exclude_defaults=True)


def test_every_word_of_the_vocabulary_is_generated() -> None:
    found = {word for part in PARTS.values() for word in words_of(part)}
    schema = Scenario.model_json_schema()
    models = [schema, *schema["$defs"].values()]
    fields = {name for model in models for name in model.get("properties", {})}
    ops = {tag for m in models for tag in tags(m.get("properties", {}).get("op", {}))}

    assert {("key", field) for field in fields - NOT_GENERATED} <= found
    assert {("op", op) for op in ops - NOT_GENERATED} <= found


def tags(schema: dict[str, Any]) -> list[str]:
    return [*schema.get("enum", []), *([schema["const"]] if "const" in schema else [])]


def test_worlds_have_the_shapes_that_hide_mistakes() -> None:
    worlds = some(scenarios(unknown_calls=True), 300)
    agents = [agent_of(world) for world in worlds]
    said = [
        parse_message(entry)
        for world in worlds
        for entry in world.model_script
        if isinstance(entry, str)
    ]
    names = [[tool.name for tool in agent.tools] for agent in agents]
    facts = {
        "parallel calls": any(len(each.tool_calls) > 1 for each in said),
        "a call of an unknown tool": any(
            c.name == "no-such-tool" for m in said for c in m.tool_calls
        ),
        "equal tool names": any(len(each) > len(set(each)) for each in names),
        "all kinds of tool": {t.kind for a in agents for t in a.tools}
        == {"invokable", "streamable", "both"},
        "no instruction": any(not agent.instruction for agent in agents),
        "a very long instruction": any(len(a.instruction) > 4000 for a in agents),
        "a long history": any(len(r.input) > 30 for w in worlds for r in w.runs),
        "no input": any(not run.input for world in worlds for run in world.runs),
        "two runs, both modes": any(
            len({r.streaming for r in w.runs}) == 2 for w in worlds
        ),
        "chunks": any(
            isinstance(e, ModelChunks) for w in worlds for e in w.model_script
        ),
        "no end": any(world.script_end == "repeat_last" for world in worlds),
        "Unicode": any(not each.content.isascii() for each in said),
    }

    assert [fact for fact, occurs in facts.items() if not occurs] == []


def test_a_failing_world_shrinks_to_a_small_one() -> None:
    plain = scenarios(middlewares=False, handlers=False, tool_call_middlewares=False)
    short = settings(settings.get_profile("short"), max_examples=1000)
    world = find(plain, lambda scenario: bool(calls_of(scenario)), settings=short)
    smallest = {
        "agent": {"name": "agent", "tools": ({"name": "t", "result": "a"},)},
        "model_script": ("assistant:[c-1:t({})]", "assistant:a"),
        "runs": ({"input": ("user:a",)},),
    }

    assert world.model_dump(exclude_defaults=True) == smallest


@searching(30)
@given(scenarios(words=("bad:name", "own", "own words")))
def test_the_words_of_a_subject_are_used_where_they_fit(scenario: Scenario) -> None:
    agent = agent_of(scenario)

    assert "bad:name" not in {tool.name for tool in agent.tools}


def test_the_words_of_a_subject_are_used() -> None:
    # Fewer may have none: what Hypothesis draws depends on which modules are loaded.
    worlds = some(scenarios(words=("own",)), 1500)

    assert any(tool.name == "own" for each in worlds for tool in agent_of(each).tools)
    assert any("assistant:own" in each.model_script for each in worlds)


@searching(200)
@given(answers(), messages(), texts(), tool_names())
def test_words_are_fit_for_the_notation(
    answer: str, message: str, text: str, name: str
) -> None:
    assert parse_message(answer).tool_calls == ()
    assert parse_message(message).tool_calls == ()
    assert parse_message(f"assistant:{text}[c:{name}({{}})]").content == text
    assert text.encode().decode() == text


@searching(60)
@given(scenarios().flatmap(lambda s: st.tuples(st.just(s), rechunked(s))))
def test_rechunking_cuts_plain_answers_and_nothing_else(
    worlds: tuple[Scenario, Scenario],
) -> None:
    scenario, cut = worlds
    back = cut.model_copy(update={"model_script": scenario.model_script})

    assert back == scenario
    for before, after in zip(scenario.model_script, cut.model_script, strict=True):
        assert whole(after) == whole(before)
        assert isinstance(after, (ModelChunks, ModelFailure))


def whole(entry: Any) -> Any:
    if isinstance(entry, ModelFailure):
        return entry
    texts = [entry] if isinstance(entry, str) else entry.chunks
    parts = [parse_message(text) for text in texts]
    calls = [call for part in parts for call in part.tool_calls]
    return "".join(part.content for part in parts), calls


def test_calls_come_on_the_last_piece() -> None:
    cut = recut("assistant:one two[c:t({})]", [4, 4])

    assert cut == ModelChunks(
        chunks=("assistant:one ", "assistant:", "assistant:two[c:t({})]")
    )


def test_tables_of_distribution_name_every_field() -> None:
    assert TOOL_WRAP.keys() == ToolWrapSpec.model_fields.keys() - {"id"}
    assert MODEL_WRAP.keys() == ModelWrapSpec.model_fields.keys()


LOUD = ToolWrapSpec(map_result="<result>!")
PREFIX = ToolWrapSpec(prefix_result="> ")


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        (AppendInstruction(op="append_instruction", text="x"), True),
        (ToolWrapSpec(), True),
        (PREFIX, True),
        (LOUD, False),
        (ToolWrapSpec(set_stream=("a",)), False),
        (ToolWrapSpec(catch_error="sorry"), False),
        (ToolWrapSpec(by_tool={"t": PREFIX}), True),
        (ToolWrapSpec(by_tool={"t": LOUD}), False),
        (ModelWrapSpec(append_input="user:x"), True),
        (ModelWrapSpec(map_output="<content>!"), False),
        (ModelWrapSpec(set_content="x"), False),
        (ModelWrapSpec(concat_stream=True, map_output="<content>!"), True),
        (HandlerSpec(before_model=()), True),
        (HandlerSpec(wrap_invokable=PREFIX, wrap_streamable=PREFIX), True),
        (HandlerSpec(wrap_invokable=PREFIX), False),
        (HandlerSpec(wrap_invokable=LOUD, wrap_streamable=LOUD), False),
        (HandlerSpec(wrap_model=ModelWrapSpec(set_content="x")), False),
        (MiddlewareSpec(additional_instruction="x"), True),
        (MiddlewareSpec(wrap_tool_call=WrapToolCallSpec(streamable=PREFIX)), False),
    ],
    ids=repr,
)
def test_an_operation_is_tagged_with_whether_it_distributes(
    what: Any, answer: bool
) -> None:
    assert distributes(what) is answer


def test_only_parts_of_extensions_are_tagged() -> None:
    with pytest.raises(TypeError, match="is not an operation, wrap, handler"):
        distributes(AgentSpec())


def test_without_hypothesis_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import refengine.testing.strategies.variants\n"
        "import refengine.testing.subject_worlds.worlds\n"
        "from refengine.testing.strategies import scenarios"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: refengine.testing.strategies needs Hypothesis, which the"
        " extra 'testing' brings: pip install 'hypothesis>=6.150' 'pytest>=8'"
    )
