"""The installed google-adk behind its door, in worlds that the reference plays too."""

import re
import sys
from pathlib import Path

import pytest

from compat.engines.capabilities import MissingExtraError
from compat.engines.flow.google_adk import (
    GoogleAdkEngine,
    UnconfirmedVersionWarning,
    installed,
)
from compat.engines.flow.playing import play_flow
from compat.engines.flow.scenario import FlowScenario
from refengine.testing.machine import install_line
from tests.differential.explaining import (
    differences,
    first_unexplained,
    look,
    read_explained,
)
from tests.differential.flow import FlowPair
from tests.flow_postures import other_options, played, reference, shown_postures

pytest.importorskip("google.adk", reason="pip install 'refengine[adk]'")

WORLD = FlowScenario.model_validate(
    {
        "agent": {
            "name": "a",
            "script": [
                {"calls": [{"name": "t", "id": "c1"}]},
                {"chunks": [{"text": "h"}, {"text": "i", "finish_reason": "STOP"}]},
            ],
            "tools": [{"name": "t", "needs_confirmation": True}],
            "callbacks": {"before_model": [[{"op": "count_state", "key": "n"}]]},
        },
        "plugins": [{"name": "p", "hooks": {"before_tool": [], "after_run": []}}],
        "turns": [
            {"text": "go"},
            {"confirms": [{"of": "t"}], "stream": True, "fresh": True},
        ],
    },
    strict=False,
)

KNOWN = read_explained(Path(__file__).parent / "differential" / "flow_google-adk.toml")
TABLE = shown_postures()


def test_a_world_is_played_with_its_model_tools_callbacks_and_plugins() -> None:
    trace = play_flow(WORLD, installed())
    entries = [
        (each.kind, each.data.get("hook"))
        for each in trace.of("hook_enter", "model_request", "tool_end", "run_end")
    ]

    assert entries == [
        ("hook_enter", "before_model"),
        ("model_request", None),
        ("hook_enter", "before_tool"),
        ("hook_enter", "after_run"),
        ("run_end", None),
        ("hook_enter", "before_tool"),
        ("tool_end", None),
        ("hook_enter", "before_model"),
        ("model_request", None),
        ("hook_enter", "after_run"),
        ("run_end", None),
    ]
    assert trace.of("checkpoint")[-1].data["state"] == {"n": 2}


def test_ids_and_times_are_the_worlds_so_that_it_plays_alike_each_time() -> None:
    first, second = (play_flow(WORLD, installed()).to_jsonl() for _ in range(2))

    assert first == second


def test_a_version_that_nobody_confirmed_is_told(monkeypatch) -> None:
    monkeypatch.setattr("compat.engines.flow.google_adk.CONFIRMED", ("1.0",))

    with pytest.warns(UnconfirmedVersionWarning, match=r"confirmed on 1\.0 alone"):
        installed()


def test_without_the_package_the_extra_is_named(monkeypatch) -> None:
    for name in [each for each in sys.modules if each.startswith("google.adk")]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in [each for each in sys.modules if "engines.flow.adk" in each]:
        monkeypatch.delitem(sys.modules, name)

    with pytest.raises(MissingExtraError, match=re.escape(install_line("adk"))):
        play_flow(WORLD, GoogleAdkEngine())


@pytest.mark.parametrize("posture", [name for name in TABLE if TABLE[name].worlds])
def test_it_has_the_posture_that_the_profile_says_and_no_other(posture) -> None:
    entry, told = TABLE[posture], set[str]()
    known = (*KNOWN, *entry.apart)
    for world in entry.worlds:
        theirs = played(world, installed())
        ours = played(world, reference())
        assert first_unexplained(differences(ours, theirs), known, {}) is None
        for option in other_options(posture):
            other = differences(played(world, reference(posture, option)), theirs)
            if first_unexplained(other, known, {}) is not None:
                told.add(option)

    assert told == other_options(posture) - entry.unshown.keys()


@pytest.mark.parametrize("known", KNOWN, ids=lambda each: each.name)
def test_a_known_difference_is_seen_in_the_world_that_it_names(known) -> None:
    pair = FlowPair(reference(), installed())

    found = look(pair, KNOWN, pair.read(known.world))

    assert known.name in found.used
