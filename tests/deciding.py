"""What tests of checks share: fixed worlds, and what a check says of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from property_tests.check import Check, PlayedWorld
from property_tests.checks import CHECKS
from property_tests.corpus import CorpusWorld, fixed_worlds
from property_tests.judging.world import looking, variants_of
from property_tests.playing import VariantPlayer
from refengine.profile import PROFILES, Profile, profile
from refengine.testing.doors import Engine, ReferenceEngine
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario

OF = {check.clause: check for check in CHECKS}


@cache
def worlds(family: str) -> tuple[CorpusWorld, ...]:
    return tuple(each for each in fixed_worlds() if each.family == family)


def world_of(check: Check, family: str) -> Scenario:
    return next(w.scenario for w in worlds(family) if w.clause == check.clause)


def scenario(agent: dict[str, Any], *script: Any, **run: Any) -> Scenario:
    """Return a world of one agent and one run."""
    data = {
        "agent": agent,
        "model_script": list(script),
        "runs": [{"input": ["user:hi"], **run}],
    }
    return read_scenario(data, "a test")


def case_of(world: Scenario, check: Check, engine: Engine, under: str) -> PlayedWorld:
    return VariantPlayer(engine, profile(under)).case(world, check.variants)


def decisions(
    check: Check,
    world: Scenario,
    engine: Engine | None = None,
    under: str = "seed-001",
) -> list[Any]:  # of decisions, whose values are of any type
    """Return what a check decides about the reference engine, or another one."""
    played = engine or ReferenceEngine(profile(under))
    return list(check.decisions(case_of(world, check, played, under)))


def told(clause: str, world: Scenario, under: str = "seed-001") -> list[Any]:
    """Return what was expected, after seeing that the reference engine does it."""
    found = decisions(OF[clause], world, under=under)
    assert all(each.holds for each in found)
    return [each.expected for each in found]


def handler(name: str = "h", **hooks: Any) -> dict[str, Any]:
    """Return a handler of a world with these hooks."""
    return {"id": name, **hooks}


def handlers(*hooks: dict[str, Any]) -> dict[str, Any]:
    """Return what an agent has of such handlers, outermost first."""
    return {"handlers": [handler(f"h{at}", **each) for at, each in enumerate(hooks)]}


def undecided(checks: Sequence[Check], family: str) -> set[str]:
    """Return the clauses that the fixed world of no profile decides."""
    return {
        check.clause
        for check in checks
        if not any(
            decisions(check, world_of(check, family), under=each.name)
            for each in PROFILES
        )
    }


def accused(checks: Sequence[Check], family: str) -> set[tuple[str, str]]:
    """Return the clauses that the reference engine breaks in a fixed world."""
    return {
        found for world in worlds(family) for found in _broken(checks, world, PROFILES)
    }


def _broken(
    checks: Sequence[Check], world: CorpusWorld, under: Iterable[Profile]
) -> Iterator[tuple[str, str]]:
    """Yield the clauses broken in a world, each with a profile.

    It is played once for all its checks under each profile, and decided once for all
    profiles that show the same: checks go by traces, and what these are compared with
    is one of them. Seven of eight are not decided again, which is what takes the time;
    each profile is judged by itself in ``.ci/long``.
    """
    asked = looking(checks, world)
    variants = variants_of(asked, world)
    shown = set[tuple[str, ...]]()
    for each in under if asked else ():
        case = VariantPlayer(ReferenceEngine(each), each).case(world.scenario, variants)
        traces = tuple(view.trace.to_jsonl() for view in case.views.values())
        if traces in shown:
            continue
        shown.add(traces)
        for check in asked:
            if not all(decision.holds for decision in check.decisions(case)):
                yield check.clause, each.name
