"""The doors to LangChain and LangGraph: what they wire, refuse and tell."""

import asyncio
import warnings
from typing import Any, cast

import pytest
from langchain_core.messages import HumanMessage
from langgraph.prebuilt import create_react_agent

from compat.adapters import adapt
from compat.engines.capabilities import CAPABILITIES, CapabilityError, refusal_of
from compat.engines.graphs.frame import FRAME, Frame
from compat.engines.graphs.values import DoorModel, DoorTool
from compat.engines.langchain import LangChainEngine
from compat.engines.langgraph import LangGraphEngine
from compat.profiles.confirming import projected
from refengine.agent import ChatModelAgentConfig
from refengine.messages import Message
from refengine.profile import LANGCHAIN_1, LANGGRAPH_PREBUILT_1
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.ops import ToolSpec
from refengine.testing.scenario_files import read_scenario
from refengine.testing.scripted import RecordingTool, ScriptedModel
from refengine.testing.session import play
from refengine.testing.trace import first_divergence
from refengine.tools import ToolMiddleware, ToolsConfig
from tests.framework_support import (
    FAIL,
    ONE_CALL,
    OURS_ALONE,
    SAME,
    TOOL,
    handler,
    trace_of,
)

NEW, OLD = LangChainEngine(), LangGraphEngine()
PROFILE = {NEW: LANGCHAIN_1, OLD: LANGGRAPH_PREBUILT_1}
both = pytest.mark.parametrize("engine", [NEW, OLD], ids=lambda each: each.name)


def reference(engine) -> ReferenceEngine:
    return ReferenceEngine(PROFILE[engine])


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("streaming", [False, True], ids=["invoke", "stream"])
@both
def test_a_framework_does_what_its_profile_says(engine, streaming, name) -> None:
    made = {**SAME[name], "run_": {"streaming": streaming}}
    theirs = projected(trace_of(engine, **made))
    ours = projected(trace_of(reference(engine), **made))

    assert first_divergence(theirs, ours) is None
    assert theirs[-1]["kind"] == "run_end"


AROUND = [
    handler(
        name,
        before_agent=[{"op": "record"}],
        wrap_model={"record": name, "map_output": f"{name}(<content>)"},
        after_agent=[{"op": "record"}],
    )
    for name in "AB"
]


@pytest.mark.parametrize(
    "handlers",
    [
        AROUND,
        [handler(before_agent=FAIL)],
        [handler(after_agent=FAIL)],
        [handler(wrap_model={"append_input": "user:also", "hide_tools": ["t"]})],
    ],
)
def test_hooks_that_only_langchain_has_do_what_its_profile_says(handlers) -> None:
    made = {
        "script": ONE_CALL,
        "tools": [TOOL],
        "instruction": "Be brief.",
        "handlers": handlers,
    }
    theirs, ours = (projected(trace_of(e, **made)) for e in (NEW, reference(NEW)))

    assert first_divergence(theirs, ours) is None


def test_a_second_turn_goes_on_from_the_state_without_the_instruction() -> None:
    scenario = read_scenario(
        {
            "agent": {"instruction": "Be brief."},
            "model_script": ["assistant:one", "assistant:two"],
            "runs": [{"input": ["user:a"]}, {"input": ["user:b"], "continues": True}],
        }
    )
    for engine in (NEW, OLD):
        last: Any = run(play(scenario, engine)).of("model_request")[-1]

        assert [each.content for each in last.data["messages"]] == [
            "Be brief.",
            "a",
            "one",
            "b",
        ]


@both
def test_an_answer_is_streamed_in_the_model_s_chunks(engine) -> None:
    trace = trace_of(engine, ["assistant:one two three"], run_={"streaming": True})
    [told] = trace.of("event")

    assert told.data["stream"] == [
        "assistant:one ",
        "assistant:two ",
        "assistant:three",
    ]


@both
def test_a_stream_that_fails_tells_its_chunks_and_then_the_error(engine) -> None:
    script = [{"chunks": ["assistant:one ", "assistant:two"], "stream_error": "no"}]
    trace = trace_of(engine, script, run_={"streaming": True})
    streamed, failed = cast("list[Any]", list(trace.of("event")))

    assert streamed.data["stream"] == ["assistant:one ", "assistant:two"]
    assert streamed.data["stream_error"] == "no"
    assert failed.data["error"]["point"] == "model"


STREAMED = {**TOOL, "kind": "streamable", "chunks": ["a"]}
REFUSED = {
    "wrap_streamable": {"handlers": [handler(wrap_streamable={})]},
    "struct_instruction": {"middlewares": [{"additional_instruction": "x"}]},
    "struct_model_hooks": {"middlewares": [{"before_chat_model": [{"op": "record"}]}]},
    "struct_tool_wrappers": {"middlewares": [{"wrap_tool_call": {"invokable": {}}}]},
    "tool_call_middlewares": {"tool_call_middlewares": [{}]},
    "unknown_tools_handler": {"unknown_tools_handler": "none"},
    "sequential": {"sequential": True},
    "streamable_tools": {"tools": [STREAMED]},
    "resume": {"run_": {"checkpoint": "kept"}},
    "retry": {"retry": {"max_retries": 1}},
}
REFUSED_BY_OLD = {
    "before_agent": {"handlers": [handler(before_agent=[])]},
    "after_agent": {"handlers": [handler(after_agent=[])]},
    "wrap_model": {"handlers": [handler(wrap_model={})]},
    "struct_tools": {"middlewares": [{"additional_tools": [TOOL]}]},
}
ADD = [{"op": "append_instruction", "text": "x"}]
SET = [{"op": "ctx_set", "key": "h", "value": 1}]
REFUSED_AT_WORK = {
    "edited_config": (NEW, {"handlers": [handler(before_agent=ADD)]}),
    "context": (OLD, {"handlers": [handler(before_model=SET)]}),
    "run_options": (OLD, {"run_": {"options": {"x": 1}}}),
    "streamed_model_wraps": (
        NEW,
        {"handlers": [handler(wrap_model={})], "run_": {"streaming": True}},
    ),
    "arguments_text": (NEW, {"script": ["assistant:[1:t(x)]"]}),
}


@pytest.mark.parametrize("capability", [*REFUSED, *REFUSED_BY_OLD])
def test_what_the_old_form_lacks_is_refused_at_build(capability: str) -> None:
    made = (REFUSED | REFUSED_BY_OLD)[capability]
    [told] = trace_of(OLD, ["assistant:x"], **made)

    assert told.kind == "build_error"
    assert f"langgraph does not declare {capability!r}, which" in str(told.data)


@pytest.mark.parametrize("capability", REFUSED)
def test_what_the_new_form_lacks_is_refused_at_build(capability: str) -> None:
    [told] = trace_of(NEW, ["assistant:x"], **REFUSED[capability])

    assert told.kind == "build_error"
    assert f"langchain does not declare {capability!r}, which" in str(told.data)


@pytest.mark.parametrize("capability", REFUSED_AT_WORK)
def test_what_shows_only_at_work_ends_the_run_with_the_refusal(capability: str) -> None:
    engine, made = REFUSED_AT_WORK[capability]
    trace = trace_of(engine, made.get("script", ["assistant:x"]), **without(made))

    assert f"does not declare {capability!r}, which" in (refusal_of(trace) or "")
    assert trace.of("event")[-1].data["class"] == "CapabilityError"


def without(made: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in made.items() if key != "script"}


def test_a_wrapper_that_catches_everything_cannot_hide_a_refusal() -> None:
    wraps = {"rewrite_args": "no JSON", "catch_error": "hidden"}
    trace = trace_of(
        NEW, ONE_CALL, tools=[TOOL], handlers=[handler(wrap_invokable=wraps)]
    )

    assert "arguments_text" in (refusal_of(trace) or "")


def test_an_adapted_struct_is_refused() -> None:
    wraps = ToolMiddleware(invokable=lambda inner: inner)
    config = config_of(handlers=adapt([AgentMiddleware(wrap_tool_call=wraps)]))
    with pytest.raises(CapabilityError) as caught:
        run(NEW.build(config, lambda notice: None))

    assert caught.value.capability == "adapted_structs"
    assert caught.value.where == "bind_tool of handler 'legacy-middleware[0]'"


def config_of(script=("assistant:ok",), **parts) -> ChatModelAgentConfig:
    return ChatModelAgentConfig(
        name="demo", description="", model=ScriptedModel(script), **parts
    )


def test_every_capability_is_declared_by_some_door_or_refused_in_these_tests() -> None:
    refused = {*REFUSED, *REFUSED_BY_OLD, *REFUSED_AT_WORK, "adapted_structs"}
    # Of whoever judges: a graph of that size is no end, and a run is cancelled outside.
    refused |= {"many_extensions", "cancellation"}
    refused |= OURS_ALONE
    refused |= {"fall_back"}  # whoever has no retry never comes so far

    assert NEW.capabilities | refused == CAPABILITIES.keys()
    assert OLD.capabilities | refused | {"wrap_tool"} >= NEW.capabilities


@both
def test_building_gives_no_warning_that_the_function_is_deprecated(engine) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(engine.build(config_of(), lambda notice: None))


async def left_early(engine):
    tool = RecordingTool(ToolSpec(name="t", result="r"))
    config = config_of(ONE_CALL, tools_config=ToolsConfig(tools=[tool]))
    agent = await engine.build(config, lambda notice: None)
    async with agent.run([Message("user", "hi")]) as running:
        event = await anext(aiter(running))
    return event, running.outcome, tool.executions


@both
def test_a_run_that_is_left_goes_no_further(engine) -> None:
    event, outcome, executions = run(left_early(engine))

    assert event.kind == "model"
    assert outcome.status == "cancelled"
    assert executions == 0


async def two_at_once(engine):
    class Echo:
        async def invoke(self, ctx, messages, tools, options):
            await asyncio.sleep(0.01)
            return Message("assistant", messages[-1].content)

    config = ChatModelAgentConfig(name="demo", description="", model=Echo())
    agent = await engine.build(config, lambda notice: None)

    async def one(text: str) -> str:
        async with agent.run([Message("user", text)]) as running:
            return [event.message.content async for event in running][-1]

    return await asyncio.gather(one("a"), one("b"))


@both
def test_runs_at_once_see_only_their_own(engine) -> None:
    assert run(two_at_once(engine)) == ["a", "b"]


def test_an_after_agent_hook_takes_a_step_of_the_last_iteration() -> None:
    last = [handler(after_agent=[])]
    trace = trace_of(NEW, ["assistant:done"], handlers=last, max_iterations=1)

    event: Any = trace.of("event")[-1]
    assert event.data["error"]["point"] == "max_iterations"
    assert (
        trace_of(NEW, ["assistant:done"], handlers=last, max_iterations=2)
        .of("run_end")[0]
        .data["status"]
        == "completed"
    )


async def with_a_model_bound_to_fewer_tools() -> tuple[str, int]:
    tool = RecordingTool(ToolSpec(name="t", result="r"))
    model = DoorModel(ScriptedModel(ONE_CALL))
    FRAME.set(Frame("langgraph", ("demo",)))
    graph: Any = create_react_agent(lambda state, runtime: model, [DoorTool(tool)])
    state = await graph.ainvoke({"messages": [HumanMessage("hi")]})
    return state["messages"][-1].text, tool.executions


@pytest.mark.filterwarnings("ignore::langgraph.warnings.LangGraphDeprecatedSinceV10")
def test_the_old_form_runs_a_tool_that_the_model_was_not_told_of() -> None:
    assert run(with_a_model_bound_to_fewer_tools()) == ("done", 1)
