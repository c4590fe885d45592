"""Generated worlds: the frameworks do in them what their profiles say."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compat.engines.capabilities import refusal_of
from compat.engines.langchain import LangChainEngine
from compat.engines.langgraph import LangGraphEngine
from compat.profiles.comparing import played
from compat.profiles.confirming import projected
from refengine.profile import LANGCHAIN_1, LANGGRAPH_PREBUILT_1
from refengine.testing.clock import run
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import first_divergence

searching = settings(
    max_examples=30,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TEXTS = st.sampled_from(["a", "", "two\nlines", "é 検索", "[x"])
ARGUMENTS = st.sampled_from(["{}", '{"q":"a"}', '{"q": [1, 2.5, null]}'])
TOOLS = [
    {"name": "t", "result": "rt <args>", "delay_ms": 20},
    {"name": "u", "result": "ru", "delay_ms": 10},
]

messages = st.builds("{}:{}".format, st.sampled_from(["user", "assistant"]), TEXTS)
edits = st.one_of(
    st.just({"op": "record"}),
    st.builds(lambda m: {"op": "append", "msg": m}, messages),
    st.builds(lambda m: {"op": "prepend", "msg": m}, messages),
    st.builds(lambda t: {"op": "set_last_content", "content": t}, TEXTS),
    st.builds(lambda n: {"op": "keep_last", "n": n}, st.integers(1, 4)),
    st.just({"op": "keep_first_and_last"}),
    st.just({"op": "error", "text": "no"}),
)
hook = st.lists(edits, max_size=2)
tool_wrap = st.fixed_dictionaries(
    {},
    optional={
        "record_enter": st.just("w"),
        "rewrite_args": ARGUMENTS,
        "short_circuit": TEXTS,
        "call_next": st.integers(1, 2),
        "prefix_result": TEXTS,
        "catch_error": st.just("saw <error>"),
    },
)
model_wrap = st.fixed_dictionaries(
    {}, optional={"map_output": st.just("(<content>)"), "append_input": messages}
)


@st.composite
def answers(draw: st.DrawFn, *, alone: bool) -> list[str]:
    """Draw a script; ids of calls are used once, and the last answer calls nothing."""
    script = []
    several = [] if alone else [["t", "u"], ["u", "t"]]
    for turn in range(draw(st.integers(0, 2))):
        names = draw(st.sampled_from([[], ["gone"], ["t"], *several]))
        calls = [f"[{turn}{name}:{name}({draw(ARGUMENTS)})]" for name in names]
        script.append(f"assistant:{draw(st.sampled_from(['', 'b']))}{''.join(calls)}")
    return [*script, "assistant:end"]


@st.composite
def worlds(draw: st.DrawFn, **more: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Draw a world with nothing in it that one of the frameworks has no place for.

    Wrapped calls stand alone in their message: a framework sends each wrapper through
    another thread, where a virtual clock knows no order.
    """
    optional = {
        "before_model": hook,
        "after_model": hook,
        "wrap_invokable": tool_wrap,
        **more,
    }
    made = draw(st.lists(st.fixed_dictionaries({}, optional=optional), max_size=3))
    wrapped = any("wrap_invokable" in each for each in made)
    streaming = "wrap_model" not in more and draw(st.booleans())
    direct = draw(st.lists(st.sampled_from(["t", "u"]), max_size=1))
    agent = {
        "instruction": draw(TEXTS),
        "tools": TOOLS if not wrapped else TOOLS[: draw(st.integers(0, 2))],
        "return_directly": dict.fromkeys(direct, True),
        "handlers": [{"id": f"h{at}", **each} for at, each in enumerate(made) if each],
    }
    return {
        "agent": agent,
        "model_script": draw(answers(alone=wrapped)),
        "runs": [{"input": ["user:hi"], "streaming": streaming}],
    }


def held_against(engine, under, world) -> None:
    scenario = read_scenario(world)
    theirs = run(play(scenario, engine))
    ours = played(scenario, under)

    assert refusal_of(theirs) is None
    assert first_divergence(projected(theirs), projected(ours)) is None


RECORD = st.just([{"op": "record"}])


@searching
@given(worlds(before_agent=RECORD, after_agent=RECORD, wrap_model=model_wrap))
def test_langchain_does_in_any_world_what_its_profile_says(world) -> None:
    held_against(LangChainEngine(), LANGCHAIN_1, world)


@searching
@given(worlds())
def test_streamed_or_not_too(world) -> None:
    held_against(LangChainEngine(), LANGCHAIN_1, world)


def leaves_the_answer_last(world) -> bool:
    """Tell whether direct calls are what their posture says they are.

    The router of LangGraph asks after each call on its own, and misses a sibling that
    is direct if a hook has put something between the calls and their results.
    """
    edited = any("after_model" in each for each in world["agent"]["handlers"])
    return not (edited and world["agent"]["return_directly"])


@searching
@given(worlds().filter(leaves_the_answer_last))
def test_langgraph_does_in_any_world_what_its_profile_says(world) -> None:
    held_against(LangGraphEngine(), LANGGRAPH_PREBUILT_1, world)


@pytest.mark.parametrize("engine", [LangChainEngine(), LangGraphEngine()])
def test_the_other_profile_is_found_to_be_wrong(engine) -> None:
    """A comparison that could not fail would be worth nothing."""
    world = {
        "agent": {
            "tools": TOOLS,
            "handlers": [{"id": n, "after_model": [{"op": "record"}]} for n in "ab"],
        },
        "model_script": ["assistant:end"],
        "runs": [{"input": ["user:hi"]}],
    }
    other = LANGGRAPH_PREBUILT_1 if engine.name == "langchain" else LANGCHAIN_1
    with pytest.raises(AssertionError):
        held_against(engine, other, world)
