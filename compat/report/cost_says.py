"""What a benchmark says in sentences, and, as important, what it does not say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from compat.report.conform_text import counted, does, without_paths
from compat.report.cost_tables import (
    FASTER,
    base_runs,
    by_price,
    grids,
    nearest,
    price,
    rise_text,
)
from compat.report.cost_text import (
    SAME,
    CostGrid,
    blocked_text,
    noise_text,
    percent,
    ratio_estimate,
    ratio_text,
    seconds_estimate,
    seconds_text,
)
from compat.report.plain_text import plain
from compat.verdicts.cost import Blocked, Cost, Costs, Floor, Growth, PeerCost

METHOD: Final = (
    (
        "A cost and its floor are measured in turns, in the same process and the same"
        " minute (with a setup, in two processes): what slows the machine down slows"
        " both. The ratio of the two is what"
        " counts; the times beside it are those of this machine."
    ),
    (
        "Floors are a loop or an onion written by hand in bare Python, and the engine"
        " with no handler. Above 900 layers there is no bare floor, because plain"
        " Python cannot run it."
    ),
    (
        "Each interval holds with 99 %. Two equal sides are measured as well, and what"
        " lies within their difference is told as not distinguishable, neither better"
        " nor worse."
    ),
    (
        "A row is shown only if its run did its work first: the tool ran once, and"
        " every hook was called as often as it should be. Else it is blocked, and has"
        " no numbers."
    ),
)
"""How the numbers came about, for readers who have not read anything else."""
FLOORS: Final[dict[Floor, str]] = {
    "bare Python": "bare Python",
    "no handlers": "the engine with no handler",
    "native": "the struct middleware as it is",
    "against": "the subject it is set against",
    "without it": "the same subject without it",
    "plain": "the same run without the setup",
}
"""Floors as they are called in a sentence."""
GROWS: Final = 3.0
"""So many times as much over the longest history as over the shortest is growth."""


@dataclass(frozen=True, slots=True)
class CostReport:
    """All that is said of a benchmark; what writes it out adds nothing of its own."""

    facts: tuple[tuple[str, str], ...]
    noise: str
    says: tuple[str, ...]
    says_not: tuple[str, ...]
    grids: tuple[CostGrid, ...]

    @property
    def told(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Both lists of sentences under their titles, without those that are empty."""
        both = ("What this says", self.says), ("What it does not say", self.says_not)
        return tuple(each for each in both if each[1])


def gathered(costs: Costs) -> CostReport:
    """Return what every report of a benchmark says."""
    return CostReport(
        tuple(facts(costs)),
        noise_text(costs),
        tuple(says(costs)),
        tuple(says_not(costs)),
        tuple(grids(costs)),
    )


def facts(costs: Costs) -> Iterator[tuple[str, str]]:
    """Yield name and value of what was measured, and on what."""
    header = costs.header
    yield "measured", "quick" if header.quick else "full"
    if header.subject:
        yield "subject", plain(without_paths(header.subject))
    if header.against:
        yield "against", plain(without_paths(header.against))
    if header.setup:
        yield "setup", plain(header.setup)
    yield from ((plain(name), plain(each)) for name, each in header.machine.items())
    yield "by", plain(header.tool)
    if header.started:
        yield "started", plain(header.started)
    if header.seconds:
        yield "took", f"{header.seconds:,.0f} s"
    yield "command", plain(without_paths(header.command))


def says(costs: Costs) -> Iterator[str]:
    """Yield what follows from the numbers, a sentence each."""
    yield from _of_subject(costs)
    yield from _of_hooks(costs)
    yield from _of_growth(costs)
    yield from _of_peers(costs)
    yield from _of_bars(costs)


def says_not(costs: Costs) -> Iterator[str]:
    """Yield what was not measured, could not be, or lies within the noise."""
    yield from _same(costs)
    for name, found in _blocked(costs):
        yield _closed(f"{name} has no numbers: {blocked_text(found)}")
    yield from _missing(costs)
    for each in costs.absent:
        yield _closed(f"{each.peer} is absent: {each.why}")
    for bar in costs.bars:
        if bar.holds is None:
            why = f": {bar.why}" if bar.why else ""
            yield _closed(f"The bar “{bar.name}” was not measured{why}")
    if costs.header.quick:
        yield (
            "This was a quick run: fewer sizes and fewer rounds, so wider intervals."
            " Without --quick all of them are measured."
        )
    yield from map(_closed, costs.told)
    yield (
        "Times are those of one machine. Compare ratios, and only within one report or"
        " by bench compare."
    )


def _of_subject(costs: Costs) -> Iterator[str]:
    found = _priced(costs, "handlers")
    if len(found) > 1:
        first, second = found[:2]
        close = f"; {second.name} is not told apart from it" * _close(first, second)
        yield _closed(
            f"The most expensive handler is {first.name}{_adds(first)}{close}"
        )
    yield from _dearest_hook(costs)
    yield from _of_history(costs)


def _dearest_hook(costs: Costs) -> Iterator[str]:
    """Yield which hook to look at first: by its share, also where it is not proven.

    A hook that nearly all of the time goes to may have the widest interval. Naming the
    cheap one behind it, only because that is told apart, would send the reader astray.
    """
    if costs.hooks and all(each.change != "dearer" for each in costs.hooks):
        yield "No hook of the subject takes more than one that does nothing."
        return
    for hook in by_price(costs.hooks)[:1]:
        unsure = "" if hook.change == "dearer" else "; its interval is wide: run again"
        yield (
            f"The most expensive hook is {plain(hook.hook)} of {plain(hook.handler)}:"
            f" {seconds_estimate(hook.seconds)} a call,"
            f" {percent(hook.share)} of what all hooks take{unsure}."
        )


def _of_history(costs: Costs) -> Iterator[str]:
    """Yield how what the subject adds to a run grows with the history, if it does."""
    added: dict[int, float] = {}
    for each in costs.costs:
        if each.section == "subject" and each.compared and not each.blocked:
            told = nearest(each.compared)
            more = (told.seconds - told.floor_seconds) * (told.change != SAME)
            added.setdefault(each.history, max(more, 0.0))
    if len(added) > 1 and added[max(added)] > GROWS * added[min(added)]:
        steps = (
            f"{seconds_text(more) if more else 'nothing that is told apart'} over"
            f" {counted(history, 'message')}"
            for history, more in sorted(added.items())
        )
        yield f"It grows with the history: what a run takes more is {', '.join(steps)}."


def _of_hooks(costs: Costs) -> Iterator[str]:
    found = _priced(costs, "hooks")
    if len(found) > 1:
        yield (
            f"Of hooks that do nothing the cheapest is {plain(found[-1].name)}"
            f"{_adds(found[-1])}; the most expensive is {plain(found[0].name)}"
            f"{_adds(found[0])}."
        )


def _of_growth(costs: Costs) -> Iterator[str]:
    found = [each for each in costs.growth if each.shape and not each.blocked]
    shapes = Counter(each.shape for each in found)
    if not shapes:
        return
    kinds = ", ".join(
        f"{shape} for {counted(number, 'kind')}" for shape, number in shapes.items()
    )
    most = max((e.n for each in found for e in each.points), default=0)
    if costs.header.subject is not None:
        yield f"Growth, measured with up to {most:,} copies of it, is {found[0].shape}."
        return
    if costs.header.setup is not None:
        yield from _risen(found)
        return
    handlers = counted(most, "handler")
    yield f"Growth, measured with up to {handlers}, is {kinds} of handler."


def _risen(found: Sequence[Growth]) -> Iterator[str]:
    """Yield of what a setup's cost grows faster than the run that it observes."""
    for each in found:
        ends = rise_text(each).removesuffix(f", {FASTER}")
        verb = FASTER if each.faster else "does not grow faster than the work"
        yield (
            f"{plain(each.name)}: what the setup costs {verb}, from"
            f" {each.points[0].n:,} to {each.points[-1].n:,} ({ends})."
        )


def _of_peers(costs: Costs) -> Iterator[str]:
    others = [each for each in costs.peers if not each.own]
    fastest = min(
        (each for each in base_runs(others) if each.base_over_ours),
        key=_base,
        default=None,
    )
    if fastest is not None:
        yield (
            "A run without handlers: the fastest other framework,"
            f" {plain(fastest.peer)}, takes {ratio_estimate(fastest.base_over_ours)}"
            " what refengine takes."
        )
    for each in costs.peers:
        if each.fails is not None and each.fails.how == "silent":
            yield _closed(
                f"{each.peer} fails silently from {counted(each.fails.n, 'handler')}"
                f" with {each.hook}: {each.fails.what}"
            )


def _of_bars(costs: Costs) -> Iterator[str]:
    judged = [each for each in costs.bars if each.holds is not None]
    if judged:
        held = sum(each.holds is True for each in judged)
        of = counted(len(judged), "measured bar")
        yield f"{held} of {of} {does(held, 'hold')}."
    for each in judged:
        if not each.holds and each.ratio is not None:
            yield (
                f"The bar “{plain(each.name)}” is missed: {ratio_text(each.ratio)},"
                f" and its limit is {ratio_text(each.limit)}."
            )


def _base(found: PeerCost) -> float:
    return found.base_over_ours.value if found.base_over_ours else float("inf")


def _priced(costs: Costs, section: str) -> list[Cost]:
    """Return rows that can be told apart from a floor, the most expensive first."""
    rows = [
        each
        for each in costs.costs
        if each.section == section
        and not each.blocked
        and any(e.change != SAME and e.per_handler for e in each.compared)
    ]
    return sorted(rows, key=price, reverse=True)


def _close(dearer: Cost, cheaper: Cost) -> bool:
    """Tell whether what two handlers add may be the same."""
    one, other = (nearest(each.compared).per_handler for each in (dearer, cheaper))
    return one is not None and other is not None and other.high >= one.low


def _adds(cost: Cost) -> str:
    apart = [e for e in cost.compared if e.change != SAME and e.per_handler]
    found = nearest(apart)
    return f", {seconds_estimate(found.per_handler)} over {FLOORS[found.floor]}"


def _same(costs: Costs) -> Iterator[str]:
    changes = [each.change for cost in costs.costs for each in cost.compared]
    changes += [each.change for each in costs.hooks]
    same = sum(each == SAME for each in changes)
    if same:
        yield (
            f"{same} of {counted(len(changes), 'comparison')} came out as {SAME}: the"
            " difference, if there is one, is smaller than this run can see."
        )


def _blocked(costs: Costs) -> Iterator[tuple[str, Blocked]]:
    """Yield name and reason of each row without numbers."""
    yield from ((each.name, each.blocked) for each in costs.costs if each.blocked)
    for growth in costs.growth:
        if growth.blocked:
            yield f"The growth of {growth.name}", growth.blocked
    for peer in costs.peers:
        if peer.blocked:
            yield f"{peer.peer}, {peer.hook},", peer.blocked


def _missing(costs: Costs) -> Iterator[str]:
    """Yield each floor that is missing, with the rows it is missing for."""
    found: dict[tuple[Floor, str], list[str]] = defaultdict(list)
    for cost in costs.costs:
        for each in cost.missing:
            found[each.floor, each.why].append(cost.name)
    for (floor, why), names in found.items():
        rows = "; ".join(dict.fromkeys(names))
        yield _closed(f"No floor “{floor}” for {rows}: {why}")


def _closed(text: str) -> str:
    """Return what somebody else wrote as a plain sentence without paths."""
    shown = plain(without_paths(text))
    return shown if shown.endswith((".", "!", "?")) else f"{shown}."
