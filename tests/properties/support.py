"""What the properties share: how long to search, and short ways to play a world.

A search is always the same one: half of the examples that a property asks for, as CI
wants it. A long one takes fifty times what it asks for, or ``REFENGINE_WORLDS``, and
``--hypothesis-seed`` gives it other worlds:

    python -m pytest tests/properties --hypothesis-profile=long --all

``--all`` searches under all profiles, ``-m hours`` chooses what has no short search,
and ``--hypothesis-show-statistics`` says what generated worlds were made of.
"""

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import (
    HealthCheck,
    Phase,
    core,
    currently_in_test_context,
    event,
    note,
    settings,
)
from pydantic import BaseModel

from refengine.messages import Json
from refengine.profile import PROFILES, profile
from refengine.testing import Engine, ReferenceEngine, Scenario, Trace, clock, play
from refengine.testing.trace import ObservationKind

Entry = dict[str, Any]

# A world is worth its time: its size is that of a session, not of a number.
UNTIMED = [HealthCheck.too_slow, HealthCheck.data_too_large]
SHARE = {"short": 0.5, "long": 50}

# By name: a failing example is told with its arguments, and a profile has many fields.
_PROFILES = pytest.mark.parametrize("under", [each.name for each in PROFILES])


def under_every_profile(test: Any) -> Any:
    """Play a test's worlds under each profile; by default under one in three."""
    return pytest.mark.one_in(3)(_PROFILES(test))


for profile_name in SHARE:
    settings.register_profile(
        profile_name,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        print_blob=True,
        suppress_health_check=UNTIMED,
    )


def searching(
    examples: int, *choices: object, long: int | None = None
) -> Callable[[Any], Any]:
    """Search so many worlds, or as many times as the profile says.

    ``long`` is the number of a long search where fifty times is too few or too many.

    Drawing a world takes several times as long as playing it. So a short search draws
    once for all cases of a test (its profiles, say, and whatever ``choices`` are not):
    each case has the same worlds, and one that fails in them is searched by itself, to
    be shrunk and shown. Profiles differ in few things: each plays one world in three,
    and the next profile the ones beside.
    """
    asked = settings.get_current_profile_name()
    name = asked if asked in SHARE else "short"
    many, steady = max(1, round(examples * SHARE[name])), True
    if name == "long":
        many = int(os.environ.get("REFENGINE_WORLDS", long or many))
        steady = core.global_force_seed is None
    chosen = settings(settings.get_profile(name), max_examples=many, derandomize=steady)

    def decorated(test: Any) -> Any:
        searched = chosen(test)
        inside = "<locals>" in test.__qualname__  # of one test, which says its choices
        alone = name == "long" or (inside and not choices)
        return searched if alone else Drawn(searched, choices).test

    return decorated


THIRD = 3
DRAWN: dict[tuple[object, ...], list[dict[str, Any]]] = {}
"""What was drawn for a test, all of which it passed once."""


class Drawn:
    """A test of Hypothesis that keeps what it drew, for its other cases."""

    def __init__(self, searched: Any, choices: tuple[object, ...]) -> None:
        self._inner = searched.hypothesis.inner_test
        self._searched = searched
        self._key = (self._inner.__module__, self._inner.__qualname__, *choices)
        given_by_pytest = inspect.signature(searched).parameters
        drawn = inspect.signature(self._inner).parameters.keys() - given_by_pytest
        self._drawn = frozenset(drawn)

        @functools.wraps(searched)
        def test(**cases: Any) -> None:
            self._run(cases)

        self.test = test

    def _run(self, cases: dict[str, Any]) -> None:
        known = DRAWN.get(self._key)
        if known is not None:
            try:
                for each in _share(known, cases):
                    self._inner(**cases, **each)
            except Exception:  # noqa: BLE001  # Hypothesis finds it again, and shows it
                DRAWN.pop(self._key)
            else:
                return
        found: list[dict[str, Any]] = []
        self._searched.hypothesis.inner_test = self._keeping(found)
        self._searched(**cases)
        DRAWN[self._key] = found

    def _keeping(self, found: list[dict[str, Any]]) -> Callable[..., None]:
        @functools.wraps(self._inner)
        def inner(*values: Any, **named: Any) -> None:
            self._inner(*values, **named)
            bound = inspect.signature(self._inner).bind(*values, **named).arguments
            found.append({key: bound[key] for key in self._drawn})

        # The same worlds, whichever case is the first to draw them.
        vars(inner).pop("_hypothesis_internal_add_digest", None)
        return inner


def _share(known: list[dict[str, Any]], cases: dict[str, Any]) -> list[dict[str, Any]]:
    """Return those of the drawn worlds that a case plays."""
    if "under" not in cases:
        return known
    names = [each.name for each in PROFILES]
    return known[names.index(cases["under"]) % THIRD :: THIRD]


def counted(what: str) -> None:
    """Have statistics tell how many of the worlds that were drawn are so."""
    if currently_in_test_context():
        event(what)


def noted(scenario: BaseModel, *about: str) -> None:
    """Have a scenario that fails told as JSON that can be played again."""
    if currently_in_test_context():
        what = [*about, scenario.model_dump_json(exclude_defaults=True)]
        note(": ".join(what))


def played(scenario: Scenario, under: str) -> Trace:
    """Play a scenario on the reference engine, on a virtual clock.

    If that ends in a failure, the scenario is told as JSON that can be played again.
    """
    noted(scenario, under)
    return played_by(scenario, ReferenceEngine(profile(under)))


def played_by(scenario: Scenario, engine: Engine) -> Trace:
    """Play a scenario on an engine, on a virtual clock."""
    return clock.run(play(scenario, engine))


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
