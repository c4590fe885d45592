"""Real LangChain.js behind its driver: the same traces as the reference has."""

import subprocess
from pathlib import Path

import pytest

from compat.drivers.installed import node_driver
from compat.drivers.node_building import TSC
from compat.engines.capabilities import CAPABILITIES
from compat.engines.langchain import DECLARED as CREATE_AGENT
from compat.engines.loading import load_engine
from property_tests.checks import CHECKS
from property_tests.inferring import infer
from refengine.profile import differences, profile
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Trace, Written
from tests.node_support import needs_node

pytestmark = [needs_node, pytest.mark.usefixtures("driver_traffic")]

SCRIPT = ["assistant:[1:t({})]", "assistant:[2:u({})]", "assistant:done"]


def handler(number: int, *, wraps_model: bool) -> dict[str, object]:
    wrap_model = {"wrap_model": {"record": f"H{number}"}} if wraps_model else {}
    return {
        "id": f"H{number}",
        "before_agent": [{"op": "record"}],
        "before_model": [{"op": "append", "msg": f"user:m{number}"}],
        "after_model": [{"op": "record"}],
        "after_agent": [{"op": "record"}],
        "wrap_invokable": {"prefix_result": f"{number}>"},
        **wrap_model,
    }


def world(*, streaming: bool) -> dict[str, object]:
    handlers = [handler(at, wraps_model=not streaming) for at in (1, 2)]
    tool = {"name": "t", "result": "of <args>"}
    struct = {"id": "M", "additional_tools": [{"name": "u", "result": "u"}]}
    agent = {"name": "A", "instruction": "B", "tools": [tool]}
    return {
        "agent": {**agent, "middlewares": [struct], "handlers": handlers},
        "model_script": SCRIPT,
        "runs": [{"input": ["user:hi"], "streaming": streaming}],
    }


def seen(trace: Trace) -> list[dict[str, object]]:
    """Return what a trace says, but for warnings: a driver gives none."""
    numbers: Written = {}
    entries = [each for each in trace if each.kind != "warning"]
    return [{**each.canonical(numbers), "seq": 0} for each in entries]


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
def test_it_does_as_the_reference_does_under_its_profile(*, streaming: bool) -> None:
    scenario = read_scenario(world(streaming=streaming))
    engine = load_engine("langchain-js@1").engine

    theirs = seen(run(play(scenario, engine)))
    ours = seen(run(play(scenario, ReferenceEngine(profile("langchain-js-1")))))

    assert theirs == ours
    assert len(ours) > 20


def test_arguments_in_another_notation_stay_the_wrapper_s_own() -> None:
    rewritten = {"wrap_invokable": {"rewrite_args": '{"q":"a"}'}}
    scenario = read_scenario(
        {
            "agent": {
                "tools": [{"name": "t", "result": "of <args>"}],
                "handlers": [
                    {"id": "A", "wrap_invokable": {"set_input_name": "t"}},
                    {"id": "B", "after_model": [{"op": "record"}], **rewritten},
                    {"id": "C", "wrap_invokable": {"record": "C"}},
                ],
            },
            "model_script": ['assistant:[1:t({"q": "a"})]', "assistant:ok"],
            "runs": [{"input": ["user:hi"]}],
        }
    )
    engine = load_engine("langchain-js@1").engine

    theirs = seen(run(play(scenario, engine)))
    ours = seen(run(play(scenario, ReferenceEngine(profile("langchain-js-1")))))

    assert theirs == ours


def test_what_is_built_is_what_the_name_says() -> None:
    engine = load_engine("langchain-js@1")

    assert (engine.version[:2], engine.profile.name) == ("1.", "langchain-js-1")
    assert not engine.assumed
    undeclared = set(CAPABILITIES) - engine.capabilities
    assert len(undeclared) == 24  # what is not declared is skipped: it is pinned


def test_where_the_two_languages_part_is_pinned() -> None:
    found = differences(profile("langchain-1"), profile("langchain-js-1"))

    assert [name for name, _, _ in found] == ["equal_tool_names", "additional_tools"]


def test_which_clauses_apply_to_one_language_alone_is_pinned() -> None:
    both = CREATE_AGENT, load_engine("langchain-js@1").capabilities

    apply = [{each.clause for each in CHECKS if each.applies(can)} for can in both]

    assert apply[0] ^ apply[1] == {"EVT-016", "EVT-017", "ERR-034", "RUN-028"}
    assert apply[1] < apply[0]


def test_it_shows_no_option_that_its_profile_says_otherwise() -> None:
    seen = infer(load_engine("langchain-js@1"), 2)

    assert seen.declared == seen.nearest
    assert not seen.contradicts


def test_it_is_called_and_calls_for_a_handler(
    driver_traffic: set[tuple[str, str]],
) -> None:
    scenario = read_scenario(world(streaming=False))

    run(play(scenario, load_engine("langchain-js@1").engine))

    assert {name for _, name in driver_traffic} >= {"build", "hook", "next", "tool"}


def test_its_types_are_right() -> None:
    node, program = node_driver("langchain-js@1").command()
    told = subprocess.run(
        [node, TSC, "-p", ".", "--noEmit"],
        cwd=Path(program).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.stdout == ""
