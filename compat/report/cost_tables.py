"""The tables of a benchmark before they are drawn: what every report of it sets.

What each of our own costs, how it grows, what peers take, and the bars we hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from compat.report.conform_text import brief, counted
from compat.report.cost_text import (
    NOTHING,
    SAME,
    CostCell,
    CostColumn,
    CostGrid,
    GridRow,
    blocked_row,
    bytes_text,
    columns,
    failure_text,
    named,
    over,
    percent,
    ratio_estimate,
    ratio_text,
    seconds_estimate,
    seconds_text,
    words,
)
from compat.report.plain_text import plain
from compat.verdicts.cost import (
    SHAPES,
    Bar,
    Compared,
    Cost,
    Costs,
    Growth,
    HookCost,
    PeerCost,
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
_KNOB_NAMES: Final = "N / history / tools"
_KNOBS: Final = "N is the number of handlers, history a number of messages."
_BY_PRICE: Final = ("handlers",)
_NAMED: Final = ("axes", "subject")
"""Sections whose rows say in their names what else differs."""


FASTER: Final = "grows faster than the work"
"""What is said of a cost whose ratio to the plain run rises."""
WORK: Final = "one tool call and two calls of a scripted model in the same process"


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
    observed = [each for each in costs.costs if each.section == "observed"]
    if observed:
        yield _observed_grid(observed)
    if costs.growth:
        grown = costs.growth
        setup = costs.header.setup
        yield _growth_grid(grown) if setup is None else _risen_grid(grown, setup)
    held = [each for each in costs.costs if _holds(each)]
    if held:
        yield _memory_grid(held)
    yield from _peer_grids(costs)


def _holds(cost: Cost) -> bool:
    """Tell whether what a row holds is told; along the axes it is what hooks hold."""
    return bool(cost.memory) and not cost.blocked and cost.section != "axes"


def _observed_grid(found: Sequence[Cost]) -> CostGrid:
    about = "Each in a process of its own and in turns: plain, and with the setup."
    heads = columns("<what is run", "plain", "observed", "ratio")
    rows = (
        GridRow((named(cost.name), *words(_both_texts(each)), CostCell(over(each))))
        for cost in found
        for each in cost.compared
    )
    return CostGrid("observed", "What the setup costs", about, heads, tuple(rows))


def _both_texts(found: Compared) -> tuple[str, str]:
    return seconds_text(found.floor_seconds), seconds_text(found.seconds)


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
    what = key.rstrip("s") if key in {"hooks", "handlers"} else "what is run"
    names = (f"<{what}", *([_KNOB_NAMES] if knobs else []), "<over", "?floor")
    heads = columns(*names, "a run", "one handler adds", "ratio to the floor")
    note = f"Each with {shared}." if shared else _KNOBS if knobs else ""
    rows = (row for each in found for row in _cost_rows(each, heads))
    return CostGrid(key, title, f"{about} {note}".strip(), heads, tuple(rows))


def _cost_rows(cost: Cost, heads: Sequence[CostColumn]) -> Iterator[GridRow]:
    name = named(cost.name)
    if cost.blocked:
        yield blocked_row((name,), cost.blocked, len(heads))
        return
    knobs = heads[1].name == _KNOB_NAMES
    head = (name, *([CostCell(_knobs(cost))] if knobs else []))
    empty = (*words((NOTHING,) * 3), CostCell("no such floor", "quiet"))
    cells = [_compared_cells(each) for each in cost.compared]
    cells += [(CostCell(each.floor), *empty) for each in cost.missing]
    for at, each in enumerate(cells):
        yield GridRow((*head, *each), again=at > 0)


def _compared_cells(found: Compared) -> tuple[CostCell, ...]:
    same = found.change == SAME
    adds = NOTHING if same else seconds_estimate(found.per_handler)
    times = seconds_text(found.floor_seconds), seconds_text(found.seconds)
    ratio = CostCell(over(found), "quiet" if same else "")
    return (CostCell(found.floor), *words((*times, adds)), ratio)


def _knobs(cost: Cost) -> str:
    return f"{cost.n:,} / {cost.history:,} / {cost.tools:,}"


def _hook_grid(hooks: Sequence[HookCost]) -> CostGrid:
    about = (
        "The most expensive first: what a hook takes itself, without what it calls,"
        " and its share of what all hooks of the subject take."
    )
    first = "<handler", "<hook", "calls in a run", "one call", "share"
    heads = columns(*first, "<beside a hook that does nothing")
    rows = tuple(GridRow(_hook_cells(each)) for each in by_price(hooks))
    return CostGrid("own-hooks", "Each hook of your handlers", about, heads, rows)


def _hook_cells(found: HookCost) -> tuple[CostCell, ...]:
    same = found.change == SAME
    took = seconds_estimate(found.seconds) if found.seconds.value > 0 else NOTHING
    return (
        named(found.handler),
        named(found.hook),
        CostCell(f"{found.calls:,}"),
        CostCell(took),
        CostCell(percent(found.share)),
        CostCell(found.change, "quiet" if same else ""),
    )


def _growth_grid(found: Sequence[Growth]) -> CostGrid:
    about = (
        "How a run grows with the number of handlers. The last columns say how far each"
        " shape lies from what was measured, as a mean; * marks the simplest that fits"
        " as well as any."
    )
    first = "<handlers of one kind", "up to", "one more adds", "by hand"
    heads = columns(*first, *SHAPES)
    rows = tuple(_growth_row(each, heads) for each in found)
    return CostGrid("growth", "Growth", about, heads, rows)


def _growth_row(found: Growth, heads: Sequence[CostColumn]) -> GridRow:
    name = named(found.name)
    if found.blocked:
        return blocked_row((name,), found.blocked, len(heads))
    most = max((each.n for each in found.points), default=0)
    by_hand = seconds_text(found.bare_slope.value) if found.bare_slope else NOTHING
    numbers = words((f"{most:,}", seconds_estimate(found.slope), by_hand))
    return GridRow((name, *numbers, *(_fit_cell(found, each) for each in SHAPES)))


def _risen_grid(found: Sequence[Growth], setup: str) -> CostGrid:
    about = (
        "How runs grow that are observed, and how many times the plain run they take,"
        " with fewest and with most. * marks the simplest shape that fits."
    )
    first = "<more and more", "up to", "one more adds", "plain"
    heads = columns(*first, *SHAPES, "<over the plain run")
    rows = tuple(_risen_row(each, heads) for each in found)
    return CostGrid("growth", f"Growth, with {plain(setup)}", about, heads, rows)


def _risen_row(found: Growth, heads: Sequence[CostColumn]) -> GridRow:
    row = _growth_row(found, heads)
    if found.blocked:
        return row
    cell = CostCell(rise_text(found), "bad" if found.faster else "")
    return GridRow((*row.cells, cell))


def rise_text(found: Growth) -> str:
    """Return the ratio to the plain run with fewest and most, and whether it rises."""
    ratios = [e.seconds / e.bare_seconds for e in found.points if e.bare_seconds]
    if not ratios:
        return NOTHING
    ends = f"{ratio_text(ratios[0])} to {ratio_text(ratios[-1])}"
    return f"{ends}, {FASTER}" if found.faster else ends


def _fit_cell(found: Growth, shape: Shape) -> CostCell:
    error = next((each.error for each in found.fits if each.shape == shape), None)
    if error is None:
        return CostCell(NOTHING, "quiet")
    if shape == found.shape:
        return CostCell(f"* {percent(error)}", "best")
    return CostCell(percent(error))


def _memory_grid(found: Sequence[Cost]) -> CostGrid:
    last = "at its peak", "left after it", "blocks in use"
    heads = columns("<what is run", _KNOB_NAMES, *last)
    rows = (GridRow((named(cost.name), *words(_memory_texts(cost)))) for cost in found)
    about = f"What one run holds, as Python's own allocator counts it. {_KNOBS}"
    return CostGrid("memory", "Memory of a run", plain(about), heads, tuple(rows))


def _memory_texts(cost: Cost) -> tuple[str, ...]:
    held = cost.memory
    if held is None:
        return (_knobs(cost), *(NOTHING,) * 3)
    return (
        _knobs(cost),
        bytes_text(held.peak),
        bytes_text(held.left),
        f"{held.blocks:,}",
    )


def _peer_grids(costs: Costs) -> Iterator[CostGrid]:
    """Yield the tables of peers, of memory per handler and of bars that have rows."""
    if costs.peers or costs.absent:
        yield _base_grid(costs)
    if costs.peers:
        yield _peer_hooks(costs.peers)
    grown = memory_rows(costs)
    if grown:
        yield _handler_memory(grown)
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


def _bar_cell(bar: Bar) -> CostCell:
    """Return whether a bar holds, in a word or two."""
    if bar.holds is None:
        return CostCell("not measured", "quiet")
    return CostCell("holds", "good") if bar.holds else CostCell("MISSED", "bad")


def _who(found: PeerCost) -> str:
    return f"{found.peer} {found.version}".strip()


def _base_grid(costs: Costs) -> CostGrid:
    about = f"A run without handlers: {WORK}."
    heads = columns("<framework", "a run", "over bare Python", "over refengine")
    rows = [GridRow(_base_cells(each)) for each in base_runs(costs.peers)]
    shown = {each.peer for each in base_runs(costs.peers)}
    unmeasured = {e.peer: e for e in costs.peers if e.peer not in shown}
    rows += [_no_base_row(each) for each in unmeasured.values()]
    missing = (*words((NOTHING,) * 2), CostCell("absent, see below", "quiet"))
    rows += [GridRow((named(each.peer), *missing)) for each in costs.absent]
    return CostGrid("base", "Other frameworks: a run", about, heads, tuple(rows))


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


def _peer_hooks(peers: Sequence[PeerCost]) -> CostGrid:
    about = (
        "What one handler adds to a run there, beside the hook of ours that does the"
        " same. The last column says with how many handlers a run fails, and how."
    )
    numbers = "one handler adds", "over bare Python", "over refengine"
    heads = columns("<framework", "<its hook", "?<ours", *numbers, "<fails at")
    rows = tuple(_peer_row(each, len(heads)) for each in peers)
    return CostGrid("peers", "Other frameworks: a handler", about, heads, rows)


def _peer_row(found: PeerCost, width: int) -> GridRow:
    names = named(_who(found)), named(found.hook), named(found.ours)
    if found.blocked:
        return blocked_row(names, found.blocked, width)
    numbers = (
        seconds_estimate(found.per_handler),
        ratio_estimate(found.over_bare),
        ratio_estimate(found.over_ours),
    )
    silent = found.fails is not None and found.fails.how == "silent"
    fails = CostCell(failure_text(found.fails, found.tried), "bad" if silent else "")
    return GridRow((*names, *words(numbers), fails))


def _handler_memory(found: Sequence[tuple[str, str, float]]) -> CostGrid:
    about = "What one more handler adds to the peak of a run."
    heads = columns("<framework", "<hook", "one handler adds")
    rows = (
        GridRow((named(who), named(hook), CostCell(bytes_text(size))))
        for who, hook, size in found
    )
    return CostGrid("memory-handler", "Memory of a handler", about, heads, tuple(rows))


def _bar_grid(bars: Sequence[Bar]) -> CostGrid:
    about = "Limits that we hold ourselves to."
    heads = columns("<bar", "ratio", "limit", "<verdict", "<why")
    rows = tuple(GridRow(_bar_cells(each)) for each in bars)
    return CostGrid("bars", "Bars", about, heads, rows)


def _bar_cells(bar: Bar) -> tuple[CostCell, ...]:
    ratio = NOTHING if bar.ratio is None else ratio_text(bar.ratio)
    why = brief(bar.why, 200)
    return (
        named(bar.name),
        *words((ratio, f"≤ {ratio_text(bar.limit)}")),
        _bar_cell(bar),
        CostCell(why),
    )
