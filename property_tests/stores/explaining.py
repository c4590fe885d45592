"""What a clause about stores means: the first world that tells a broken store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from property_tests.stores.calls import StoreWorld, told
from property_tests.stores.expected import StoreFault
from property_tests.stores.mutants import BrokenStore, broken_stores
from property_tests.stores.playing import PlayedCalls, StorePlayer, store_player
from property_tests.stores.shrinking import smallest
from property_tests.stores.worlds import StoreCheck, checks

LIMIT: Final = 5.0
"""Seconds that one request to a broken store may take."""


@dataclass(frozen=True, slots=True)
class ExplainedStore:
    """A world, and what a broken store does in it."""

    store: BrokenStore
    world: tuple[str, ...]
    lines: tuple[str, ...]
    fault: StoreFault


def check_of(clause: str) -> StoreCheck:
    """Return what judges a clause; raises StopIteration if it is none of a store's."""
    return next(each for each in checks() if each.clause == clause)


def breaking(clause: str) -> tuple[BrokenStore, ...]:
    """Return the broken stores that a clause tells."""
    return tuple(each for each in broken_stores() if each.clause == clause)


def refuted(
    broken: BrokenStore, limit: float = LIMIT
) -> tuple[StoreWorld, PlayedCalls] | None:
    """Return the first fixed world that tells a broken store, and its play."""
    check = check_of(broken.clause)
    with store_player(broken.text, limit) as player:
        return _first(player, check)


def _first(
    player: StorePlayer, check: StoreCheck
) -> tuple[StoreWorld, PlayedCalls] | None:
    for world in check.worlds(0, 0):
        played = player.play(world, check.ignored)
        if played.fault is not None:
            return world, played
    return None


def explained_store(clause: str) -> ExplainedStore | None:
    """Return the smallest world found in which a broken store violates a clause."""
    check = check_of(clause)
    broken = breaking(clause)[0]
    with store_player(broken.text, LIMIT) as player:
        found = _first(player, check)
        if found is None:
            return None
        world, played = found
        if not played.lost:
            world, played = smallest(
                world, played, lambda each: player.play(each, check.ignored)
            )
    if played.fault is None:
        return None
    steps = tuple(map(told, world.steps))
    return ExplainedStore(broken, steps, played.lines, played.fault)
