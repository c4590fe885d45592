"""What the tests of an engine say: why a clause is not kept, and what is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec

from compat.report.conform_failure import told as texts_of
from compat.report.conform_text import counted, plain
from compat.verdicts.conformance import ClauseResult, Fault
from property_tests.registry import Clause
from property_tests.running import Asked


def lines(result: ClauseResult, clause: Clause) -> Iterator[str]:
    """Yield why a clause is not kept: what was asked, both values, the world."""
    head = f"{clause.id} {clause.level} on {plain(result.engine)}: {result.verdict}"
    yield head
    yield f"  {clause.sentence}"
    if result.reason:
        yield f"  because   {plain(result.reason)}"
    if result.failure is None:
        return
    found = texts_of(result.failure)
    yield f"  asked     {found.asked}, variant {found.variant}"
    yield f"  expected  {found.expected}"
    yield f"  got       {found.got}"
    if found.differs:
        yield f"  differs   {found.differs}"
    yield f"  fails in  {result.failing} of {counted(result.worlds, 'world')}"
    yield "  observations around it, > decided:"
    yield from (f"  {each.mark} {each.text}" for each in found.around)
    yield "  the smallest world found:"
    yield from (f"    {each}" for each in found.world)
    yield f"  again     {found.reproduce}"


def fault_lines(faults: Iterable[Fault]) -> Iterator[str]:
    """Yield what broke down."""
    yield "it could not be judged:"
    yield from (f"  {each.whose}: {plain(each.text)}" for each in faults)


def stale_line(result: ClauseResult) -> str:
    """Return what is wrong with a known failure that is none any more."""
    return (
        f"listed as a known failure ({plain(result.known_issue)}), but"
        f" {plain(result.known_reason)} ('refengine baseline update' mends the file)"
    )


def corpus_text(asked: Asked) -> str:
    """Return which worlds are run, and which are not."""
    if not asked.examples:
        return "fixed cases only: no generated worlds were asked for"
    if find_spec("hypothesis") is None:
        return (
            f"fixed cases only: {asked.examples} generated worlds are NOT run, they"
            " need Hypothesis (pip install 'refengine[testing]')"
        )
    return f"fixed cases and {asked.examples} generated worlds of seed {asked.seed}"


def some(ids: Sequence[str]) -> str:
    """Return the first of some ids, in brackets."""
    more = ", …" if len(ids) > 3 else ""
    return f" ({', '.join(ids[:3])}{more})" if ids else ""
