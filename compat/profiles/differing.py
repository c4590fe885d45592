"""Where two profiles differ, each point shown by a scenario that plays both values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, cast

from refengine.profile import Profile, choosing, differences
from refengine.testing.clock import run
from refengine.testing.engine import ReferenceEngine
from refengine.testing.reading import read_scenario
from refengine.testing.scenario import Scenario
from refengine.testing.session import play
from refengine.testing.trace import Divergence, Trace, first_divergence


@dataclass(frozen=True, slots=True)
class Difference:
    """One posture in which two profiles differ, and what a run shows of it."""

    posture: str
    left: str
    right: str
    scenario: Mapping[str, Any]
    divergence: Divergence


def scenarios() -> dict[str, Mapping[str, Any]]:
    """Return the smallest scenario that shows each posture, as JSON."""
    text = files("compat.profiles").joinpath("scenarios.json").read_text("utf-8")
    return cast("dict[str, Mapping[str, Any]]", json.loads(text))


def profile_differences(a: Profile, b: Profile) -> Iterator[Difference]:
    """Yield the postures in which two profiles differ, each with a run that shows it.

    Only the one posture is changed between the two runs, so nothing else can be what
    the divergence shows.
    """
    known = scenarios()
    for posture, left, right in differences(a, b):
        scenario = read_scenario(known[posture], posture)
        changed = choosing(a, posture, right)
        ours, theirs = _seen(scenario, a), _seen(scenario, changed)
        found = first_divergence(ours, theirs)
        if found is None:
            raise AssertionError(f"the scenario of {posture} does not show it")
        yield Difference(posture, left, right, known[posture], found)


def _seen(scenario: Scenario, profile: Profile) -> Trace:
    return run(play(scenario, ReferenceEngine(profile)))
