"""The long search for a world in which an adapted struct is not what it was (COMPAT).

Contract §1: for every profile and every scenario without handlers the traces are
identical; under profiles whose after-hooks run in list order, also with handlers.

    python -m tools.adapted --examples 10000 [--on WORKERS]

It searches that many worlds for each profile and prints what was looked at. The same
seed gives the same worlds. Exit code 1 if a world was found; it is printed, shrunk.

A profile is a part for a worker, with and without handlers. Its worlds are not cut:
Hypothesis draws each from what it drew before, so parts would draw others.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from hypothesis import given

from compat.cli.on import ON, spread_on
from compat.engines.adapted import AdaptedEngine
from compat.spreading import UnitData
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
from tools.searching import at_least_one, draw, tell

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
    compared = [0]

    def compare(scenario: Scenario) -> None:
        compared[0] += 1
        found = adapting_divergence(scenario, profile(under))
        if found is not None:
            world = scenario.model_dump_json(exclude_defaults=True)
            raise FoundError(f"{under}: {found}\n{world}")

    choices: dict[str, Any] = {**WORLDS, "handlers": handlers}
    draw(given(scenarios(**choices))(compare), examples, start)
    return compared[0]


def searched(part: UnitData) -> UnitData:
    """Return what a search of one profile says; this is what a worker plays."""
    under, handlers, start = part["profile"], part["handlers"], part["seed"]
    what = f"{under}, {'with' if handlers else 'without'} handlers"
    began = time.monotonic()
    try:
        count = search(under, handlers=handlers, examples=part["examples"], start=start)
    except FoundError as error:
        return {"said": f"{what}: DIFFERS\n{error}", "found": True}
    spent = time.monotonic() - began
    said = f"{what}: {count} worlds, no divergence, {spent:.0f} s, seed {start}"
    return {"said": said, "found": False}


def main(arguments: Sequence[str]) -> int:
    """Search every profile, or those that are named; return the exit code."""
    options = _options(arguments)
    parts = [
        {
            "profile": under,
            "handlers": handlers,
            "examples": options.examples,
            "seed": options.seed,
        }
        for under, handlers in SEARCHES
        if not options.profile or under in options.profile
    ]
    with spread_on("tools.adapted", options.on) as spread:
        return tell("adapted", parts, spread)


def _options(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser("python -m tools.adapted")
    parser.add_argument("--examples", type=at_least_one, default=10_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--profile", action="append", choices=sorted({name for name, _ in SEARCHES})
    )
    parser.add_argument("--on", metavar="WORKERS", help=ON)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
