"""From samples to rows: what a side costs over each floor, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.asking import ChildLostError, Measurer
from benchmarks.child import REFUSED
from benchmarks.plan import Row
from benchmarks.specs import Effort, SideSpec, Turned, Turns
from benchmarks.statistics import change, difference, ratio, seconds
from compat.verdicts.cost import Blocked, Compared, Cost, Floor, Memory, Missing
from refengine.errors import RefengineError


class NotMeasuredError(RefengineError):
    """The child could not do what it was asked for; the message says why."""


def taken(
    measurer: Measurer, sides: tuple[SideSpec, ...], effort: Effort
) -> Turned | Blocked:
    """Return what came of these sides, or why nothing did."""
    try:
        return Turned.of(answer(measurer, Turns(sides, effort).to_json()))
    except (ChildLostError, NotMeasuredError) as error:
        return Blocked(why=str(error))


def answer(measurer: Measurer, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the child's reply; raises NotMeasuredError and ChildLostError."""
    reply = measurer.ask(request)
    if REFUSED in reply:
        raise NotMeasuredError(reply[REFUSED])
    return reply


def cost(measurer: Measurer, row: Row, effort: Effort, band: float) -> Cost:
    """Measure one row; what is in its way is told in it."""
    sides = (row.side, *(side for _, side in row.floors))
    found = taken(measurer, sides, effort)
    if isinstance(found, Blocked):
        return _empty(row, found)
    if 0 in found.refused:
        clause, why = found.refused[0]
        return _empty(row, Blocked(clause=clause, why=why))
    compared: list[Compared] = []
    missing: list[Missing] = []
    for place, (floor, _) in enumerate(row.floors, 1):
        if place in found.refused:
            missing.append(Missing(floor=floor, why=found.refused[place][1]))
        else:
            compared.append(_over(floor, found, place, _handlers(row), band))
    return _empty(row).model_copy(
        update={
            "compared": tuple(compared),
            "missing": tuple(missing),
            "memory": _memory(measurer, row),
        }
    )


def _handlers(row: Row) -> int:
    """Return how many handlers stand on top of the floors."""
    return 1 if row.section == "handlers" else row.side.setting.n


def _over(floor: Floor, found: Turned, place: int, n: int, band: float) -> Compared:
    ours, theirs = found.column(0), found.column(place)
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


def _memory(measurer: Measurer, row: Row) -> Memory | None:
    """Return what a run holds; a row of one handler's runs the whole subject."""
    return None if row.section == "handlers" else memory_of(measurer, row.side)


def memory_of(measurer: Measurer, side: SideSpec) -> Memory | None:
    """Return what one run of a side holds; None where it cannot be measured."""
    try:
        reply = answer(measurer, {"do": "memory", "side": side.to_json()})
    except (ChildLostError, NotMeasuredError):
        return None
    return Memory(**reply)


def _empty(row: Row, blocked: Blocked | None = None) -> Cost:
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
