"""The long search for a world in which an adapted struct is not what it was (COMPAT).

Contract §1: for every profile and every scenario without handlers the traces are
identical; under profiles whose after-hooks run in list order, also with handlers.

    python -m tools.adapted --examples 10000

It searches that many worlds for each profile and prints what was looked at. The same
seed gives the same worlds. Exit code 1 if a world was found; it is printed, shrunk.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from hypothesis import given

from compat.engines.adapted import AdaptedEngine
from property_tests.checks.adapted import about_runs, loses_state
from refengine.profile import EINO_0_7, EINO_0_7_37, PROFILES, Profile, profile
from refengine.testing import (
    Divergence,
    Engine,
    ReferenceEngine,
    Scenario,
    Trace,
    clock,
    first_divergence,
    play,
)
from refengine.testing.strategies import scenarios
from tools.searching import at_least_one, draw, say

EVERY: Final = 1000
"""After so many worlds it is reported how far the search is."""

SEED: Final = 20260001


WORLDS: Final[Mapping[str, bool]] = MappingProxyType(
    {"failures": True, "unknown_calls": True, "counting": True, "delays": True}
)
"""The choices of ``scenarios`` under which COMPAT is searched: everything there is."""

BEFORE_HANDLERS: Final = (EINO_0_7, EINO_0_7_37)

SEARCHES: Final[tuple[tuple[str, bool], ...]] = tuple(
    (each.name, handlers)
    for each in PROFILES
    for handlers in (False, True)
    # Some have no handlers to stand beside their structs.
    if not handlers or (each.after_hooks == "in_order" and each not in BEFORE_HANDLERS)
)
"""Where COMPAT holds: a profile, and whether worlds have handlers, too."""


def played(scenario: Scenario, engine: Engine) -> Trace:
    """Play a scenario on a virtual clock."""
    return clock.run(play(scenario, engine))


def adapting_divergence(scenario: Scenario, profile: Profile) -> Divergence | None:
    """Return where the native and the adapted trace first differ, None if nowhere."""
    native = played(scenario, ReferenceEngine(profile))
    adapted = played(scenario, AdaptedEngine(profile))
    states = not loses_state(scenario, profile)
    return first_divergence(*(about_runs(e, states=states) for e in (native, adapted)))


class FoundError(AssertionError):
    """A world in which the two traces differ."""


def search(under: str, *, handlers: bool, examples: int, start: int) -> int:
    """Search one profile; return how many worlds were compared.

    Raises FoundError with the smallest world that was found.
    """
    seen = CountedComparisons(under)
    choices: dict[str, Any] = {**WORLDS, "handlers": handlers}
    found = given(scenarios(**choices))(seen.compare)
    draw(found, examples, start)
    return seen.count


class CountedComparisons:
    """Compares worlds under one profile and tells how many."""

    def __init__(self, under: str) -> None:
        self.count = 0
        self._profile = profile(under)

    @property
    def compare(self) -> Callable[[Scenario], None]:
        """The comparison as a function, which Hypothesis asks for."""

        def compare(scenario: Scenario) -> None:
            self.count += 1
            if self.count % EVERY == 0:
                say(f"  {self._profile.name}: {self.count} worlds")
            found = adapting_divergence(scenario, self._profile)
            if found is not None:
                world = scenario.model_dump_json(exclude_defaults=True)
                raise FoundError(f"{self._profile.name}: {found}\n{world}")

        return compare


def main(arguments: Sequence[str]) -> int:
    """Search every profile, or those that are named; return the exit code."""
    options = _options(arguments)
    code = 0
    for under, handlers in SEARCHES:
        if options.profile and under not in options.profile:
            continue
        what = f"{under}, {'with' if handlers else 'without'} handlers"
        began = time.monotonic()
        try:
            count = search(
                under, handlers=handlers, examples=options.examples, start=options.seed
            )
        except FoundError as error:
            say(f"{what}: DIFFERS\n{error}")
            code = 1
            continue
        spent = time.monotonic() - began
        say(
            f"{what}: {count} worlds, no divergence, {spent:.0f} s, seed {options.seed}"
        )
    return code


def _options(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser("python -m tools.adapted")
    parser.add_argument("--examples", type=at_least_one, default=10_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--profile", action="append", choices=sorted({name for name, _ in SEARCHES})
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
