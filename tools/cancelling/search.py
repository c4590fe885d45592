"""The long search for a world that a cancellation leaves badly (STR, CONC, ERR).

    python -m tools.cancelling.search --worlds 10000 [--on WORKERS]

It cancels that many worlds under each profile and prints what was looked at. The same
seed gives the same worlds. Exit code 1 if a law was broken; the world is printed,
shrunk.

A profile is a part for a worker. Its worlds are not cut: Hypothesis draws each from
what it drew before, so parts would draw others.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from compat.cli.on import ON, spread_on
from compat.spreading import UnitData
from refengine.profile import PROFILES, Profile, profile
from refengine.testing import Scenario
from refengine.testing.strategies import scenarios
from tools.cancelling.session import Moment, broken_laws, cut
from tools.searching import at_least_one, draw, tell

SEED: Final = 20260005
LAST: Final = 200
"""The highest moment that is drawn; most worlds have fewer, and go round."""


class BrokenError(AssertionError):
    """A world in which a law does not hold."""


def moments() -> st.SearchStrategy[Moment]:
    """Moments at which a run is cancelled."""
    again = st.sampled_from((0, 0, 1, 2, 3))
    yes = st.booleans()
    return st.builds(Moment, st.integers(0, LAST), again, yes, yes, yes)


def worlds() -> st.SearchStrategy[Scenario]:
    """Worlds of one run, with everything that may happen in them."""
    return scenarios(failures=True, unknown_calls=True, counting=True, max_runs=1)


class Search:
    """Cancels worlds under one profile, and counts them."""

    def __init__(self, under: Profile) -> None:
        self.cancelled = 0
        self._under = under

    @property
    def judge(self) -> Callable[[Scenario, Moment], None]:
        """The judgement as a function, which Hypothesis asks for.

        It raises BrokenError.
        """

        def judge(scenario: Scenario, moment: Moment) -> None:
            made = cut(scenario, self._under, moment)
            if made is None or not made.stopped:
                return
            self.cancelled += 1
            broken = broken_laws(made)
            if broken:
                world = scenario.model_dump_json(exclude_defaults=True)
                raise BrokenError(f"{self._under.name}: {broken}\n{moment}\n{world}")

        return judge


def search(under: Profile, examples: int, start: int) -> int:
    """Search one profile; return how many runs were cancelled. Raises BrokenError."""
    seen = Search(under)
    draw(given(worlds(), moments())(seen.judge), examples, start)
    return seen.cancelled


def searched(part: UnitData) -> UnitData:
    """Return what a search of one profile says; this is what a worker plays."""
    under, worlds, start = part["profile"], part["worlds"], part["seed"]
    began = time.monotonic()
    try:
        count = search(profile(under), worlds, start)
    except BrokenError as error:
        return {"said": f"{under}: BROKEN\n{error}", "found": True}
    spent = time.monotonic() - began
    said = (
        f"{under}: {worlds} worlds, {count} cancelled, every law held,"
        f" {spent:.0f} s, seed {start}"
    )
    return {"said": said, "found": False}


def main(arguments: Sequence[str]) -> int:
    """Search every profile, or those that are named; return the exit code."""
    options = _options(arguments)
    parts = [
        {"profile": each.name, "worlds": options.worlds, "seed": options.seed}
        for each in PROFILES
        if not options.profile or each.name in options.profile
    ]
    with spread_on("tools.cancelling.search", options.on) as spread:
        return tell("cancelling", parts, spread)


def _options(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser("python -m tools.cancelling.search")
    parser.add_argument("--worlds", type=at_least_one, default=2_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--profile", action="append", choices=sorted(each.name for each in PROFILES)
    )
    parser.add_argument("--on", metavar="WORKERS", help=ON)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
