"""What the properties share: how long to search, and short ways to play a world.

A search is short by default and always the same one, as CI wants it. A long one takes
fifty times the examples and new ones each time:

    REFENGINE_SEARCH=long python -m pytest tests/properties
    python -m pytest tests/properties --hypothesis-profile=long

``--hypothesis-show-statistics`` says what the generated worlds were made of.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, currently_in_test_context, note, settings

from refengine.messages import Json
from refengine.profile import PROFILES, profile
from refengine.testing import ReferenceEngine, Scenario, Trace, clock, play
from refengine.testing.trace import ObservationKind

Entry = dict[str, Any]

# A world is worth its time: its size is that of a session, not of a number.
UNTIMED = [HealthCheck.too_slow, HealthCheck.data_too_large]
LONGER = {"short": 1, "long": 50}

# By name: a failing example is told with its arguments, and a profile has many fields.
under_every_profile = pytest.mark.parametrize("under", [each.name for each in PROFILES])

settings.register_profile(
    "short",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=UNTIMED,
)
settings.register_profile(
    "long", deadline=None, print_blob=True, suppress_health_check=UNTIMED
)


def searching(examples: int) -> Callable[[Any], Any]:
    """Search so many worlds, or as many times as the profile says."""
    asked = settings.get_current_profile_name()
    name = asked if asked in LONGER else os.environ.get("REFENGINE_SEARCH", "short")
    return settings(settings.get_profile(name), max_examples=examples * LONGER[name])


def played(scenario: Scenario, under: str) -> Trace:
    """Play a scenario on the reference engine, on a virtual clock.

    If that ends in a failure, the scenario is told as JSON that can be played again.
    """
    if currently_in_test_context():
        note(f"{under}: {scenario.model_dump_json(exclude_defaults=True)}")
    return clock.run(play(scenario, ReferenceEngine(profile(under))))


def entries(trace: Trace, *kinds: ObservationKind) -> list[Entry]:
    """Return the canonical entries, of these kinds if any are named, unnumbered."""
    found = trace.of(*kinds) if kinds else trace
    return [without(each.canonical(), "seq") for each in found]


def runs_of(trace: Trace) -> list[list[Entry]]:
    """Return the entries of each run, without its number."""
    found = entries(trace)
    last = max((entry["run"] for entry in found), default=0)
    return [
        [without(entry, "run") for entry in found if entry["run"] == number]
        for number in range(1, last + 1)
    ]


def without(entry: Entry, *names: str) -> Entry:
    return {key: value for key, value in entry.items() if key not in names}


def data_without(entry: Entry, *names: str) -> Entry:
    """Return the entry with fields of its data left out."""
    return {**entry, "data": without(entry["data"], *names)}


def by_call(found: Iterable[Entry]) -> dict[Json, list[Entry]]:
    """Return entries by the call they belong to: between calls there is no order."""
    calls: dict[Json, list[Entry]] = {}
    for entry in found:
        calls.setdefault(entry["call_id"], []).append(entry)
    return calls


def brackets(found: Iterable[Entry], key: str) -> Iterator[tuple[str, Any]]:
    """Yield what is entered and left, as pairs of ``enter`` or ``exit`` and a name."""
    for entry in found:
        yield entry["kind"].removeprefix("hook_"), entry["data"][key]
