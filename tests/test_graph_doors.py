"""What a graph is given and what is seen of it: one door a value, one call a tool."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import after_model, before_model
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # it has none
from langgraph.graph.message import add_messages  # pyright: ignore[reportMissingTypeStubs]  # as above
from langgraph.prebuilt import create_react_agent

from refengine.testing import Trace, World, read_scenario
from refengine.testing.graphs.calls import GivenTo
from refengine.testing.scenario import RunSpec
from refengine.testing.subject_worlds.named_values import (
    adk_words,
    doors_of,
    graph_words,
)
from refengine.testing.subjects import play_alone

CALLS = ['assistant:[c1:t({"q": 1})]', "assistant:done"]


def played(build: Any, script: list[Any] = CALLS, **run: Any) -> Trace:
    data = {
        "agent": {"tools": [{"name": "t", "result": "r"}]},
        "model_script": script,
        "runs": [{"input": ["user:hi"], **run}],
        "way": "sync",
    }
    return play_alone(read_scenario(data, "here"), build).trace


class Ranked(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    priority: str


def test_a_state_written_by_hand_is_given_its_keys() -> None:
    """It has no JSON schema before Python 3.12."""

    def build(world: World) -> object:
        graph = StateGraph(Ranked)

        def first(state: Ranked) -> dict[str, Any]:
            world.effect("priority", state.get("priority"))
            return {}

        graph.add_node("first", first)
        graph.add_edge(START, "first")
        return graph.compile()

    trace = played(build, options={"priority": "high"})

    assert [each.data["data"] for each in trace.of("effect")] == ["high"]


class Named(TypedDict):
    who: str


@dataclass
class Checked:
    who: str
    size: int


class Graph:
    def __init__(self, schema: Any) -> None:
        self.context_schema = schema

    def get_context_jsonschema(self) -> dict[str, Any]:
        names = self.context_schema.__annotations__
        fields = {name: {"type": "string"} for name in names}
        return {"properties": fields, "required": list(fields)}


BY_CONTEXT = "x = runtime.context.who"
BY_CONFIG = 'x = config["configurable"]["who"]'
OLDER = "create_react_agent(config_schema=Named)"
ANY = "any door"
BOTH = (("configurable",), False)
ME = {"who": "me"}


@pytest.mark.parametrize(
    ("schema", "source", "by", "configurable", "context"),
    [
        (Named, BY_CONTEXT, ANY, {}, ME),
        (Named, BY_CONFIG, ANY, {}, ME),  # the wrong door finds nothing
        (Named, f"{BY_CONFIG}\n{OLDER}", ANY, ME, ME),
        (Named, f"{BY_CONFIG}\n{BY_CONTEXT}", ANY, ME, ME),
        (None, BY_CONFIG, ANY, ME, ME),
        (None, BY_CONFIG, "context", {}, ME),  # OLD's caller gives a context
        (None, BY_CONTEXT, "configurable", ME, {}),  # no schema says that it moved
        (Named, BY_CONTEXT, "configurable", {}, ME),  # here one does
        (Named, f"{BY_CONFIG}\n{BY_CONTEXT}", "configurable", ME, {}),
        (None, BY_CONFIG, "state", {}, {}),
    ],
)
def test_value_is_given_through_the_door_that_is_declared(
    schema: Any, source: str, by: str, configurable: Any, context: Any
) -> None:
    given = GivenTo(Graph(schema), doors_of((source,)))
    given_by = {"options": ME} if by == ANY else {"doors": {by: ME}}
    run = RunSpec.model_validate(given_by)

    assert given.configurable(run) == configurable
    assert dict(given.context(run)) == context


def test_a_subject_says_by_which_door_its_caller_gives_a_value() -> None:
    run = RunSpec.model_validate({"options": {"a": 1}, "doors": {"state": ME}})
    given = GivenTo(Graph(None), {}, {"who": "context", "a": "configurable"})

    assert given.configurable(run) == {"a": 1}
    assert dict(given.context(run)) == ME
    assert GivenTo(Graph(None), {}, {"who": "metadata"}).metadata(run) == ME


def test_a_door_that_there_is_not_is_refused() -> None:
    def build(world: World) -> object:
        face: Any = world.as_langchain()
        return face.takes(who="config")

    with pytest.raises(ValueError, match=r"takes\(who='config'\): there are config"):
        played(build)


def test_fields_that_a_class_needs_are_there_and_those_of_a_mapping_are_not() -> None:
    nothing = RunSpec()

    assert GivenTo(Graph(Named), {}).context(nothing) == {}
    assert GivenTo(Graph(Checked), {}).context(nothing) == {"who": "a", "size": "a"}


def test_what_is_looked_for_in_metadata_is_given_there() -> None:
    doors = doors_of(('x = config["metadata"].get("tier")',))

    run = RunSpec(options={"tier": 1, "who": 2})

    assert GivenTo(Graph(None), doors).metadata(run) == {"tier": 1}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("ctx = runtime.context\nx = ctx.who", {"who": {"context"}}),
        (
            'KEY = "who"\nx = get_config()["configurable"][KEY]',
            {"who": {"configurable"}},
        ),
        (
            'c = config.get("configurable", {})\nx = c.get("who")',
            {"who": {"configurable"}},
        ),
        ('x = getattr(runtime.context, "who", None)', {"who": {"context"}}),
        (
            "class C(TypedDict):\n    who: str\ncreate_agent(context_schema=C)",
            {"who": {"context"}},
        ),
    ],
)
def test_doors_are_found_behind_other_names(source: str, found: Any) -> None:
    assert doors_of((source,)) == {name: frozenset(d) for name, d in found.items()}


WHO = 'x = runtime.context.get("who")\n'


@pytest.mark.parametrize(
    ("source", "beside"),
    [
        (WHO, [("other_context", ("context",))]),
        (
            'c = config["configurable"]\nx = c.get("who")',
            [("other_configurable", BOTH[0])],
        ),
        (f'{WHO}y = runtime.context.get("size")', []),  # each comes without the other
        ('x = runtime.context["who"]', []),  # it is always given
        (f"{WHO}class C(TypedDict):\n    who: str\ncreate_agent(context_schema=C)", []),
    ],
)
def test_something_else_is_given_where_one_value_is_looked_for(
    source: str, beside: Any
) -> None:
    schemas = {"who": [{"type": "string"}]} if "TypedDict" in source else {}
    found = graph_words([source], [source], schemas).options

    assert [(e.name, e.doors) for e in found if e.name.startswith("other_")] == beside


def test_numbers_that_a_value_is_compared_with_are_among_its_values() -> None:
    source = 'if config["configurable"].get("limit", 5) > 7: pass'
    (option,) = graph_words([source]).options

    assert all(number in option.values for number in (6, 7, 8))


def test_field_with_a_value_of_its_own_may_be_left_out() -> None:
    source = (
        "class C:\n    who: str\n    size: int = 3\n"
        "create_agent(context_schema=C)\nx = runtime.context.size"
    )
    needed = {each.name: each.needed for each in graph_words([source]).options}

    assert needed == {"who": True, "size": False}


OF_STATE = 'x = state.get("who")\nclass S:\n    who: str\n'


@pytest.mark.parametrize(
    ("old", "doors", "needed"),
    [
        (BY_CONTEXT, ("context",), True),
        (BY_CONFIG, ("configurable",), True),
        ('x = config["configurable"].get("who")', ("configurable",), False),
        (f"{OF_STATE}{BY_CONFIG}", ("configurable", "state"), True),
        (f'{BY_CONFIG}\ny = other.get("who")', (), True),  # perhaps by another name
        (f'{BY_CONFIG}\nif "who" in config["configurable"]: pass', *BOTH),
        (f"try:\n    {BY_CONFIG}\nexcept KeyError:\n    pass", *BOTH),
        (f"try:\n    {BY_CONFIG}\nexcept OSError:\n    pass", ("configurable",), True),
        ("pass", (), True),  # as NEW asks for it
    ],
)
def test_what_a_caller_gives_and_how_is_told_by_the_older_side(
    old: str, doors: Any, needed: bool
) -> None:
    option, *_ = graph_words([old, BY_CONTEXT], [old]).options

    assert (option.doors, option.needed) == (doors, needed)


DECLARED = (
    f"class Ctx:\n    who: str = ''\ncreate_agent(context_schema=Ctx)\n{BY_CONTEXT}"
)


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        (BY_CONFIG, BY_CONTEXT, [("configurable", "context", False)]),
        (BY_CONFIG, DECLARED, [("configurable", "context", True)]),
        (
            BY_CONFIG,
            f'takes(who="state")\n{OF_STATE}',
            [("configurable", "state", True)],
        ),
        (BY_CONTEXT, BY_CONFIG, [("context", "configurable", False)]),
        (BY_CONFIG, f"{BY_CONFIG}\n{BY_CONTEXT}", []),
        (f'{BY_CONFIG}\ny = other.get("who")', BY_CONTEXT, []),
        (BY_CONFIG, "pass", []),
    ],
)
def test_a_value_that_new_looks_for_elsewhere_is_told(
    old: str, new: str, moved: Any
) -> None:
    found = graph_words([old, new], [old]).moved

    assert [(each.old, each.new, each.declared) for each in found] == moved


def limited(world: World) -> Any:
    face = world.as_langchain()
    agent = create_react_agent(face.model, face.tools)
    return agent.with_config({"recursion_limit": 4})


def test_limit_of_the_subjects_own_is_kept() -> None:
    calls = [f"assistant:[c{at}:t({{}})]" for at in range(4)]
    trace = played(limited, [*calls, "assistant:done"])

    assert len(trace.of("model_request")) < 4


def test_caller_says_how_many_steps_a_run_may_take() -> None:
    calls = [f"assistant:[c{at}:t({{}})]" for at in range(4)]

    def build(world: World) -> Any:
        return create_react_agent(
            world.as_langchain().model, world.as_langchain().tools
        )

    assert len(played(build, [*calls, "assistant:done"]).of("model_request")) == 5
    short = played(build, [*calls, "assistant:done"], steps=4)
    assert len(short.of("model_request")) < 4


def by_hand(name: str) -> Callable[[World], Any]:
    """Return what builds a graph of one node of that name, which asks the model."""

    def build(world: World) -> Any:
        model = world.as_langchain().model
        graph = StateGraph(MessagesState)

        def asks(state: MessagesState) -> Any:
            return {"messages": [model.invoke(state["messages"])]}

        graph.add_node(name, asks)
        graph.add_edge(START, name)
        return graph.compile()

    return build


def test_kind_of_an_event_is_not_told_by_the_name_of_a_node() -> None:
    kinds = {
        name: [
            each.data["kind"]
            for each in played(by_hand(name), CALLS[1:], streaming=True).of("event")
        ]
        for name in ("agent", "llm", "tools")
    }

    assert kinds == {name: ["model"] for name in ("agent", "llm", "tools")}


def test_what_a_hook_says_is_no_answer_of_the_model() -> None:
    @after_model
    def adds(state: Any, runtime: Any) -> Any:
        return {"messages": [AIMessage("and more")]}

    def build(world: World) -> Any:
        return create_agent(world.as_langchain().model, [], middleware=[adds])

    events = played(build, CALLS[1:], streaming=True).of("event")

    assert [each.data["kind"] for each in events] == ["model", "hook"]


@tool("t")
def plain(q: int) -> str:
    """Say it."""
    return f"said {q}"


def counted(inner: BaseTool) -> BaseTool:
    """Return a tool of that name around another one."""

    def around(q: int) -> Any:
        return inner.invoke({"q": q})

    return StructuredTool.from_function(around, name=inner.name, description="t")


def cached(inner: BaseTool) -> BaseTool:
    """Return a tool around another one which it does not always need."""
    kept = {1: "kept", "inner": inner}

    def around(q: int) -> Any:
        return kept[q]

    return StructuredTool.from_function(around, name=inner.name, description="t")


@pytest.mark.parametrize(("wrapped", "times"), [(counted, 1), (cached, 0)])
def test_tool_around_another_one_of_its_name_is_no_second_execution(
    wrapped: Any, times: int
) -> None:
    def build(world: World) -> Any:
        return create_react_agent(world.as_langchain().model, [wrapped(plain)])

    assert len(played(build).of("tool_start")) == times


def test_own_tool_of_a_name_that_the_world_has_is_seen() -> None:
    def build(world: World) -> Any:
        return create_react_agent(world.as_langchain().model, [plain])

    (start,) = played(build).of("tool_start")
    assert start.data["implementation"] == "the subject's own t"


class Broken(InMemorySaver):
    """Keeps what it is given and cannot find it again."""

    def get_tuple(self, config: Any) -> Any:
        raise RuntimeError("the disk is gone")


def test_saver_that_fails_is_how_a_run_ends_and_no_fault_of_the_harness() -> None:
    def build(world: World) -> Any:
        @before_model
        def looks(state: Any, runtime: Any) -> None:
            raise ValueError("no")

        face = world.as_langchain()
        return create_agent(face.model, [], middleware=[looks], checkpointer=Broken())

    (end,) = played(build).of("run_end")

    assert end.data["status"] == "error"


@pytest.mark.parametrize(
    "source",
    [
        'role = state.get("role") or "guest"\nok = role in ("admin", "owner")',
        'STAFF = frozenset({"admin", "owner"})\nok = state.get("role") in STAFF',
        'STAFF = ["admin", "owner"]\nok = state.get("role") not in STAFF',
    ],
)
def test_values_are_those_of_what_is_looked_through(source: str) -> None:
    (option,) = adk_words([source]).options

    assert all(each in option.values for each in ("admin", "owner"))


@pytest.mark.parametrize(
    ("part", "longer"),
    [("[:2]", "de-DE"), (".split('_')[0]", "de_DE"), (".partition('@')[0]", "de@DE")],
)
def test_a_value_of_which_a_part_is_taken_is_longer_than_that_too(
    part: str, longer: str
) -> None:
    (option,) = adk_words([f'ok = state.get("code"){part} == "de"']).options

    assert all(each in option.values for each in ("de", longer))


def test_a_value_whose_default_is_a_text_is_no_number() -> None:
    (text,) = adk_words(['ok = state.get("code", "en").lower() == "de"']).options
    (other,) = adk_words(['ok = state.get("code") == "de"']).options

    assert [1 in each.values for each in (text, other)] == [False, True]
