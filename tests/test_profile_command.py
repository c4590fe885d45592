"""Profiles side by side, and the scenarios that show each posture."""

import subprocess
import sys
from itertools import permutations

import pytest

from compat.profiles.differing import profile_differences, scenarios
from refengine.profile import PROFILES, choosing, differences, options, profile
from refengine.testing.clock import run
from refengine.testing.engine import ReferenceEngine
from refengine.testing.reading import read_scenario
from refengine.testing.session import play
from refengine.testing.trace import first_divergence

CHOICES = {name: found for name, found in options().items() if len(found) > 1}


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "refengine", "profile", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_every_posture_with_a_choice_has_a_scenario_and_no_other() -> None:
    assert scenarios().keys() == CHOICES.keys()


@pytest.mark.parametrize("posture", CHOICES)
@pytest.mark.parametrize("name", [each.name for each in PROFILES])
def test_the_scenario_of_a_posture_tells_its_options_apart(
    name: str, posture: str
) -> None:
    scenario = read_scenario(dict(scenarios()[posture]))
    traces = {
        option: run(
            play(
                scenario,
                ReferenceEngine(choosing(profile(name), posture, option)),
            )
        )
        for option in CHOICES[posture]
    }

    for one, other in permutations(traces.values(), 2):
        assert first_divergence(one, other) is not None


@pytest.mark.parametrize(("a", "b"), list(permutations(PROFILES, 2)))
def test_every_difference_of_two_profiles_is_shown(a, b) -> None:
    shown = [each.posture for each in profile_differences(a, b)]

    assert shown == [posture for posture, _, _ in differences(a, b)]


def test_diff_prints_values_scenario_and_divergence() -> None:
    done = command("diff", "seed-001", "eino-0.9")

    assert done.returncode == 0
    assert 'first divergence: observation 2 .data.messages[0].content: "B\\nX"' in (
        done.stdout
    )
    assert "seed-001: newline" in done.stdout


def test_diff_of_an_unknown_profile_suggests_one() -> None:
    done = command("diff", "seed-001", "eino0.9")

    assert done.returncode == 2
    assert done.stderr == (
        "refengine profile diff: no profile 'eino0.9': did you mean 'eino-0.9'?"
        " known are seed-001, eino-0.7, eino-draft, eino-0.8, eino-0.9\n"
    )


def test_list_names_every_posture_and_profile_in_full() -> None:
    done = command("list")

    assert done.returncode == 0
    for name in (*options(), *(each.name for each in PROFILES)):
        assert name in done.stdout
