"""The checks of EVT, under every profile."""

from dataclasses import replace

import pytest

from property_tests.check import PlayedWorld
from property_tests.view import view
from refengine.profile import SEED_001
from refengine.testing import Trace, clock, play
from refengine.testing.doors import ReferenceEngine
from tests.deciding import OF, scenario, told

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
TOOL = {"name": "t", "result": "r"}


@pytest.mark.parametrize("joined", [False, True], ids=["in pieces", "joined"])
def test_pieces_of_calls_may_be_shown_as_they_came_or_joined(joined):
    piece = '{"tool_calls": [{"index": 0, "id": "c1", "name": "t", "arguments": "{"}]}'
    rest = '{"tool_calls": [{"index": 0, "arguments": "}"}]}'
    script = {"chunks": [piece, rest]}
    world = scenario({"tools": [TOOL]}, script, DONE, streaming=True)
    trace = clock.run(play(world, ReferenceEngine(SEED_001)))
    shown = [CALL, DONE]
    seen = [
        replace(each, data={**each.data, "stream": [shown.pop(0)]})
        if joined and each.kind == "event" and each.data["kind"] == "model"
        else each
        for each in trace
    ]
    played = view(world, SEED_001, Trace(seen))
    found = list(OF["EVT-002"].decide(PlayedWorld(world, SEED_001, {"played": played})))

    assert [each.holds for each in found] == [True, True]


def test_a_sound_answer_whose_event_broke_off_is_told():
    world = scenario({}, "assistant:one two", streaming=True)
    trace = clock.run(play(world, ReferenceEngine(SEED_001)))
    cut = {"stream": ["assistant:one "], "stream_error": "cut"}
    seen = [
        replace(each, data={**each.data, **cut}) if each.kind == "event" else each
        for each in trace
    ]
    played = view(world, SEED_001, Trace(seen))
    (found,) = OF["EVT-002"].decide(PlayedWorld(world, SEED_001, {"played": played}))

    assert (found.expected, found.got) == ("one two", "one ")


def test_an_answer_whose_stream_broke_off_is_not_compared():
    script = {"chunks": ["assistant:half"], "stream_error": "cut"}

    assert told("EVT-002", scenario({}, script, streaming=True)) == []


def test_what_a_failing_sibling_keeps_from_being_told_is_not_missed():
    tools = [TOOL, {"name": "u", "error": "boom"}]
    world = scenario(
        {"tools": tools, "return_directly": {"t": True}},
        "assistant:[c1:t({})][c2:u({})]",
    )

    assert told("EVT-004", world, "eino-0.8") == []


def test_events_of_an_agent_without_a_name_end_with_no_name():
    assert told("EVT-009", scenario({}, DONE)) == [""]
