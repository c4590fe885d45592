"""What a clause means, shown: its shortest world, and what a mutant does there.

Nothing is stored for it. The world is a fixed case of the clause, the mutant is played
in it when it is asked for, and the decision is that of the clause's check.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compat.verdicts.conformance import SeenLine
from property_tests.check import PLAYED, Check, Decision, PlayedWorld
from property_tests.checks import CHECKS
from property_tests.corpus import CorpusWorld, fixed_worlds
from property_tests.judging.world import looks_at
from property_tests.mutants import MUTANTS, Mutant
from property_tests.playing import VariantPlayer, WorldRefusedError
from property_tests.wording import around
from refengine.profile import profile
from refengine.testing.trace import Observation, Trace


@dataclass(frozen=True, slots=True)
class ExplainedClause:
    """A mutant that breaks a clause in a world, and the decision that tells it."""

    mutant: Mutant
    world: CorpusWorld
    decision: Decision
    around: tuple[SeenLine, ...]
    """The observations near the deciding one, which is marked."""


def examples(
    clause: str, worlds: Sequence[CorpusWorld] | None = None
) -> list[CorpusWorld]:
    """Return the fixed worlds named after a clause, the shortest first."""
    known = fixed_worlds() if worlds is None else worlds
    mine = [each for each in known if each.fixed and each.clause == clause]
    return sorted(mine, key=_length)


def violating(clause: str, mutants: Sequence[Mutant] = MUTANTS) -> list[Mutant]:
    """Return the mutants that name a clause as one they violate."""
    return [each for each in mutants if clause in each.violates]


def shown(
    clause: str, worlds: Sequence[CorpusWorld], checks: Sequence[Check] = CHECKS
) -> ExplainedClause | None:
    """Return how the first mutant of a clause breaks it in the first world it can.

    None if none of them does so in these worlds.
    """
    for world in worlds:
        for check in checks:
            if check.clause == clause and looks_at(check, world):
                for found in _broken(check, world):
                    return found
    return None


def _broken(check: Check, world: CorpusWorld) -> Iterator[ExplainedClause]:
    for mutant in violating(check.clause):
        case = _played(mutant, check, world)
        decisions = () if case is None else check.decisions(case)
        for decision in decisions:
            if case is not None and not decision.holds:
                trace = _trace_of(case, decision)
                yield ExplainedClause(
                    mutant, world, decision, around(trace, decision.at)
                )


def _played(mutant: Mutant, check: Check, world: CorpusWorld) -> PlayedWorld | None:
    """Play a world on a mutant; None if it cannot, since some break down in it."""
    under = profile(mutant.under)
    try:
        return VariantPlayer(mutant.wrong(under), under).case(
            world.scenario, check.variants
        )
    except WorldRefusedError:
        return None
    except Exception:  # noqa: BLE001  # whatever a broken engine raises
        return None


def _trace_of(case: PlayedWorld, decision: Decision) -> Trace:
    """Return the trace with the deciding observation, that of the variant if none."""
    named = case.views.get(decision.variant, case.views[PLAYED]).trace
    candidates = (named, *(each.trace for each in case.views.values()))
    return next((each for each in candidates if _has(each, decision.at)), named)


def _has(trace: Trace, at: Observation | None) -> bool:
    return at is not None and at.seq < len(trace) and trace[at.seq] is at


def _length(entry: CorpusWorld) -> int:
    return len(json.dumps(entry.as_json()))
