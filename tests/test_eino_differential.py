"""Real eino and the reference in the same worlds: what is known to differ, no more."""

import shutil
from pathlib import Path

import pytest

from compat.engines.loading import load_engine
from refengine.testing.scenario_files import read_scenario
from tests.differential.explaining import Explained, Look, look, read_explained
from tests.differential.hooks import HooksPair, hooks_pair

with_go = pytest.mark.skipif(
    shutil.which("go") is None, reason="without Go no driver in Go is built"
)
pytestmark = pytest.mark.usefixtures("driver_traffic")
HERE = Path(__file__).parent / "differential"
VERSION = "eino@0.9.13"
CHUNKS = {"kind": "streamable", "chunks": ["a", "b"], "chunk_ms": 1}
STREAM = {"kind": "streamable", "delay_ms": 5}


def twice(run: dict[str, object]) -> dict[str, object]:
    return {
        "agent": {"tools": [{"name": "t"}], "middlewares": [{}]},
        "model_script": ["assistant:[1:t({})]", "assistant:a"],
        "runs": [run, {**run, "continues": True}],
    }


@with_go
@pytest.mark.parametrize(
    "known", read_explained(HERE / f"eino_{VERSION}.toml"), ids=lambda each: each.name
)
def test_a_known_difference_is_seen_in_its_own_world(known: Explained) -> None:
    pair = hooks_pair(VERSION, None)
    found = look(pair, [known], pair.read(known.world))

    assert found.found is None
    assert known.name in found.used


@with_go
@pytest.mark.parametrize(
    "world",
    [
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t", "parameters": {"a": 1}}, {"name": "t"}]
                },
                "runs": [{}],
            },
            id="tools of one name with other parameters",
        ),
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t", **STREAM}, {"name": "u", **STREAM}],
                    "sequential": True,
                },
                "model_script": ["assistant:[1:t({})][2:u({})]", "assistant:a"],
                "runs": [{"streaming": True}],
            },
            id="results that are told as they are opened",
        ),
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t", "kind": "streamable"}],
                    "return_directly": {"t": True},
                    "handlers": [{"after_agent": []}],
                },
                "model_script": ["assistant:[1:t({})]"],
                "runs": [{}],
            },
            id="after_agent behind a result in chunks",
        ),
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t"}],
                    "unknown_tools_handler": "none",
                    "sequential": True,
                },
                "model_script": ["assistant:[1:gone({})]", "assistant:a"],
                "runs": [{"streaming": True}],
            },
            id="nothing but an unknown tool, one by one",
        ),
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t", "kind": "streamable"}],
                    "return_directly": {"gone": True},
                    "unknown_tools_handler": "none",
                },
                "model_script": ["assistant:[1:t({})][2:gone({})]"],
                "runs": [{"streaming": True}],
            },
            id="an unknown tool that ends a run beside a streamed result",
        ),
        pytest.param(twice({}), id="two runs of one history"),
        pytest.param(
            {
                "agent": {
                    "tools": [
                        {"name": "u", **CHUNKS},
                        {"name": "t", "delay_ms": 1},
                    ],
                },
                "model_script": ["assistant:[1:u({})][2:u({})][3:t({})]"],
                "runs": [{"streaming": True}],
            },
            id="results in chunks that wait for a slow sibling",
        ),
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t", **CHUNKS}],
                    "return_directly": {"t": True},
                    "tool_call_middlewares": [{"set_input_name": "u"}],
                },
                "model_script": ["assistant:[1:t({})]"],
                "runs": [{"streaming": True}],
            },
            id="a result in chunks that ends a run, under another name",
        ),
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t"}],
                    "tool_call_middlewares": [
                        {"set_input_name": "u", "set_input_call_id": "2"},
                        {"error": "no"},
                    ],
                },
                "model_script": ["assistant:[1:t({})]"],
                "runs": [{}],
            },
            id="an error behind a changed name and id",
        ),
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t"}],
                    "tool_call_middlewares": [
                        {"new_input": True},
                        {"set_input_call_id": "2"},
                    ],
                },
                "model_script": ["assistant:[1:t({})]"],
                "runs": [{}],
            },
            id="an input of a wrapper's own that one further in changes",
        ),
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t"}],
                    "middlewares": [{"wrap_tool_call": {"invokable": {"record": "m"}}}],
                    "handlers": [{"wrap_invokable": {"rewrite_args": "[]"}}],
                },
                "model_script": ["assistant:[1:t({})]"],
                "runs": [{}],
            },
            id="arguments that a handler changes",
        ),
        pytest.param(
            {
                "agent": {
                    "tools": [{"name": "t"}],
                    "handlers": [
                        {
                            "before_agent": [
                                {"op": "set_tools", "value": []},
                                {
                                    "op": "replace_return_directly",
                                    "value": {"u": False},
                                },
                            ]
                        }
                    ],
                },
                "model_script": ["assistant:[1:t({})]"],
                "runs": [{}],
            },
            id="no tools left where flags are new",
        ),
    ],
)
def test_real_eino_does_as_the_reference_does(world: dict[str, object]) -> None:
    assert look(hooks_pair(VERSION, None), [], read_scenario(world)) == Look()


@with_go
def test_a_struct_without_an_instruction_adds_a_message_that_runs_do_not_keep() -> None:
    engine = load_engine("eino@0.7.17")
    pair = HooksPair(engine.profile, engine)

    assert look(pair, [], read_scenario(twice({}))) == Look()


@with_go
def test_a_result_in_chunks_beside_a_call_that_fails_is_read_by_nobody() -> None:
    pair = hooks_pair("eino@0.7.17", None)
    world = read_scenario(
        {
            "agent": {
                "tools": [
                    {"name": "t", "error": "no"},
                    {"name": "u", "kind": "streamable", "result": "x" * 1000},
                ],
                "return_directly": {"u": True},
            },
            "model_script": ["assistant:[1:t({})][2:u({})]"],
            "runs": [{"streaming": True}],
        }
    )

    assert look(pair, [], world) == Look()
