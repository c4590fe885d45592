"""From how many handlers on a framework fails, and how.

Every try is a process of its own, because the framework may take its process with it.
It is taken that what fails with so many handlers fails with more: so the number is
found by halving.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from benchmarks.peers.asking import Lost, ask
from benchmarks.peers.plan import Plan
from compat.verdicts.cost import CostFailure

Try: TypeAlias = Callable[[int], CostFailure | None]

NOTHING: Final = -1
"""Holds where not even the base run is known to work."""


def fails_at(holds: int, deepest: int, attempt: Try) -> CostFailure | None:
    """Return the failure with the fewest handlers, or None up to ``deepest``.

    ``holds`` handlers are known to work, or it is ``NOTHING``.
    """
    failure = attempt(deepest)
    while failure is not None and failure.n - holds > 1:
        middle = (holds + failure.n) // 2
        earlier = attempt(middle)
        if earlier is None:
            holds = middle
        else:
            failure = earlier
    return failure


def attempts(peer: str, at: int, limit: float) -> Try:
    """Return what tries the peer's hook at that place of its list."""

    def attempt(n: int) -> CostFailure | None:
        reply = ask(peer, {"do": "try", "at": at, "n": n}, limit)
        if isinstance(reply, Lost):
            return CostFailure(n=n, how=reply.how, what=reply.why)
        if reply["how"] is None:
            return None
        return CostFailure(n=n, how=reply["how"], what=reply["what"])

    return attempt


def failure_of(peer: str, at: int, holds: int, plan: Plan) -> CostFailure | None:
    """Return from how many handlers on the hook fails, as far as the plan looks.

    Without bisection it is the deepest number that is told, where that fails.
    """
    attempt = attempts(peer, at, plan.probe)
    if plan.bisect:
        return fails_at(holds, plan.deepest, attempt)
    failure = attempt(plan.deepest)
    if failure is None:
        return None
    what = f"{failure.what} (fewer were not tried)"
    return failure.model_copy(update={"what": what})
