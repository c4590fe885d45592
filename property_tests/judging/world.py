"""Judging one world: which clauses it decides, and which of them it decides against."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from property_tests.check import Check, Decision, Meant, PlayedWorld
from property_tests.corpus import CorpusWorld
from property_tests.playing import VariantPlayer, WorldRefusedError
from property_tests.variants import allotted


@dataclass(frozen=True, slots=True)
class Judged:
    """What one world says: decisions counted by clause, and the first failing one.

    ``errors`` are what checks raised, because a trace holds what no engine may give.
    ``refused`` says why the world was not played.
    """

    decided: Mapping[str, int] = field(default_factory=dict[str, int])
    failed: Mapping[str, Decision] = field(default_factory=dict[str, Decision])
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: str | None = None


def judge(player: VariantPlayer, entry: CorpusWorld, checks: Sequence[Check]) -> Judged:
    """Play a world and let every check decide that is meant to look at it.

    A check of which some decisions fail is reported by the first of them.
    """
    chosen = looking(checks, entry)
    if not chosen:
        return Judged()
    try:
        return decide(player.case(entry.scenario, variants_of(chosen, entry)), chosen)
    except WorldRefusedError as error:
        return Judged(refused=str(error))


def variants_of(checks: Sequence[Check], entry: CorpusWorld) -> tuple[str, ...]:
    """Return the variants of a world that some of these checks need, each once."""
    needed = dict.fromkeys(name for each in checks for name in each.variants)
    return allotted(needed, entry.lot)


def decide(case: PlayedWorld, checks: Sequence[Check]) -> Judged:
    """Return what these checks decide in a case that was played."""
    decided: dict[str, int] = {}
    failed: dict[str, Decision] = {}
    errors: dict[str, str] = {}
    for check in checks:
        try:
            count, first = _counted(check, case)
        except Exception as error:  # noqa: BLE001  # told as what it is: no verdict
            errors[check.clause] = f"{type(error).__name__}: {error}"
            continue
        if count:
            decided[check.clause] = count
        if first is not None:
            failed[check.clause] = first
    return Judged(decided, failed, errors)


def _counted(check: Check, case: PlayedWorld) -> tuple[int, Decision | None]:
    """Return how many decisions there are, and the first that fails."""
    count, first = 0, None
    for each in check.decisions(case):
        count += 1
        if first is None and not each.holds:
            first = each
    return count, first


def looking(checks: Sequence[Check], entry: CorpusWorld) -> list[Check]:
    """Return the checks that are meant to look at a world.

    Many of them go by the same sign, which is looked for once.
    """
    meant: dict[Meant, bool] = {}
    found: list[Check] = []
    for check in _for(checks, entry):
        sign = check.meant
        if sign not in meant:
            meant[sign] = sign(entry.scenario)
        if meant[sign]:
            found.append(check)
    return found


FULL: Final = 1_000_000
"""So many objects more than were freed are looked through within a world after all."""
SWEPT: Final = 100
"""After so many worlds all is looked through that came since ``settle``."""


def settle() -> None:
    """Let the garbage collector leave alone what there is now, to the process's end.

    Called once by a process that only judges: all worlds, checks and engines live as
    long as it does, and nearly all that a world makes goes with it, so that to look
    through it meanwhile takes a fifth of the time and finds nothing. ``sweep`` does it
    between two worlds, where little is left; and when an engine runs its finalizers is
    no luck then.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(FULL, 1, 1)


def sweep(worlds: int) -> None:
    """Look for garbage after so many worlds: that of the last, now and then of all."""
    gc.collect(1 if worlds % SWEPT else 2)


def _for(checks: Sequence[Check], entry: CorpusWorld) -> Iterator[Check]:
    """Yield the checks that a world is for."""
    varied = entry.varied
    for each in checks:
        if entry.only and not _is_named(each, entry.only):
            continue
        if varied is None or not each.variants or _is_named(each, varied):
            yield each


def _is_named(check: Check, names: Sequence[str]) -> bool:
    """Tell whether a check is of one of these families and clauses."""
    return check.family in names or check.clause in names


def looks_at(check: Check, entry: CorpusWorld) -> bool:
    """Tell whether a check is meant to look at a world."""
    return bool(looking([check], entry))
