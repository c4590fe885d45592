"""The page about what the checks noticed, written by the command that tried it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from property_tests.mutating.sites import Change
from refengine.testing.machine import facts

HEAD: Final = """\
# Every single change of the engine

Written by `python -m property_tests.mutating`; do not edit.

cosmic-ray changes one thing at a time in the modules below: a comparison, an `and`, a
number, a `not`, an exception, a loop that does not run. Each changed tree is judged as
an engine: the fixed cases of all clauses and some generated worlds, under two profiles
and with structs adapted. A change that some clause notices is killed by it.
Changes of annotations and of what is no valid Python are left out; of the dozen ways to
change one operator two are tried.
"""


def page(
    tried: Mapping[str, int],
    survived: Mapping[str, Change],
    reasons: Mapping[str, str],
) -> str:
    """Return the page: the score, a row a module, every survivor with its reason."""
    return "\n".join((HEAD, *_score(tried, survived), *_left(survived, reasons), ""))


def _score(tried: Mapping[str, int], survived: Mapping[str, Change]) -> Iterator[str]:
    total, left = sum(tried.values()), len(survived)
    alone = {name: sum(e.module == name for e in survived.values()) for name in tried}
    share = (total - left) / total
    yield f"**{total - left} of {total} changes are noticed, {share:.1%}.**"
    machine = ", ".join(facts().values())
    yield f"Measured on {machine}.\n"
    yield "| module | changes | noticed | |"
    yield "|---|---|---|---|"
    for name, count in tried.items():
        seen = count - alone[name]
        yield f"| `{name}` | {count} | {seen} | {seen / count:.0%} |"


def _left(survived: Mapping[str, Change], reasons: Mapping[str, str]) -> Iterator[str]:
    yield "\n## What is not noticed, and why\n"
    for id_, change in survived.items():
        yield f"- `{change.module}`, line {change.line}"
        yield f"  - was `{change.removed}`"
        yield f"  - is `{change.added}`"
        yield f"  - {reasons.get(id_, 'no reason is known: a gap of the checks')}"
