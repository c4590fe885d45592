"""Vendors' traffic comes out the same: under handlers, streamed, and cut anywhere."""

import importlib.util
import sys
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refengine.messages import Message, ToolCall, join_chunks
from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine, run
from refengine.testing.scenario import ModelChunks, Scenario
from refengine.testing.session import Session
from refengine.testing.strategies.variants import chunks_of
from tests.models_playing import (
    Outcome,
    in_mode,
    outcome,
    played,
    played_under,
    recut,
    with_passing,
)
from tests.models_worlds import ROOT, worlds

WORLDS = {name: session.scenario for name, session in sorted(worlds().items())}
EXAMPLES = sorted((ROOT / "examples" / "struct_to_handler").glob("*/old.py"))
CUTS = ((), (0, 3, 5, 5, 9, 14, 30), tuple(range(200)))
searching = settings(max_examples=25, deadline=None, derandomize=True, database=None)
cuts = st.lists(st.integers(0, 400), max_size=12)


@cache
def plain(name: str) -> Outcome:
    """Return the outcome of a world without anything around it, in one piece."""
    return played(in_mode(WORLDS[name], streaming=False))


def cut_at(scenario: Scenario, places: Any) -> Scenario:
    return recut(scenario, places) if places else scenario


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("handlers", [0, 1, 50])
def test_handlers_that_pass_everything_change_nothing(
    name: str, streaming: bool, handlers: int
):
    around = with_passing(in_mode(WORLDS[name], streaming=streaming), handlers)

    for places in CUTS:
        assert played(cut_at(around, places)) == plain(name)


@searching
@given(st.data(), cuts, st.sampled_from([0, 1, 50]))
def test_stream_may_be_cut_anywhere(data: st.DataObject, places: Any, handlers: int):
    name = data.draw(st.sampled_from(sorted(WORLDS)))
    streamed = in_mode(recut(WORLDS[name], places), streaming=True)

    assert played(with_passing(streamed, handlers)) == plain(name)


def subject_of(path: Path) -> Any:
    """Return the subject of an example, from a module under a name of its own."""
    spec = importlib.util.spec_from_file_location(
        f"{path.parent.name}_{path.stem}", path
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.subject


@pytest.mark.one_in(3)
@pytest.mark.parametrize("old", EXAMPLES, ids=lambda path: path.parent.name)
def test_struct_and_its_right_ports_end_alike_streamed_and_cut(old: Path):
    ports = [subject_of(path) for path in sorted(old.parent.glob("right*.py"))]
    struct = subject_of(old)
    assert ports

    for name, world in WORLDS.items():
        wanted = played_under(in_mode(world, streaming=False), struct)
        for streaming, places in product((False, True), CUTS[:2]):
            changed = cut_at(in_mode(world, streaming=streaming), places)
            for subject in (struct, *ports):
                assert played_under(changed, subject) == wanted, (name, places)


@pytest.mark.parametrize("old", EXAMPLES, ids=lambda path: path.parent.name)
@settings(searching, max_examples=15)
@given(data=st.data(), places=cuts)
def test_struct_ends_alike_however_a_stream_is_cut(
    old: Path, data: st.DataObject, places: Any
):
    world = WORLDS[data.draw(st.sampled_from(sorted(WORLDS)))]
    struct = subject_of(old)
    streamed = in_mode(recut(world, places), streaming=True)

    assert played_under(streamed, struct) == played_under(
        in_mode(world, streaming=False), struct
    )


def test_structs_do_something_in_these_worlds():
    changing = [
        path.parent.name
        for path in EXAMPLES
        if any(
            played_under(in_mode(world, streaming=False), subject_of(path))
            != plain(name)
            for name, world in WORLDS.items()
        )
    ]

    assert changing == [path.parent.name for path in EXAMPLES]


def wrong_ports() -> list[Path]:
    return [path for old in EXAMPLES for path in old.parent.glob("wrong_*.py")]


def test_some_wrong_ports_are_told_apart_by_recorded_traffic_alone():
    found = (path for path in wrong_ports() if tells_apart(path))

    assert len([*islice(found, 5)]) == 5


def tells_apart(path: Path) -> bool:
    old, wrong = subject_of(path.parent / "old.py"), subject_of(path)
    return any(
        played_under(in_mode(world, streaming=streaming), old)
        != played_under(in_mode(world, streaming=streaming), wrong)
        for world in WORLDS.values()
        for streaming in (False, True)
    )


@pytest.mark.parametrize("name", WORLDS)
def test_consumer_receives_the_same_texts_streamed(name: str):
    scenario = WORLDS[name]
    broken = any(
        isinstance(e, ModelChunks) and e.stream_error for e in scenario.model_script
    )
    seen = [events_of(in_mode(scenario, streaming=each)) for each in (False, True)]

    assert broken or seen[0] == seen[1]
    assert seen[0]["events"]


def events_of(scenario: Scenario) -> Outcome:
    """Return what the consumer received; a dress that changes nothing has it whole."""
    engine = ReferenceEngine(SEED_001)
    trace = run(Session(scenario, engine, lambda _, config: config).play())
    return outcome(trace, ["events"])


def test_a_difference_would_be_seen():
    name = next(each for each in WORLDS if "mirascope" in each)
    script = WORLDS[name].model_script
    other = WORLDS[name].model_copy(update={"model_script": script[:-1]})

    assert played(in_mode(other, streaming=False)) != plain(name)


TEXTS = st.text(max_size=10)
CALLS = st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS), max_size=3).map(tuple)


@settings(searching, max_examples=200)
@given(TEXTS, CALLS, st.dictionaries(TEXTS, TEXTS, max_size=1), cuts)
def test_cut_message_joins_to_itself(text: str, calls: Any, extra: Any, places: Any):
    message = Message("assistant", text, calls, extra=extra)

    chunks = chunks_of(message, places)

    assert join_chunks(chunks) == message
    assert len(chunks) == len(places) + 1


def test_arguments_are_cut_as_well():
    message = Message("assistant", "ab", (ToolCall("1", "t", "cd"),))

    chunks = chunks_of(message, [1, 3])

    assert [chunk.content for chunk in chunks] == ["a", "b", ""]
    assert [[c.arguments for c in chunk.tool_calls] for chunk in chunks] == [
        [],
        ["c"],
        ["d"],
    ]


def test_failing_stream_fails_wherever_it_was_cut():
    scenario = Scenario.model_validate_json(
        '{"agent": {}, "runs": [{"input": ["user:hi"]}], "model_script":'
        ' [{"chunks": ["assistant:ab"], "stream_error": "down"}]}'
    )

    for streaming in (False, True):
        found = played(in_mode(recut(scenario, [1]), streaming=streaming))
        assert found == played(scenario)
        assert found["answer"] == [{"run": 1, "status": "error", "answer": None}]
