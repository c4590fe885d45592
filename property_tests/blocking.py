"""Why a clause is blocked: how far an engine comes where its check would decide.

The reference engine plays the same world under the same profile. It judges nobody; it
shows what would have to happen for the check to have anything to look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from compat.verdicts.conformance import ClauseFailure, FirstDivergence
from property_tests.check import PLAYED, Check, PlayedWorld
from property_tests.diverging import first_apart
from property_tests.playing import VariantPlayer, WorldRefusedError
from property_tests.wording import around, shown_value, world_of
from refengine.testing.doors import ReferenceEngine

SO_FAR: Final = "to come so far that its check has something to decide"
MOST: Final = 0.5
"""A clause blocks another if it fails in more than this share of the worlds."""


def right_player(player: VariantPlayer) -> VariantPlayer:
    """Return what plays the same worlds on the reference engine."""
    engine = ReferenceEngine(player.profile)
    return VariantPlayer(engine, player.profile, player.capabilities)


def decides(check: Check, case: PlayedWorld) -> bool:
    """Tell whether a check decides anything in a case."""
    return next(check.decisions(case), None) is not None


def stopped(
    check: Check, case: PlayedWorld, right: VariantPlayer
) -> ClauseFailure | None:
    """Return where an engine stops before the check can decide.

    None if it decides, or if it does not on the reference engine either.
    """
    if decides(check, case):
        return None
    try:
        other = right.case(case.scenario, check.variants)
    except WorldRefusedError:
        return None
    return _told(other, case) if decides(check, other) else None


def divergence(
    right: VariantPlayer, case: PlayedWorld, variant: str
) -> FirstDivergence | None:
    """Return where the engine first does otherwise in that variant of a case."""
    try:
        other = right.case(case.scenario, () if variant == PLAYED else (variant,))
    except WorldRefusedError:
        return None
    if not other.has(variant):
        return None
    return first_apart(other[variant].trace, case[variant].trace)


def _told(right: PlayedWorld, case: PlayedWorld) -> ClauseFailure:
    variant, found = _first_stop(right, case)
    shown = case[variant if case.has(variant) else PLAYED]
    return ClauseFailure(
        variant=variant,
        asked=SO_FAR,
        expected=shown_value(found.expected),
        got=shown_value(found.got),
        around=around(shown.trace, None),
        divergence=found,
        **world_of(case, shown.variant),
    )


def _first_stop(right: PlayedWorld, case: PlayedWorld) -> tuple[str, FirstDivergence]:
    """Return the variant in which the engine does otherwise, and where."""
    for variant, view in right.views.items():
        if not case.has(variant):
            sign = f"refuses {variant}"
            said = f"the engine refuses the world {variant}"
            return variant, FirstDivergence(sign=sign, expected="played", got=said)
        found = first_apart(view.trace, case[variant].trace)
        if found is not None:
            return variant, found
    nothing = FirstDivergence(sign="decides nothing", expected="a decision", got="none")
    return PLAYED, nothing


def blocker(worlds: Sequence[int], failing: Mapping[str, Sequence[int]]) -> str:
    """Return the clause that fails in most of these worlds; "" if only in a few.

    Of equals the one that fails in fewest others, since it says most about these.
    """
    wanted = set(worlds)
    shared = {each: len(wanted.intersection(of)) for each, of in failing.items()}
    best = max(shared, key=lambda e: (shared[e], -len(failing[e]), e), default="")
    if not best or shared[best] <= MOST * len(wanted):
        return ""
    return best
