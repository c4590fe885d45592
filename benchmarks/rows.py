"""From samples to rows: what a side costs over each floor, and how sure that is.

With what two equal sides are said to differ by: nothing nearer is told apart; and with
rows about each hook of the user's handlers, from what the probes saw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from statistics import fmean
from typing import Any, Final, TypeAlias

from benchmarks.child import REFUSED
from benchmarks.kinds import KINDS
from benchmarks.measurer import ChildLostError, Measurer
from benchmarks.plan import PlannedRow
from benchmarks.specs import Effort, SideSpec, TurnsReply
from benchmarks.statistics import change, difference, interval, ratio, seconds
from compat.verdicts.cost import (
    Blocked,
    Change,
    Compared,
    Cost,
    CostNoise,
    Estimate,
    Floor,
    HookCost,
    Memory,
    Missing,
)
from refengine.errors import RefengineError


class NotMeasuredError(RefengineError):
    """The child could not do what it was asked for; the message says why."""


def taken(
    measurer: Measurer, sides: tuple[SideSpec, ...], effort: Effort
) -> TurnsReply | Blocked:
    """Return what came of these sides, or why nothing did."""
    try:
        return turns(measurer, sides, effort)
    except (ChildLostError, NotMeasuredError) as error:
        return Blocked(why=str(error))


def turns(
    measurer: Measurer, sides: tuple[SideSpec, ...], effort: Effort
) -> TurnsReply:
    """Let sides take turns; raises NotMeasuredError and ChildLostError."""
    specs = [each.to_json() for each in sides]
    request = {"do": "turns", "sides": specs, "effort": effort.to_json()}
    return TurnsReply.of(answer(measurer, request))


def answer(measurer: Measurer, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the child's reply; raises NotMeasuredError and ChildLostError."""
    reply = measurer.ask(request)
    if REFUSED in reply:
        raise NotMeasuredError(reply[REFUSED])
    return reply


def cost(measurer: Measurer, row: PlannedRow, effort: Effort, band: float) -> Cost:
    """Measure one row; what is in its way is reported in it."""
    sides = (row.side, *(side for _, side in row.floors))
    found = taken(measurer, sides, effort)
    if isinstance(found, Blocked):
        return _empty(row, found)
    if 0 in found.refused:
        clause, why = found.refused[0]
        return _empty(row, Blocked(clause=clause, why=why))
    compared: list[Compared] = []
    missing: list[Missing] = []
    for position, (floor, _) in enumerate(row.floors, 1):
        if position in found.refused:
            missing.append(Missing(floor=floor, why=found.refused[position][1]))
        else:
            compared.append(_over(floor, found, position, _handlers(row), band))
    return _empty(row).model_copy(
        update={
            "compared": tuple(compared),
            "missing": tuple(missing),
            "memory": _memory(measurer, row),
        }
    )


def _handlers(row: PlannedRow) -> int:
    """Return how many handlers stand on top of the floors."""
    return 1 if row.section == "handlers" else row.side.setting.n


def _over(
    floor: Floor, found: TurnsReply, position: int, n: int, band: float
) -> Compared:
    ours, theirs = found.column(0), found.column(position)
    times = ratio(found.series, ours, theirs)
    more = difference(found.series, ours, theirs)
    return Compared(
        floor=floor,
        floor_seconds=seconds(found.series, theirs),
        seconds=seconds(found.series, ours),
        ratio=times,
        per_handler=more.times(1 / n) if n else None,
        change=change(times, band),
    )


def _memory(measurer: Measurer, row: PlannedRow) -> Memory | None:
    """Return what a run holds; a row of one handler's runs the whole subject."""
    return None if row.section == "handlers" else memory_of(measurer, row.side)


def memory_of(measurer: Measurer, side: SideSpec) -> Memory | None:
    """Return what one run of a side holds; None where it cannot be measured."""
    try:
        reply = answer(measurer, {"do": "memory", "side": side.to_json()})
    except (ChildLostError, NotMeasuredError):
        return None
    return Memory(**reply)


def _empty(row: PlannedRow, blocked: Blocked | None = None) -> Cost:
    setting = row.side.setting
    return Cost(
        key=row.key,
        section=row.section,
        name=row.name,
        n=setting.n,
        history=setting.history,
        tools=setting.tools,
        blocked=blocked,
    )


SAMPLED = 4
"""So many A/A comparisons make the band."""


def equal_sides() -> Iterator[SideSpec]:
    """Yield sides to compare with themselves, over and over: runs of every kind."""
    settings = [kind.setting(n) for kind in KINDS.values() for n in (0, 100)]
    yield from cycle([SideSpec("engine", each) for each in settings])


def same(measurer: Measurer, side: SideSpec, effort: Effort) -> Estimate:
    """Return the ratio of a side to itself.

    Raises NotMeasuredError and ChildLostError.
    """
    found = turns(measurer, (side, side), effort)
    if found.refused:
        raise NotMeasuredError(found.refused[0][1])
    return ratio(found.series, 1, 0)


def noise(measurer: Measurer, effort: Effort) -> CostNoise:
    """Return the widest of a few A/A comparisons, and the band it makes."""
    found = [same(measurer, side, effort) for side in islice(equal_sides(), SAMPLED)]
    widest = max(found, key=band)
    return CostNoise(ratio=widest, band=band(widest))


def band(found: Estimate) -> float:
    """Return how far from 1 the value lies, or the middle of what its interval allows.

    Half of the interval: the whole of it would call noise what the interval of the row
    itself allows for already.
    """
    return max(abs(found.value - 1), (found.high - found.low) / 4)


def is_apart(
    measurer: Measurer, times: int, effort: Effort
) -> Iterator[tuple[SideSpec, Estimate, Change]]:
    """Yield A/A comparisons, each judged as every row is; raises as ``same``."""
    limit = noise(measurer, effort).band
    for side in islice(equal_sides(), times):
        found = same(measurer, side, effort)
        yield side, found, change(found, limit)


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
