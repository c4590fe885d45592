"""The tables of a benchmark: what each of our own costs, and how it grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from compat.report.conform_text import counted, plain
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
from compat.report.cost_peers import peer_grids
from compat.report.cost_text import (
    NOTHING,
    SAME,
    bytes_text,
    over,
    percent,
    seconds_estimate,
    seconds_text,
)
from compat.verdicts.cost import (
    SHAPES,
    Compared,
    Cost,
    Costs,
    Growth,
    HookCost,
    Missing,
    Section,
    Shape,
)

SECTIONS: Final[tuple[tuple[Section, str, str], ...]] = (
    ("subject", "Your subject", "All its handlers together, beside each floor."),
    (
        "handlers",
        "Each of your handlers",
        "The most expensive first: a run with it, beside the same run without it.",
    ),
    (
        "hooks",
        "What a hook costs",
        "Handlers that do nothing, all with the same hook.",
    ),
    ("axes", "One thing changed at a time", "Everything else stays as it is."),
    ("corners", "Corners", "Several things at their ends at once."),
    (
        "forms",
        "Forms of the same extension",
        "A handler, a struct middleware, and one that an adapter made a handler.",
    ),
)
_BY_PRICE: Final = ("handlers",)
_NAMED: Final = ("axes", "subject")
"""Sections whose rows say in their names what else differs."""


def grids(costs: Costs) -> Iterator[CostGrid]:
    """Yield every table that has a row, in the order in which they are read."""
    for section, title, about in SECTIONS:
        found = [each for each in costs.costs if each.section == section]
        if section in _BY_PRICE:
            found.sort(key=price, reverse=True)
        if found:
            yield _cost_grid(section, title, about, found)
        if section == "handlers" and costs.hooks:
            yield _hook_grid(costs.hooks)
    if costs.growth:
        yield _growth_grid(costs.growth)
    held = [each for each in costs.costs if _holds(each)]
    if held:
        yield _memory_grid(held)
    yield from peer_grids(costs)


def _holds(cost: Cost) -> bool:
    """Tell whether what a row holds is told; along the axes it is what hooks hold."""
    return bool(cost.memory) and not cost.blocked and cost.section != "axes"


def price(cost: Cost) -> float:
    """Return seconds by which rows are put in order; a blocked row has none."""
    if cost.blocked or not cost.compared:
        return float("-inf")
    first = nearest(cost.compared)
    if first.per_handler is not None:
        return first.per_handler.value
    return first.seconds - first.floor_seconds


def nearest(found: Sequence[Compared]) -> Compared:
    """Return the comparison that tells most of what a handler adds; one is given."""
    order = ("without it", "no handlers")
    known = {each.floor: each for each in found}
    return next((known[each] for each in order if each in known), found[0])


def by_price(hooks: Iterable[HookCost]) -> list[HookCost]:
    """Return hooks, the one that takes most of a run first."""
    return sorted(hooks, key=lambda each: (-each.share, each.handler, each.hook))


def settings(costs: Sequence[Cost]) -> str:
    """Return what all rows have in common; empty if they differ."""
    found = {(each.n, each.history, each.tools) for each in costs}
    if len(found) != 1:
        return ""
    [(n, history, tools)] = found
    messages = counted(history, "message")
    return f"{counted(n, 'handler')}, {messages} of history, {counted(tools, 'tool')}"


def _cost_grid(key: str, title: str, about: str, found: Sequence[Cost]) -> CostGrid:
    shared = settings(found)
    knobs = not shared and key not in _NAMED
    columns = (
        left(key.rstrip("s") if key in {"hooks", "handlers"} else "what is run"),
        *((CostColumn(_KNOB_NAMES),) if knobs else ()),
        left("over"),
        CostColumn("floor", extra=True),
        CostColumn("a run"),
        CostColumn("one handler adds"),
        CostColumn("ratio to the floor"),
    )
    note = f"Each with {shared}." if shared else _KNOBS if knobs else ""
    rows = (row for each in found for row in _cost_rows(each, columns))
    return CostGrid(key, title, f"{about} {note}".strip(), columns, tuple(rows))


_KNOB_NAMES: Final = "N / history / tools"
_KNOBS: Final = "N is the number of handlers, history a number of messages."


def _cost_rows(cost: Cost, columns: Sequence[CostColumn]) -> Iterator[GridRow]:
    name = named(cost.name)
    if cost.blocked:
        yield blocked_row((name,), cost.blocked, len(columns))
        return
    knobs = f"{cost.n:,} / {cost.history:,} / {cost.tools:,}"
    head = (name, CostCell(knobs)) if columns[1].name == _KNOB_NAMES else (name,)
    cells = [*map(_compared_cells, cost.compared), *map(_missing_cells, cost.missing)]
    for at, each in enumerate(cells):
        yield GridRow((*head, *each), again=at > 0)


def _compared_cells(found: Compared) -> tuple[CostCell, ...]:
    same = found.change == SAME
    adds = NOTHING if same else seconds_estimate(found.per_handler)
    times = seconds_text(found.floor_seconds), seconds_text(found.seconds)
    ratio = CostCell(over(found), "quiet" if same else "")
    return (CostCell(found.floor), *words((*times, adds)), ratio)


def _missing_cells(found: Missing) -> tuple[CostCell, ...]:
    empty = words((NOTHING,) * 3)
    return (CostCell(found.floor), *empty, CostCell("no such floor", "quiet"))


def _hook_grid(hooks: Sequence[HookCost]) -> CostGrid:
    about = (
        "The most expensive first: what a hook takes itself, without what it calls,"
        " and its share of what all hooks of the subject take."
    )
    columns = (
        left("handler"),
        left("hook"),
        CostColumn("calls in a run"),
        CostColumn("one call"),
        CostColumn("share"),
        left("beside a hook that does nothing"),
    )
    rows = tuple(GridRow(_hook_cells(each)) for each in by_price(hooks))
    return CostGrid("own-hooks", "Each hook of your handlers", about, columns, rows)


def _hook_cells(found: HookCost) -> tuple[CostCell, ...]:
    same = found.change == SAME
    return (
        named(found.handler),
        named(found.hook),
        CostCell(f"{found.calls:,}"),
        CostCell(seconds_estimate(found.seconds)),
        CostCell(percent(found.share)),
        CostCell(found.change, "quiet" if same else ""),
    )


def _growth_grid(found: Sequence[Growth]) -> CostGrid:
    about = (
        "How a run grows with the number of handlers. The last columns say how far each"
        " shape lies from what was measured, as a mean; * marks the simplest that fits"
        " as well as any."
    )
    columns = (
        left("handlers of one kind"),
        CostColumn("up to"),
        CostColumn("one more adds"),
        CostColumn("by hand"),
        *map(CostColumn, SHAPES),
    )
    rows = tuple(_growth_row(each, columns) for each in found)
    return CostGrid("growth", "Growth", about, columns, rows)


def _growth_row(found: Growth, columns: Sequence[CostColumn]) -> GridRow:
    name = named(found.name)
    if found.blocked:
        return blocked_row((name,), found.blocked, len(columns))
    most = max((each.n for each in found.points), default=0)
    by_hand = seconds_text(found.bare_slope.value) if found.bare_slope else NOTHING
    numbers = words((f"{most:,}", seconds_estimate(found.slope), by_hand))
    return GridRow((name, *numbers, *(_fit_cell(found, each) for each in SHAPES)))


def _fit_cell(found: Growth, shape: Shape) -> CostCell:
    error = next((each.error for each in found.fits if each.shape == shape), None)
    if error is None:
        return CostCell(NOTHING, "quiet")
    if shape == found.shape:
        return CostCell(f"* {percent(error)}", "best")
    return CostCell(percent(error))


def _memory_grid(found: Sequence[Cost]) -> CostGrid:
    columns = (
        left("what is run"),
        CostColumn("N / history / tools"),
        CostColumn("at its peak"),
        CostColumn("left after it"),
        CostColumn("blocks in use"),
    )
    rows = (GridRow((named(cost.name), *words(_memory_texts(cost)))) for cost in found)
    about = f"What one run holds, as Python's own allocator counts it. {_KNOBS}"
    return CostGrid("memory", "Memory of a run", plain(about), columns, tuple(rows))


def _memory_texts(cost: Cost) -> tuple[str, ...]:
    held = cost.memory
    knobs = f"{cost.n:,} / {cost.history:,} / {cost.tools:,}"
    if held is None:
        return (knobs, NOTHING, NOTHING, NOTHING)
    return (knobs, bytes_text(held.peak), bytes_text(held.left), f"{held.blocks:,}")
