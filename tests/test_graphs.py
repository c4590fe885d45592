"""Graphs of LangGraph and LangChain in a world: what is seen of them, and what not."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelRequest,
    after_model,
    before_model,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt

from refengine.testing import Trace, World, read_scenario
from refengine.testing.subjects import Played, SubjectError, Way, play_alone

Build = Callable[[World], Any]
WAYS: tuple[Way, ...] = ("sync", "async")

AGENT = {
    "instruction": "Be brief.",
    "tools": [{"name": "t", "result": "r <args>"}, {"name": "u", "result": "x"}],
}
CALLS = ['assistant:one two [c1:t({"q": 1})][c2:u({})]', "assistant:done it"]


def older(world: World, **more: Any) -> Any:
    face = world.as_langchain()
    return create_react_agent(face.model, face.tools, prompt=face.system_prompt, **more)


def newer(world: World, *middleware: Any, **more: Any) -> Any:
    face = world.as_langchain()
    return create_agent(
        face.model,
        face.tools,
        system_prompt=face.system_prompt,
        middleware=middleware,
        **more,
    )


def scenario(script: list[Any], *runs: dict[str, Any], way: str = "sync", **more: Any):
    world = {"agent": AGENT, "model_script": script, "runs": runs or [hi()], **more}
    return read_scenario({**world, "way": way}, "here")


def hi(**more: Any) -> dict[str, Any]:
    return {"input": ["user:hi"], **more}


def play(world: Any, build: Build) -> Played:
    return play_alone(world, build)


def data_of(trace: Trace, kind: Any) -> list[Any]:
    return [each.canonical()["data"] for each in trace.of(kind)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("build", [older, newer], ids=["langgraph", "langchain"])
def test_request_shows_messages_tools_and_settings(build: Build, way: Way) -> None:
    played = play(scenario(CALLS, way=way), build)

    first, second = data_of(played.trace, "model_request")
    assert played.way == way
    assert first["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ]
    assert [each["name"] for each in first["tools"]] == ["t", "u"]
    assert first["options"] == {}
    assert [each["role"] for each in second["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("build", [older, newer], ids=["langgraph", "langchain"])
def test_tools_are_seen_with_their_calls_in_order(build: Build, way: Way) -> None:
    trace = play(scenario(CALLS, hi(streaming=True), way=way), build).trace

    started = [(each.call_id, each.data["name"]) for each in trace.of("tool_start")]
    assert started == [("c1", "t"), ("c2", "u")]
    assert data_of(trace, "tool_end") == [{"result": 'r {"q": 1}'}, {"result": "x"}]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("build", [older, newer], ids=["langgraph", "langchain"])
def test_consumer_gets_the_text_in_pieces(build: Build, way: Way) -> None:
    trace = play(scenario(CALLS, hi(streaming=True), way=way), build).trace

    events = data_of(trace, "event")
    assert [each["kind"] for each in events] == ["model", "tool", "tool", "model"]
    assert events[0]["whole"] == {
        "text": "one two ",
        "tool_calls": [["c1", "t", '{"q": 1}'], ["c2", "u", "{}"]],
    }
    assert events[3]["stream"] == ["done ", "it"]


def test_settings_and_tool_choice_are_seen() -> None:
    @wrap_model_call
    def asks(request: ModelRequest, handler: Any) -> Any:
        settings = {"temperature": 0.5, "parallel_tool_calls": False}
        return handler(request.override(tool_choice="t", model_settings=settings))

    trace = play(scenario(["assistant:a"]), lambda w: newer(w, asks)).trace

    assert data_of(trace, "model_request")[0]["options"] == {
        "temperature": 0.5,
        "parallel_tool_calls": False,
        "tool_choice": "t",
    }


def test_second_model_is_named_and_plays_the_same_script() -> None:
    @wrap_model_call
    def falls_back(request: ModelRequest, handler: Any) -> Any:
        try:
            return handler(request)
        except RuntimeError:
            backup = worlds[0].as_langchain().model_named("backup")
            return handler(request.override(model=backup))

    worlds: list[World] = []

    def build(world: World) -> Any:
        worlds.append(world)
        return newer(world, falls_back)

    trace = play(scenario([{"error": "RuntimeError"}, "assistant:a"]), build).trace

    requests = data_of(trace, "model_request")
    assert [each["options"] for each in requests] == [{}, {"model": "backup"}]
    assert data_of(trace, "run_end")[0]["answer"]["content"] == "a"


def test_turn_without_a_checkpointer_is_given_what_was_left() -> None:
    world = scenario(["assistant:a", "assistant:b"], hi(), hi(continues=True))
    trace = play(world, older).trace

    asked = data_of(trace, "model_request")[1]["messages"]
    assert [each["content"] for each in asked] == ["Be brief.", "hi", "a", "hi"]


@pytest.mark.parametrize("way", WAYS)
def test_turn_with_a_checkpointer_continues_its_thread(way: Way) -> None:
    script = ["assistant:a", "assistant:b", "assistant:c"]
    world = scenario(script, hi(), hi(continues=True), hi(), way=way)
    trace = play(world, lambda w: newer(w, checkpointer=InMemorySaver())).trace

    given = [len(each["messages"]) for each in data_of(trace, "run_start")]
    asked = [len(each["messages"]) for each in data_of(trace, "model_request")]
    assert (given, asked) == ([1, 1, 1], [2, 4, 2])


def test_keys_of_the_state_are_kept_and_the_frameworks_own_are_not() -> None:
    limit = ModelCallLimitMiddleware(run_limit=3)
    world = scenario(["assistant:a"])
    trace = play(world, lambda w: newer(w, limit)).trace

    assert data_of(trace, "run_end")[0]["values"] == {}


@pytest.mark.parametrize("way", WAYS)
def test_error_of_the_model_has_class_and_point(way: Way) -> None:
    world = scenario([{"error": "TimeoutError"}], way=way)
    trace = play(world, newer).trace

    (event,) = data_of(trace, "event")
    assert (event["class"], event["error"]["point"]) == ("TimeoutError", "model")
    assert data_of(trace, "run_end")[0]["status"] == "error"


@pytest.mark.parametrize("way", WAYS)
def test_cut_stream_shows_what_came_before(way: Way) -> None:
    cut = {"chunks": ["assistant:so ", "assistant:far"], "stream_error": "cut off"}
    trace = play(scenario([cut], hi(streaming=True), way=way), older).trace

    first, last = data_of(trace, "event")
    assert (first["whole"]["text"], first["stream_error"]) == ("so far", "cut off")
    assert (last["kind"], last["class"]) == ("error", "ScriptedError")


@pytest.mark.parametrize("build", [older, newer], ids=["langgraph", "langchain"])
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_what_a_call_does_after_one_that_failed_is_left_to_luck(
    build: Build, way: Way, *, streaming: bool
) -> None:
    tools = [{"name": "t", "error": "boom"}, {"name": "u", "result": "x"}]
    for _ in range(20):
        world = scenario(
            CALLS, hi(streaming=streaming), way=way, agent={"tools": tools}
        )
        trace = play(world, build).trace
        assert [each.call_id for each in trace.of("tool_start")] == ["c1"]
        assert [each.seq for each in trace] == list(range(len(trace)))
        assert data_of(trace, "event")[-1]["class"] == "ScriptedError"


@pytest.mark.parametrize("way", WAYS)
def test_of_several_errors_that_of_the_first_call_comes_out(way: Way) -> None:
    tools = [{"name": "t", "error": "TimeoutError"}, {"name": "u", "error": "KeyError"}]
    for streaming in (False, True) * 10:
        world = scenario(
            CALLS, hi(streaming=streaming), way=way, agent={"tools": tools}
        )
        event = data_of(play(world, newer).trace, "event")[-1]
        assert event["class"] == "TimeoutError"


def test_tool_of_the_subject_is_seen_too() -> None:
    @tool
    def own(q: int) -> str:
        """Double."""
        return str(2 * q)

    def build(world: World) -> Any:
        face = world.as_langchain()
        return create_agent(face.model, [*face.tools, own])

    trace = play(scenario(['assistant:[c1:own({"q": 4})]', "assistant:a"]), build).trace

    (started,) = trace.of("tool_start")
    assert (started.call_id, started.data["name"]) == ("c1", "own")
    assert data_of(trace, "tool_end") == [{"result": "8"}]


def test_hook_that_waits_costs_no_time() -> None:
    waited: list[float] = []

    def build(world: World) -> Any:
        @wrap_model_call
        def waits(request: ModelRequest, handler: Any) -> Any:
            before = world.now()
            time.sleep(3600)
            waited.append(world.now() - before)
            return handler(request)

        return newer(world, waits)

    play(scenario(["assistant:a"]), build)

    assert waited == [3600.0]
    assert time.sleep is SLEEP


SLEEP = time.sleep


def test_graph_that_is_only_plain_is_played_so() -> None:
    @wrap_model_call
    def plain(request: ModelRequest, handler: Any) -> Any:
        return handler(request)

    played = play(scenario(["assistant:a"], way="async"), lambda w: newer(w, plain))

    assert played.way == "sync"
    (built,) = data_of(played.trace, "build")
    assert (built["asked"], built["way"]) == ("async", "sync")
    assert "awrap_model_call" in built["lost"]


@pytest.mark.parametrize("hook", ["node", "model", "tool", "older"])
def test_graph_that_is_only_async_is_played_so(hook: str) -> None:
    async def node(*_: Any) -> None:
        return None

    @wrap_model_call
    async def model(request: Any, handler: Any) -> Any:
        return await handler(request)

    @wrap_tool_call
    async def calls(request: Any, handler: Any) -> Any:
        return await handler(request)

    @before_model
    async def before(state: Any, runtime: Any) -> None:
        return None

    builds: dict[str, Build] = {
        "node": lambda w: newer(w, before),
        "model": lambda w: newer(w, model),
        "tool": lambda w: newer(w, calls),
        "older": lambda w: older(w, post_model_hook=node),
    }
    played = play(scenario(CALLS, way="sync"), builds[hook])

    assert played.way == "async"
    assert len(played.trace.of("tool_start")) == 2


def test_way_that_nobody_asks_for_is_an_error_of_the_run() -> None:
    @before_model
    async def before(state: Any, runtime: Any) -> None:
        return None

    played = play_alone(
        scenario(["assistant:a"]), lambda w: newer(w, before), ways=["sync"]
    )

    assert data_of(played.trace, "event")[0]["class"] == "TypeError"


def test_nodes_are_counted_also_if_they_never_run() -> None:
    @after_model
    def looks(state: Any, runtime: Any) -> None:
        return None

    played = play(scenario([{"error": "boom"}]), lambda w: newer(w, looks))

    assert played.hooks == {
        "node model": 1,
        "node tools": 0,
        "node looks.after_model": 0,
    }


def test_person_denies_what_the_scenario_says() -> None:
    @wrap_tool_call
    def asks(request: Any, handler: Any) -> Any:
        if worlds[-1].as_langchain().approves(request.tool_call):
            return handler(request)
        return ToolMessage("no", tool_call_id=request.tool_call["id"])

    worlds: list[World] = []

    def build(world: World) -> Any:
        worlds.append(world)
        return newer(world, asks)

    trace = play(scenario(CALLS, hi(denies=["c1"])), build).trace

    assert [each.call_id for each in trace.of("tool_start")] == ["c2"]
    effects = [(each.call_id, each.data["data"]) for each in trace.of("effect")]
    assert effects == [
        ("c1", {"name": "t", "args": {"q": 1}, "approved": False}),
        ("c2", {"name": "u", "args": {}, "approved": True}),
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("streaming", [False, True])
def test_request_for_approval_is_answered(way: Way, *, streaming: bool) -> None:
    asks = HumanInTheLoopMiddleware(interrupt_on={"t": True, "u": True})
    world = scenario(CALLS, hi(denies=["c2"], streaming=streaming), way=way)
    saver = InMemorySaver()
    trace = play(world, lambda w: newer(w, asks, checkpointer=saver)).trace

    assert [each.call_id for each in trace.of("tool_start")] == ["c1"]
    assert len(trace.of("interrupt")) == 1
    assert data_of(trace, "run_end")[0]["answer"]["content"] == "done it"


@pytest.mark.parametrize("way", WAYS)
def test_interrupt_without_a_checkpointer_is_how_the_run_ends(way: Way) -> None:
    asks = HumanInTheLoopMiddleware(interrupt_on={"t": True})
    trace = play(scenario(CALLS, way=way), lambda w: newer(w, asks)).trace

    assert data_of(trace, "run_end")[0]["status"] == "error"


def test_answer_of_the_subjects_own_goes_before_all_others() -> None:
    def build(world: World) -> Any:
        @before_model
        def stops(state: Any, runtime: Any) -> Any:
            return {"messages": [AIMessage(str(interrupt("sure?")))]}

        world.as_langchain().answer_interrupts(lambda value: f"{value} yes")
        return newer(world, stops, checkpointer=InMemorySaver())

    trace = play(scenario(["assistant:a"]), build).trace

    left = data_of(trace, "run_end")[0]["messages"]
    assert left[1]["content"] == "sure? yes"


def test_options_reach_configuration_and_context() -> None:
    seen: list[Any] = []

    def prompt(state: Any, config: RunnableConfig) -> Any:
        seen.append(config.get("configurable", {}).get("who"))
        return state["messages"]

    @before_model
    def looks(state: Any, runtime: Any) -> None:
        seen.append(runtime.context.get("who"))

    def build(world: World) -> Any:
        face = world.as_langchain()
        return create_react_agent(face.model, face.tools, prompt=prompt)

    world = scenario(["assistant:a"], hi(options={"who": "me"}))
    play(world, build)
    play(world, lambda w: newer(w, looks))

    assert seen == ["me", "me"]


def test_context_without_values_is_there() -> None:
    seen: list[Any] = []

    @before_model
    def looks(state: Any, runtime: Any) -> None:
        seen.append(runtime.context.get("who", "nobody"))

    play(scenario(["assistant:a"]), lambda w: newer(w, looks))

    assert seen == ["nobody"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("own", [False, True])
def test_arguments_by_name_have_no_order(own: bool, way: Way) -> None:
    @tool
    def mine(**given: Any) -> str:
        """Take anything."""
        return "x"

    def adds(order: Callable[[Any], Any]) -> Build:
        class Adds(AgentMiddleware[Any, Any]):
            def changed(self, request: Any) -> Any:
                call = request.tool_call
                return request.override(tool_call={**call, "args": order(call["args"])})

            def wrap_tool_call(self, request: Any, handler: Any) -> Any:
                return handler(self.changed(request))

            async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
                return await handler(self.changed(request))

        def build(world: World) -> Any:
            face = world.as_langchain()
            tools = [*face.tools, mine] if own else face.tools
            return create_agent(face.model, tools, middleware=[Adds()])

        return build

    name = "mine" if own else "t"
    world = scenario([f'assistant:[c1:{name}({{"q": 1}})]', "assistant:a"], way=way)
    first, last, other = (
        data_of(play(world, adds(order)).trace, "tool_start")
        for order in (
            lambda args: {"at": 2, **args},
            lambda args: {**args, "at": 2},
            lambda args: {**args, "at": 3},
        )
    )

    assert first == last != other


SEES_CONTEXTS: Final = """
from dataclasses import dataclass
from langchain.agents import create_agent
from langchain.agents.middleware import before_model

@dataclass
class Caller:
    who: str = "nobody"

def subject(world):
    @before_model
    def looks(state, runtime):
        {sees}
        world.effect("seen", type(caller).__name__)

    lc = world.as_langchain()
    return create_agent(lc.model, middleware=[looks], context_schema=Caller)
"""


@pytest.mark.parametrize(
    ("sees", "gives_none", "gives_one"),
    [
        ("caller = runtime.context", "Caller", "Caller"),
        ("caller = runtime.context if runtime.context else 1", "int", "Caller"),
        ("caller = runtime.context or 1", "int", "Caller"),
        (
            "caller = runtime.context\n        if caller is None: caller = 1",
            "int",
            "Caller",
        ),
        (
            "caller = runtime.context\n        if not caller: caller = 1",
            "int",
            "Caller",
        ),
        (
            "caller = runtime.context\n        if not caller.who: caller = 1",
            "Caller",
            "Caller",
        ),
    ],
)
def test_who_looks_whether_there_is_a_context_meets_callers_without_one(
    sees: str, gives_none: str, gives_one: str, tmp_path: Path
) -> None:
    file = tmp_path / "side.py"
    file.write_text(SEES_CONTEXTS.format(sees=sees))
    found = {"__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), found)  # noqa: S102  # our own text
    world = scenario(["assistant:a"] * 2, hi(), hi(options={"who": "me"}))
    seen = data_of(play(world, found["subject"]).trace, "effect")

    assert [each["data"] for each in seen] == [gives_none, gives_one]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_hook_writes_to_the_stream_is_an_event(way: Way) -> None:
    @before_model
    def tells(state: Any, runtime: Any) -> None:
        runtime.stream_writer({"step": 1})

    world = scenario(["assistant:a"], hi(streaming=True), way=way)
    events = data_of(play(world, lambda w: newer(w, tells)).trace, "event")

    assert [each["kind"] for each in events] == ["custom", "model"]
    assert events[0]["whole"]["text"] == '{"step": 1}'


@pytest.mark.parametrize("way", WAYS)
def test_what_is_stored_is_kept_without_its_keys(way: Way) -> None:
    @after_model
    def remembers(state: Any, runtime: Any) -> None:
        runtime.store.put(("notes",), str(uuid4()), {"said": "a"})

    world = scenario(["assistant:a"], way=way)
    store = InMemoryStore()
    trace = play(world, lambda w: newer(w, remembers, store=store)).trace

    kept = data_of(trace, "run_end")[0]["values"]
    assert kept == {"(store)": [["notes", {"said": "a"}]]}


def test_callers_messages_are_looked_after() -> None:
    @before_model
    def edits(state: Any, runtime: Any) -> None:
        state["messages"][0].content = "changed"

    trace = play(scenario(["assistant:a"]), lambda w: newer(w, edits)).trace

    assert data_of(trace, "caller_object_changed") == [{"path": "messages"}]


def test_subject_that_asks_no_model_of_the_world_is_refused_for_several_agents() -> (
    None
):
    world = read_scenario(
        {"agents": [AGENT, AGENT], "model_script": [], "runs": []}, "here"
    )

    with pytest.raises(SubjectError, match="no place for a graph"):
        play(world, newer)


def test_model_that_is_not_the_worlds_is_refused() -> None:
    def build(world: World) -> Any:
        return create_agent(FakeListChatModel(responses=["a"]), [])

    with pytest.raises(SubjectError, match="which nobody sees"):
        play(scenario(["assistant:a"]), build)


@pytest.mark.parametrize("build", [older, newer], ids=["langgraph", "langchain"])
@pytest.mark.parametrize("streaming", [False, True])
def test_both_ways_show_the_same(build: Build, *, streaming: bool) -> None:
    traces = [
        play(scenario(CALLS, hi(streaming=streaming), way=way), build).trace
        for way in WAYS
    ]

    plain, other = (
        [each.canonical()["data"] for each in trace if each.kind != "build"]
        for trace in traces
    )
    assert sorted(map(str, plain)) == sorted(map(str, other))


@pytest.mark.parametrize(("answers", "ends"), [(False, "error"), (True, "completed")])
def test_arguments_that_do_not_fit_are_behaviour_wherever_they_end_a_run(answers, ends):
    """A world that is left out for it hides that the newer agent never ends there."""

    @tool
    def count(n: int) -> str:
        """Count."""
        return str(n)

    def subject(world: World) -> object:
        lc = world.as_langchain()
        tools = ToolNode([count], handle_tool_errors=answers)
        return create_react_agent(lc.model, tools)

    world = read_scenario(
        {
            "agent": {},
            "model_script": ['assistant:[c1:count({"n":"many"})]', "assistant:done"],
            "runs": [{"input": ["user:a"]}],
        }
    )
    played = play_alone(world, subject)

    assert played.refused is None
    assert played.trace.of("run_end")[0].data["status"] == ends
    assert not [*played.trace.of("tool_start")]


@pytest.mark.parametrize(("arguments", "times"), [('{"n":1}', 1), ('{"n":"many"}', 0)])
def test_tool_whose_calls_a_hook_always_answers_was_called(arguments, times):
    """Arguments that do not fit show nothing of it: no call would run it."""

    @tool
    def count(n: int) -> str:
        """Count."""
        return str(n)

    def refuse(state):
        asked = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("no", tool_call_id=c["id"]) for c in asked]}

    def subject(world: World) -> object:
        model = world.as_langchain().model
        return create_react_agent(model, [count], post_model_hook=refuse)

    script = [f"assistant:[c1:count({arguments})]", "assistant:done"]
    runs = [{"input": ["user:a"]}]
    world = read_scenario({"agent": {}, "model_script": script, "runs": runs})
    played = play_alone(world, subject)

    assert not [*played.trace.of("tool_start")]
    assert played.hooks["tool count"] == times


@pytest.mark.parametrize("way", WAYS)
def test_nodes_of_a_run_are_told_where_that_is_asked_for(way: Way) -> None:
    """With the smallest recursion limit that suffices, which one less does not."""

    @before_model
    def brief(state: Any, runtime: Any) -> None:
        return None

    def told(world: World) -> Any:
        world.tells_nodes = True
        return newer(world, brief)

    limited = [hi(steps=steps) for steps in (6, 5)]
    played = play(scenario(CALLS * 3, hi(), *limited, way=way), told)

    whole, fits, failed = data_of(played.trace, "run_end")
    steps = [["brief.before_model"], ["model"], ["tools", "tools"]]
    nodes = {"steps": [*steps, *steps[:2]], "smallest_recursion_limit": 6}
    assert whole["nodes"] == fits["nodes"] == nodes
    assert (fits["status"], failed["status"]) == ("completed", "error")
    assert "smallest_recursion_limit" not in failed["nodes"]
    silent = play(scenario(CALLS, way=way), lambda world: newer(world, brief))
    assert "nodes" not in data_of(silent.trace, "run_end")[0]
