"""Groups of divergences: which one a report shows, and how many worlds show others.

Worlds that diverge for one reason show one code in one channel, so a report counts
these, and shows the largest one. What is shown of it is what most of its worlds show,
in the smallest world that does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compat.migration.comparing import SeenPair
from compat.migration.differing import Mask
from compat.migration.naming import DivergenceKind, kind_of
from compat.migration.sessions import BothPlayed
from compat.migration.shrinking import size
from compat.verdicts.migration import (
    DescribedDivergence,
    DivergenceGroup,
    UnusualDivergence,
)
from refengine.testing.scenario import Scenario


@dataclass(frozen=True, slots=True)
class NamedWorld:
    """A world that diverges, and what is seen there first."""

    world: BothPlayed
    found: DescribedDivergence
    kind: DivergenceKind


def named_worlds(
    worlds: Sequence[BothPlayed], channels: Sequence[str], masks: Sequence[Mask]
) -> list[NamedWorld]:
    """Return the worlds that diverge in these channels, named."""
    named: list[NamedWorld] = []
    for world in worlds:
        found = SeenPair(*world.sides, channels, masks).divergence
        if found is not None:
            named.append(NamedWorld(world, found, kind_of(found)))
    return named


def groups_of(named: Sequence[NamedWorld]) -> tuple[DivergenceGroup, ...]:
    """Return the groups by code and channel, the largest first."""
    counts = Counter((each.kind.code, each.kind.channel) for each in named)
    return tuple(DivergenceGroup(*key, many) for key, many in counts.most_common())


def typical(
    named: Sequence[NamedWorld], fits: Callable[[Scenario], bool]
) -> NamedWorld:
    """Return the smallest world of those that show what most of the largest group do.

    Worlds that cannot be made smaller, such as those no graph fits, come last.
    """
    first = groups_of(named)[0]
    key = (first.code, first.channel)
    group = [each for each in named if (each.kind.code, each.kind.channel) == key]
    ((kind, _),) = Counter(each.kind for each in group).most_common(1)
    usual = [each for each in group if each.kind == kind]
    return min(usual, key=lambda each: _order(each.world.scenario, fits))


def _order(
    world: Scenario, fits: Callable[[Scenario], bool]
) -> tuple[bool, tuple[int, int]]:
    return not fits(world), size(world)


def unusual_divergence(named: Sequence[NamedWorld]) -> UnusualDivergence | None:
    """Return what these unusual worlds show; None if they are none."""
    if not named:
        return None
    shown = typical(named, lambda _: True)
    return UnusualDivergence(
        len(named), _reasons(named), shown.found, shown.world.scenario
    )


def _reasons(named: Sequence[NamedWorld]) -> Mapping[str, int]:
    counts = Counter(each.world.unusual or "" for each in named)
    return dict(counts.most_common())
