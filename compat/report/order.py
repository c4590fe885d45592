"""The answer of an audit of a stack's order, for a person at a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.text import Text

from compat.report.conform_text import counted, does
from compat.report.migration import evidence
from compat.report.migration_headline import NARROW, answer
from compat.verdicts.order import JudgedOrder, OrderAudit


def order_lines(found: OrderAudit, width: int = NARROW) -> Iterator[Text]:
    """Yield the report: answer, the lists, each pair that matters, what was not tried.

    Pairs that do not commute have the first screen of a check: OLD is the stack as it
    is. Where the terminal is ``width`` enough, old and new stand side by side.
    """
    yield _headline(found)
    if found.interrupted:
        what = "it would have tried more pairs; this is what was found by then"
        yield Text(f"INTERRUPTED  {what}", "bold yellow")
    for place, names in found.lists:
        yield Text(f"  {place}: {', '.join(names)}")
    for number, pair in enumerate(found.apart, 1):
        yield Text()
        what = f"{number}. {_both(pair)}: OLD is your stack, NEW has {pair.moved}"
        yield Text(what, "bold")
        yield from answer(pair.verdict)
        yield from evidence(pair.verdict, width)
    yield Text()
    yield from _rest(found)
    clear = [each for each in found.apart if not each.unclear]
    if clear:
        yield from _next(clear[0])


def _headline(found: OrderAudit) -> Text:
    if found.fault is not None:
        # It is the only one there is, and no old one.
        text = re.sub(r"\Aold \((.*?)\)", r"\1", found.fault.text)
        return Text(f"CANNOT BE JUDGED  {text}", "bold red")
    many = counted(len(found.judged), "pair")
    unclear = sum(each.unclear for each in found.apart)
    apart = len(found.apart) - unclear
    if apart:
        what = f"{apart} of {many} {'does' if apart == 1 else 'do'} not commute"
        return Text(f"ORDER MATTERS  {what}", "bold red")
    if unclear:
        what = f"{unclear} of {many} could not be judged"
        return Text(f"NOT COMPARABLE  {what}", "bold yellow")
    meant = sum(not each.commutes for each in found.judged)
    declared = f", {meant} {does(meant, 'are')} meant" if meant else ""
    what = f"{len(found.judged) - meant} of {many} commute{declared}"
    if _idle(found):
        return Text(f"NOT EXERCISED  {what} where they ran", "bold yellow")
    if found.unused or found.volatile:
        return Text(f"HAS UNUSED ENTRIES  {what}", "bold yellow")
    return Text(f"HOLDS  {what}", "bold green")


def _rest(found: OrderAudit) -> Iterator[Text]:
    """Yield the pairs with nothing to look at, and what all of it rests on."""
    free = [_both(each) for each in found.judged if each.commutes]
    if free:
        yield Text(f"Commute: {'; '.join(free)}")
    for pair in found.judged:
        if pair.meant and not pair.commutes and not pair.unclear:
            code = pair.verdict.divergence.code if pair.verdict.divergence else ""
            yield Text(f"Meant: {_both(pair)} ({pair.meant}): {code}")
    for left in found.untried:
        yield Text(f"Not tried: {left.first}, {left.then}: {left.why}", "yellow")
    for entry in found.unused:
        what = f"declared {entry.first}, {entry.then}: UNUSED, {entry.why}"
        yield Text(what, "bold yellow")
    for place in found.volatile:
        yield Text(f"volatile in {place}: UNUSED, it differs nowhere", "bold yellow")
    for hook in _idle(found):
        yield Text(f"{hook}: NEVER ENTERED", "bold yellow")
    if found.fault is None:
        worlds = counted(found.worlds, "world")
        yield Text(f"Rests on {worlds}, held to {found.required}.")


def _next(pair: JudgedOrder) -> Iterator[Text]:
    """Yield what to do about a pair: say that its order is meant."""
    yield Text()
    yield Text("If an order is meant, say so in migration.toml:")
    yield Text("  [[order]]")
    for key, value in (
        ("first", pair.first),
        ("then", pair.then),
        ("reason", "…"),
    ):
        yield Text(f'  {key} = "{value}"')


def _both(pair: JudgedOrder) -> str:
    return f"{pair.first}, {pair.then}"


def _idle(found: OrderAudit) -> Sequence[str]:
    """Return the hooks that no world entered, whatever the order is."""
    seen = (each.verdict.exercise.get("old") for each in found.judged)
    first = next((each for each in seen if each is not None), None)
    return () if first is None else first.idle
