"""The smallest world in which a store still fails: fewer steps, shorter records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from property_tests.stores.calls import StoreStep, StoreWorld
from property_tests.stores.playing import PlayedCalls

Play: TypeAlias = Callable[[StoreWorld], PlayedCalls]

TRIES: Final = 80
"""So many smaller worlds are tried."""
DEADLY: Final = 25
"""So many where each has a process killed: that takes longer."""


def smallest(
    world: StoreWorld, played: PlayedCalls, play: Play
) -> tuple[StoreWorld, PlayedCalls]:
    """Return the smallest world found that has a fault of that kind, and its play."""
    kills = any(each.do in {"kill", "doom", "race"} for each in world.steps)
    left = DEADLY if kills else TRIES
    found = True
    while found and left:
        found = False
        for candidate in smaller(world):
            left -= 1
            tried = play(candidate)
            if tried.fault is not None and _alike(tried, played):
                world, played, found = candidate, tried, True
                break
            if not left:
                break
    return world, played


def _alike(one: PlayedCalls, other: PlayedCalls) -> bool:
    if one.fault is None or other.fault is None:
        return False
    return (one.fault.kind, one.fault.asked) == (other.fault.kind, other.fault.asked)


def smaller(world: StoreWorld) -> Iterator[StoreWorld]:
    """Yield worlds of less: half of the steps, one step less, a step made smaller."""
    steps = world.steps
    size = len(steps) // 2
    while size >= 1:
        for start in range(0, len(steps), size):
            left = (*steps[:start], *steps[start + size :])
            if left:
                yield replace(world, steps=left)
        size //= 2
    for at, each in enumerate(steps):
        for less in _less(each):
            yield replace(world, steps=(*steps[:at], less, *steps[at + 1 :]))


def _less(step: StoreStep) -> Iterator[StoreStep]:
    if step.times > 1:
        yield replace(step, times=1)
        yield replace(step, times=step.times // 2)
    if step.do == "race":
        if step.many > 1:
            yield replace(step, many=step.many // 2)
        for at in range(len(step.racers) if len(step.racers) > 2 else 0):
            yield replace(step, racers=_without(step.racers, at))


def _without(racers: Sequence[tuple[str, str]], at: int) -> tuple[tuple[str, str], ...]:
    return (*racers[:at], *racers[at + 1 :])
