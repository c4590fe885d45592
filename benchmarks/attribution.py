"""Which hook of the user's handlers takes the time: rows from what the probes saw."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final

from benchmarks.statistics import interval
from compat.verdicts.cost import Change, Estimate, HookCost
from refengine.hooks import LOW_LEVEL, ONION_HOOKS

CLEAR: Final = 0.25
"""A hook takes time of its own if it takes this share more than one that does nothing:
with less, hooks that do nothing were told apart from each other."""


def hook_costs(reply: dict[str, Any]) -> tuple[tuple[HookCost, ...], tuple[str, ...]]:
    """Return what each hook takes, the dearest first, and those that never ran.

    What a probe takes itself is subtracted: it is known from hooks that do nothing.
    """
    pipeline = [each[0] for each in reply["nothing"]]
    onion = [each[1] for each in reply["nothing"]]
    rows: list[HookCost] = []
    never: list[str] = []
    for where, hook, clocks in reply["hooks"]:
        if not clocks[0][0]:
            never.append(f"{where} {hook}")
            continue
        nothing = onion if _wraps(hook) else pipeline
        rows.append(_row(where, hook, clocks, nothing))
    total = sum(max(each.seconds.value, 0) * each.calls for each in rows) or 1.0
    shared = [
        each.model_copy(
            update={"share": max(each.seconds.value, 0) * each.calls / total}
        )
        for each in rows
    ]
    shared.sort(key=lambda each: -each.share)
    return tuple(shared), tuple(never)


def _row(
    where: str,
    hook: str,
    clocks: Sequence[tuple[int, float]],
    nothing: Sequence[float],
) -> HookCost:
    calls = clocks[0][0]
    own = [
        spent / count - empty
        for (count, spent), empty in zip(clocks, nothing, strict=True)
    ]
    found = interval(own)
    return HookCost(
        handler=where,
        hook=hook,
        calls=calls,
        seconds=found,
        share=0.0,
        change=_change(found, fmean(nothing)),
    )


def _change(found: Estimate, nothing: float) -> Change:
    if found.low > 0 and found.value > CLEAR * nothing:
        return "dearer"
    return "not distinguishable"


def _wraps(hook: str) -> bool:
    return hook in ONION_HOOKS or hook == LOW_LEVEL or hook.startswith("wrap_tool_call")
