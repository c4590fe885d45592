"""What many failures likely come from: those whose worlds begin to differ alike.

One fault fails a dozen clauses at once, and only one of them says what is wrong. The
smallest world of each tells where the engine first does otherwise than the reference
engine; failures that have the same place in common are put together, under the one that
fails in most worlds. It stays a guess, and every report calls it one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from compat.verdicts.conformance import ClauseResult, LikelyCause, Verdict

COUNTED: Final[frozenset[Verdict]] = frozenset(("fail", "blocked"))


def likely_causes(results: Iterable[ClauseResult]) -> tuple[LikelyCause, ...]:
    """Return the causes that more than one clause likely fails for, the largest first.

    A known failure is nothing that a reader has to look at, and counts for none.
    """
    groups: dict[str, list[ClauseResult]] = {}
    for each in results:
        sign = _sign(each)
        if sign:
            groups.setdefault(sign, []).append(each)
    several = (_cause(sign, some) for sign, some in groups.items() if len(some) > 1)
    return tuple(sorted(several, key=lambda each: (-len(each.behind), each.clause)))


def with_blockers(
    results: Iterable[ClauseResult], causes: Iterable[LikelyCause]
) -> Iterator[ClauseResult]:
    """Yield the results; what is blocked names the failure that it stands behind."""
    known = tuple(results)
    failing = {each.clause for each in known if each.verdict == "fail"}
    first = {b: c.clause for c in causes if c.clause in failing for b in c.behind}
    for each in known:
        if each.verdict == "blocked" and each.clause in first:
            yield each.model_copy(update={"blocked_by": first[each.clause]})
        else:
            yield each


def _sign(result: ClauseResult) -> str:
    if result.verdict not in COUNTED or result.known or result.failure is None:
        return ""
    found = result.failure.divergence
    return "" if found is None else found.sign


def _cause(sign: str, some: Sequence[ClauseResult]) -> LikelyCause:
    """Put the failure first that shows it in most worlds, and a MUST before others."""
    first, *behind = sorted(some, key=_weight)
    return LikelyCause(
        clause=first.clause, sign=sign, behind=tuple(sorted(e.clause for e in behind))
    )


def _weight(result: ClauseResult) -> tuple[bool, bool, int, str]:
    blocked, weak = result.verdict == "blocked", result.level != "MUST"
    return blocked, weak, -result.failing, result.clause
