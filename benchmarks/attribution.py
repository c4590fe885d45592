"""Which hook of the user's handlers takes the time: rows from what the probes saw."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final, TypeAlias

from benchmarks.statistics import interval
from compat.verdicts.cost import Change, Estimate, HookCost

Clocks: TypeAlias = Sequence[tuple[float, float]]
"""Calls in a run and the seconds that they take, of each set-up."""
CLEAR: Final = 0.25
"""A hook takes time of its own if it takes this share more than one that does nothing:
with less, hooks that do nothing were told apart from each other."""


def hook_costs(reply: dict[str, Any]) -> tuple[tuple[HookCost, ...], tuple[str, ...]]:
    """Return what each hook takes, the dearest first, and those that hardly ran.

    What a probe takes itself is subtracted: it is known from hooks that do nothing.
    """
    taken: list[tuple[HookCost, float]] = []
    never: list[str] = []
    for where, hook, like, clocks in reply["hooks"]:
        if not all(calls for calls, _ in clocks):
            never.append(f"{where} {hook}")
            continue
        nothing = [each[like] for each in reply["nothing"]]
        row = _row(where, hook, clocks, nothing)
        taken.append((row, max(row.seconds.value, 0) * _calls(clocks)))
    total = sum(spent for _, spent in taken) or 1.0
    rows = [
        row.model_copy(update={"share": spent / total})
        for row, spent in sorted(taken, key=lambda each: -each[1])
    ]
    return tuple(rows), tuple(never)


def _row(
    where: str,
    hook: str,
    clocks: Clocks,
    nothing: Sequence[float],
) -> HookCost:
    own = [
        spent / count - empty
        for (count, spent), empty in zip(clocks, nothing, strict=True)
    ]
    found = interval(own)
    return HookCost(
        handler=where,
        hook=hook,
        calls=max(round(_calls(clocks)), 1),
        seconds=found,
        share=0.0,
        change=_change(found, fmean(nothing)),
    )


def _change(found: Estimate, nothing: float) -> Change:
    if found.low > 0 and found.value > CLEAR * nothing:
        return "dearer"
    return "not distinguishable"


def _calls(clocks: Clocks) -> float:
    """Return the calls in a run; one that comes now and then is none in most."""
    return fmean(calls for calls, _ in clocks)
