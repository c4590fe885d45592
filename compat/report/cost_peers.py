"""The tables of a benchmark that set us beside others: peers, and the bars we hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from compat.report.conform_text import brief
from compat.report.cost_grid import (
    CostCell,
    CostColumn,
    CostGrid,
    GridRow,
    blocked_row,
    left,
    named,
    words,
)
from compat.report.cost_text import (
    NOTHING,
    bytes_text,
    failure_text,
    ratio_estimate,
    ratio_text,
    seconds_estimate,
    seconds_text,
)
from compat.verdicts.cost import Absent, Bar, Costs, PeerCost

WORK: Final = "one tool call and two calls of a scripted model in the same process"


def peer_grids(costs: Costs) -> Iterator[CostGrid]:
    """Yield the tables of peers, of memory per handler and of bars that have rows."""
    if costs.peers or costs.absent:
        yield _base_grid(costs)
    if costs.peers:
        yield _hook_grid(costs.peers)
    grown = memory_rows(costs)
    if grown:
        yield _memory_grid(grown)
    if costs.bars:
        yield _bar_grid(costs.bars)


def base_runs(peers: Sequence[PeerCost]) -> list[PeerCost]:
    """Return the first row with a base run of each peer; a base run has no hook."""
    found: dict[tuple[str, str], PeerCost] = {}
    for each in peers:
        if each.base_seconds is not None:
            found.setdefault((each.peer, each.version), each)
    return list(found.values())


def memory_rows(costs: Costs) -> list[tuple[str, str, float]]:
    """Return who, kind of hook and bytes a handler adds: ours first, then the peers."""
    ours = [
        ("refengine", each.name, each.memory_slope)
        for each in costs.growth
        if each.memory_slope is not None and not each.blocked
    ]
    peers = [
        (_who(each), each.hook, each.memory)
        for each in costs.peers
        if each.memory is not None and not each.blocked
    ]
    return ours + peers


def bar_cell(bar: Bar) -> CostCell:
    """Return whether a bar holds, in a word or two."""
    if bar.holds is None:
        return CostCell("not measured", "quiet")
    return CostCell("holds", "good") if bar.holds else CostCell("MISSED", "bad")


def _who(found: PeerCost) -> str:
    return f"{found.peer} {found.version}".strip()


def _base_grid(costs: Costs) -> CostGrid:
    about = f"A run without handlers: {WORK}."
    columns = (
        left("framework"),
        CostColumn("a run"),
        CostColumn("over bare Python"),
        CostColumn("over refengine"),
    )
    rows = [GridRow(_base_cells(each)) for each in base_runs(costs.peers)]
    shown = {each.peer for each in base_runs(costs.peers)}
    unmeasured = {e.peer: e for e in costs.peers if e.peer not in shown}
    rows += [_no_base_row(each) for each in unmeasured.values()]
    rows += [_absent_row(each) for each in costs.absent]
    return CostGrid("base", "Other frameworks: a run", about, columns, tuple(rows))


def _base_cells(found: PeerCost) -> tuple[CostCell, ...]:
    seconds = (
        NOTHING if found.base_seconds is None else seconds_text(found.base_seconds)
    )
    bare, ours = map(ratio_estimate, (found.base_over_bare, found.base_over_ours))
    return (named(_who(found)), *words((seconds, bare, ours)))


def _no_base_row(found: PeerCost) -> GridRow:
    name = named(_who(found))
    if found.blocked:
        return blocked_row((name,), found.blocked, 4)
    return GridRow((name, *words((NOTHING,) * 3)))


def _absent_row(found: Absent) -> GridRow:
    empty = words((NOTHING, NOTHING))
    return GridRow((named(found.peer), *empty, CostCell("absent, see below", "quiet")))


def _hook_grid(peers: Sequence[PeerCost]) -> CostGrid:
    about = (
        "What one handler adds to a run there, beside the hook of ours that does the"
        " same. The last column says with how many handlers a run fails, and how."
    )
    columns = (
        left("framework"),
        left("its hook"),
        CostColumn("ours", right=False, extra=True),
        CostColumn("one handler adds"),
        CostColumn("over bare Python"),
        CostColumn("over refengine"),
        left("fails at"),
    )
    rows = tuple(_hook_row(each, columns) for each in peers)
    return CostGrid("peers", "Other frameworks: a handler", about, columns, rows)


def _hook_row(found: PeerCost, columns: Sequence[CostColumn]) -> GridRow:
    names = named(_who(found)), named(found.hook), named(found.ours)
    if found.blocked:
        return blocked_row(names, found.blocked, len(columns))
    numbers = (
        seconds_estimate(found.per_handler),
        ratio_estimate(found.over_bare),
        ratio_estimate(found.over_ours),
    )
    silent = found.fails is not None and found.fails.how == "silent"
    fails = CostCell(failure_text(found.fails, found.tried), "bad" if silent else "")
    return GridRow((*names, *words(numbers), fails))


def _memory_grid(found: Sequence[tuple[str, str, float]]) -> CostGrid:
    about = "What one more handler adds to the peak of a run."
    columns = (left("framework"), left("hook"), CostColumn("one handler adds"))
    rows = (
        GridRow((named(who), named(hook), CostCell(bytes_text(size))))
        for who, hook, size in found
    )
    return CostGrid(
        "memory-handler", "Memory of a handler", about, columns, tuple(rows)
    )


def _bar_grid(bars: Sequence[Bar]) -> CostGrid:
    about = "Limits that we hold ourselves to."
    columns = (
        left("bar"),
        CostColumn("ratio"),
        CostColumn("limit"),
        left("verdict"),
        left("why"),
    )
    rows = tuple(GridRow(_bar_cells(each)) for each in bars)
    return CostGrid("bars", "Bars", about, columns, rows)


def _bar_cells(bar: Bar) -> tuple[CostCell, ...]:
    ratio = NOTHING if bar.ratio is None else ratio_text(bar.ratio)
    why = brief(bar.why, 200)
    return (
        named(bar.name),
        *words((ratio, f"≤ {ratio_text(bar.limit)}")),
        bar_cell(bar),
        CostCell(why),
    )
