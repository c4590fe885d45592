"""Profiles side by side, and the scenarios that show each posture."""

import json
import re
import subprocess
import sys
from itertools import combinations, permutations
from typing import Any, cast

import pytest

from compat.cli.profile import listed
from compat.dialects.callbacks.profile import CALLBACKS_PROFILES
from compat.dialects.stream_loop.profile import LOOP_PROFILES
from compat.profiles.comparing import (
    NoScenarioError,
    played,
    profile_differences,
    scenarios,
)
from compat.profiles.kinds import KINDS, meanings
from compat.profiles.small_worlds import callbacks_differences, loop_differences
from refengine.postures import options_of
from refengine.profile import PROFILES, choosing, differences, options, profile
from refengine.testing.scenario_files import read_scenario
from refengine.testing.trace import first_divergence
from tests.test_profile_infer import NOWHERE

CHOICES = {name: found for name, found in options().items() if len(found) > 1}


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "refengine", "profile", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_profiles_are_listed_as_json() -> None:
    found = listed()

    assert found["postures"] == {name: list(some) for name, some in options().items()}
    assert found["profiles"] == [
        {
            "name": each.name,
            "postures": {name: getattr(each, name) for name in options()},
        }
        for each in PROFILES
    ]
    assert json.loads(command("list", "--as-json").stdout) == found


def test_profiles_of_a_dialect_are_listed_under_its_name() -> None:
    dialects = cast("Any", listed()["dialects"])

    assert [each["name"] for each in dialects["flow"]["profiles"]] == [
        "adk-go-0.4",
        "adk-go-0.5",
        "adk-go-2",
        "adk-py-1",
        "adk-py-2",
        "flow-safe",
    ]
    assert dialects["flow"]["postures"]["artifact_text"] == ["text", "repr"]
    loop = dialects["stream-loop"]
    assert [each["name"] for each in loop["profiles"]] == ["loop-adr", "loop-safe"]


def test_every_posture_has_scenarios_and_nothing_else_has() -> None:
    assert scenarios().keys() == options().keys()


def test_a_posture_without_scenarios_says_where_they_belong(monkeypatch) -> None:
    more = {**options(), "colour": ("red", "blue")}
    monkeypatch.setattr("compat.profiles.comparing.options", lambda: more)

    with pytest.raises(NoScenarioError, match=r"'colour': add to compat/profiles/scen"):
        scenarios()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("posture", CHOICES)
@pytest.mark.parametrize("name", [each.name for each in PROFILES])
def test_the_scenarios_of_a_posture_tell_its_options_apart(
    name: str, posture: str
) -> None:
    known = [read_scenario(each, posture) for each in scenarios()[posture]]
    traces = {
        option: [
            played(each, choosing(profile(name), posture, option)) for each in known
        ]
        for option in CHOICES[posture]
    }

    hidden = posture in NOWHERE.get(name, ())
    told = [
        any(first_divergence(a, b) for a, b in zip(one, other, strict=True))
        for one, other in combinations(traces.values(), 2)
    ]
    assert all(told) != hidden


def test_no_scenario_of_a_posture_is_idle() -> None:
    """Each shows some option under some profile, or is what an engine can be shown."""
    idle = [
        (posture, at)
        for posture in CHOICES
        for at, each in enumerate(scenarios()[posture])
        if not any(shows(read_scenario(each), posture, base) for base in PROFILES)
    ]

    assert idle == []


def shows(scenario, posture: str, base) -> bool:
    """Tell whether some option of the posture makes a difference in a scenario."""
    trace = played(scenario, base)
    return any(
        first_divergence(trace, played(scenario, choosing(base, posture, option)))
        for option in CHOICES[posture]
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_every_posture_has_a_meaning(kind) -> None:
    assert meanings(kind.of).keys() == options_of(kind.of).keys()


def test_a_meaning_is_what_stands_below_its_posture() -> None:
    assert meanings()["direct_event"].startswith("where the event of the call")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("a", "b"), list(permutations(PROFILES, 2)))
def test_every_difference_of_two_profiles_is_shown(a, b) -> None:
    found = [*profile_differences(a, b)]
    hidden = {each.posture for each in found if not each.shown}

    assert [each.posture for each in found] == [name for name, *_ in differences(a, b)]
    assert hidden <= NOWHERE.get(a.name, set())


def test_diff_prints_values_scenario_and_divergence() -> None:
    done = command("diff", "seed-001", "eino-0.9")

    assert done.returncode == 0
    assert 'first divergence: observation 2 .data.messages[0].content: "B\\nX"' in (
        done.stdout
    )
    assert "seed-001: newline" in done.stdout


def test_diff_tells_what_a_framework_has_no_place_for() -> None:
    done = command("diff", "langgraph-prebuilt-1", "langchain-1")
    lines = done.stdout.splitlines()

    assert "  langgraph-prebuilt-1: never  (no hook after the agent)" in lines
    assert "  langchain-1: on_success" in lines
    assert lines[-1] == "langgraph-prebuilt-1 and langchain-1 differ in 13 postures"


def test_diff_tells_observations_of_two_kinds_in_brief() -> None:
    done = command("diff", "langgraph-prebuilt-1", "langchain-1")

    assert (
        'first divergence: observation 2: "event routing UnansweredCallsError"'
        ' ≠ "model_request"' in done.stdout
    )


def test_diff_of_an_unknown_profile_suggests_one() -> None:
    done = command("diff", "seed-001", "eino0.9")

    assert done.returncode == 2
    known = ", ".join(each.name for kind in KINDS for each in kind.profiles)
    assert done.stderr == (
        "refengine profile diff: no profile 'eino0.9': did you mean 'eino-0.9'?"
        f" known are {known}\n"
    )
    assert known.startswith("seed-001, eino-0.7, ")


def test_list_names_every_posture_and_profile_in_full() -> None:
    done = command("list")

    assert done.returncode == 0
    for kind in KINDS:
        for name in (*options_of(kind.of), *(each.name for each in kind.profiles)):
            assert name in done.stdout


def test_show_prints_each_choice_with_what_it_is_about() -> None:
    done = command("show", "langgraph-prebuilt-1")
    lines = done.stdout.splitlines()

    assert lines[0] == "langgraph-prebuilt-1, a profile of the engine"
    assert "after_agent: never  (no hook after the agent)" in lines
    assert "  whether after_agent hooks are called" in lines
    assert len(lines) == 1 + 2 * len(options())


def test_profiles_of_two_kinds_are_not_compared() -> None:
    done = command("diff", "adk-py-2", "seed-001")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "refengine profile diff: adk-py-2 is a profile of the Flow dialect, seed-001"
        " one of the engine: compare two of one kind (refengine profile list shows"
        " them)\n"
    )


def test_diff_of_profiles_of_a_dialect_shows_what_is_decided() -> None:
    done = command("diff", "adk-go-0.4", "adk-go-2")
    lines = done.stdout.splitlines()

    assert '  as adk-go-0.4: {"artifact_delta": {"f": 3}}' in lines
    assert '  as adk-go-2: {"artifact_delta": {"f": 3, "g": 1}}' in lines
    assert re.fullmatch(r"adk-go-0.4 and adk-go-2 differ in \d+ postures", lines[-1])


def test_diff_of_profiles_of_the_stream_loop_shows_each_posture_by_a_world() -> None:
    done = command("diff", "loop-adr", "loop-safe")

    assert done.returncode == 0
    assert "  world: a tool raises\n" in done.stdout
    assert "loop-adr and loop-safe differ in 8 postures" in done.stdout


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_every_kind_shows_all_in_which_two_of_its_profiles_differ(kind) -> None:
    one, other = kind.profiles[0], kind.profiles[-1]
    found = [each.posture for each in kind.differences(one, other)]

    assert found == [name for name, *_ in differences(one, other)]
    assert found


SMALL = [
    *((a, b, loop_differences) for a, b in permutations(LOOP_PROFILES, 2)),
    *((a, b, callbacks_differences) for a, b in permutations(CALLBACKS_PROFILES, 2)),
]


@pytest.mark.parametrize(("a", "b", "shown"), SMALL)
def test_a_small_world_tells_the_options_of_each_posture_apart(a, b, shown) -> None:
    found = list(shown(a, b))

    assert [each.posture for each in found] == [name for name, *_ in differences(a, b)]
    assert [each for each in found if each.shown[0] == each.shown[1]] == []
