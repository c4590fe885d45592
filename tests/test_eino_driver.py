"""Real eino behind its driver: the same traces as the reference under its profile."""

import shutil
from typing import Any

import pytest

from compat.engines.capabilities import CAPABILITIES
from compat.engines.loading import load_engine
from property_tests.inferring import infer
from refengine.profile import profile
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import Trace
from tests.driver_traffic import METHODS

pytestmark = [
    pytest.mark.skipif(
        shutil.which("go") is None, reason="without Go no driver in Go is built"
    ),
    pytest.mark.usefixtures("driver_traffic"),
]


def handler(number: int) -> dict[str, object]:
    tool = {"name": f"u{number}", "result": "u"}
    return {
        "id": f"H{number}",
        "before_agent": [
            {"op": "append_instruction", "sep": "\n", "text": f"X{number}"},
            {"op": "append_tools", "tools": [tool]},
        ],
        "before_model": [{"op": "append", "msg": f"user:m{number}"}],
        "after_model": [{"op": "record"}],
        "after_agent": [{"op": "record"}],
        "wrap_model": {"record": f"H{number}"},
        "wrap_invokable": {"prefix_result": f"{number}>"},
    }


def struct(number: int) -> dict[str, object]:
    return {
        "id": f"M{number}",
        "additional_instruction": f"X{number}",
        "additional_tools": [{"name": f"u{number}", "result": "u"}],
        "before_chat_model": [{"op": "append", "msg": f"user:m{number}"}],
        "after_chat_model": [{"op": "record"}],
        "wrap_tool_call": {"invokable": {"prefix_result": f"{number}>"}},
    }


def seen(trace: Trace) -> list[dict[str, object]]:
    """Return what a trace says, but for warnings: a driver gives none."""
    numbers: dict[str, str] = {}
    entries = [each for each in trace if each.kind != "warning"]
    return [{**each.canonical(numbers), "seq": 0} for each in entries]


SHOWN = {"0.7.17": 27, "0.7.37": 27, "0.8.13": 38, "0.9.13": 38}
"""How many of the postures each version can show, with what it declares."""
TOOL = {"name": "t", "result": "of <args>"}
SCRIPT = ["assistant:[1:t({})]", "assistant:[2:u1({})]", "assistant:done"]


@pytest.mark.parametrize(
    "extensions",
    [
        {"handlers": [handler(1), handler(2)]},
        {"middlewares": [struct(1), struct(2)]},
        {"middlewares": [struct(1)], "handlers": [handler(2)]},
    ],
    ids=["handlers", "structs", "both"],
)
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
def test_eino_does_as_the_reference_does_under_its_profile(
    extensions: dict[str, object], *, streaming: bool
) -> None:
    engine = load_engine("eino@0.9.13").engine
    agent = {"name": "A", "instruction": "B", "tools": [TOOL], **extensions}
    scenario = read_scenario(
        {
            "agent": agent,
            "model_script": SCRIPT,
            "runs": [{"input": ["user:hi"], "streaming": streaming}],
        }
    )

    theirs = seen(run(play(scenario, engine)))
    ours = seen(run(play(scenario, ReferenceEngine(profile("eino-0.9")))))

    assert theirs == ours
    assert len(ours) > 20


def test_what_is_linked_is_what_the_name_says() -> None:
    engine = load_engine("eino@0.9.13")

    assert (engine.version, engine.profile.name) == ("v0.9.13", "eino-0.9")
    assert "after_agent" in engine.capabilities
    assert not engine.assumed
    undeclared = set(CAPABILITIES) - engine.capabilities
    assert len(undeclared) == 11  # what is not declared is skipped: it is pinned


def test_eino_is_asked_and_asks_by_every_method(
    driver_traffic: set[tuple[str, str]],
) -> None:
    scenario = read_scenario(
        {
            "agent": {
                "tools": [TOOL, {"name": "s", "kind": "streamable", "chunks": ["a"]}],
                "unknown_tools_handler": "none",
                "middlewares": [struct(1)],
                "handlers": [handler(2)],
            },
            "model_script": ["assistant:[1:t({})][2:s({})][3:x({})]", "assistant:done"],
            "runs": [{"input": ["user:hi"], "streaming": True}],
        }
    )

    run(play(scenario, load_engine("eino@0.9.13").engine))

    silent = {"abandon", "cancel", "close", "settle", "reset", "shutdown"}
    of_subjects = {"subject", "entered", "tool_run", "effect", "new_id", "now"}
    of_subjects |= {"observed"}
    named = {name for _, name in driver_traffic}
    assert named >= set(METHODS) - silent - of_subjects


@pytest.mark.parametrize("version", ["0.7.17", "0.7.37", "0.8.13", "0.9.13"])
def test_each_eino_shows_nothing_that_its_profile_says_otherwise(version: str) -> None:
    seen = infer(load_engine(f"eino@{version}"), 2)
    unlike = [each.name for each in seen.postures if "under no option" in each.reason]

    assert seen.declared == seen.nearest
    assert not seen.contradicts
    assert unlike == []
    assert sum(each.option is not None for each in seen.postures) == SHOWN[version]


def test_a_result_that_is_read_piece_by_piece_holds_up_no_later_call() -> None:
    tool = {"name": "u", "kind": "streamable", "chunks": ["a", "b"], "chunk_ms": 10}
    scenario = read_scenario(
        {
            "agent": {"tools": [tool], "sequential": True},
            "model_script": ["assistant:[1:u({})][2:u({})][3:u({})]", "assistant:ok"],
            "runs": [{"input": ["user:hi"], "streaming": True}],
        }
    )

    trace = run(play(scenario, load_engine("eino@0.9.13").engine))
    times = [each.data["time"] for each in trace.of("tool_chunk")]

    assert sorted(times) == [0.0] * 3 + [0.01] * 3


@pytest.mark.parametrize("version", ["0.7.37", "0.9.13"])
def test_wrappers_of_structs_share_their_input_where_a_call_fails(version) -> None:
    inner = {"wrap_tool_call": {"invokable": {"rewrite_args": "b"}}}
    scenario = read_scenario(
        {
            "agent": {
                "tools": [{"name": "t", "error": "no"}],
                "tool_call_middlewares": [{"record": "seen"}],
                "middlewares": [inner],
            },
            "model_script": ["assistant:[1:t({})]"],
            "runs": [{"input": ["user:hi"]}],
        }
    )

    theirs = run(play(scenario, load_engine(f"eino@{version}").engine))
    ours = run(play(scenario, ReferenceEngine(profile(f"eino-{version[:3]}"))))
    told = [[each.data for each in trace.of("effect")] for trace in (theirs, ours)]

    assert told[0] == told[1] != []
    assert "'args': 'b'" in str(told[0])


def test_a_panic_that_eino_caught_is_told_alike_in_each_play() -> None:
    cleared = {"after_chat_model": [{"op": "keep_last", "n": 0}]}
    scenario = read_scenario(
        {
            "agent": {"tools": [TOOL], "middlewares": [cleared]},
            "model_script": ["assistant:[1:t({})]"] * 2,
            "runs": [{"input": ["user:hi"]}] * 2,
        }
    )
    engine = load_engine("eino@0.7.17").engine

    events: Any = run(play(scenario, engine)).of("event")
    texts = [e.data["error"]["text"] for e in events if e.data["kind"] == "error"]

    assert len(texts) == 2
    assert texts[0] == texts[1]
    assert "panic in pre handler" in texts[0]
    assert "node path" in texts[0]
    assert "goroutine" not in texts[0]
