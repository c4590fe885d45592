"""From how many handlers on a framework fails, and how.

Every try is a process of its own, because the framework may take its process with it.
It is taken that what fails with so many handlers fails with more: so the number is
found by halving.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from benchmarks.peers.child import OFF
from benchmarks.peers.plan import PeerPlan
from compat.engines.importing import GENERIC
from compat.process import (
    ChildDiedError,
    ChildError,
    ChildHungError,
    ChildProcess,
    python,
    signal_name,
)
from compat.verdicts.cost import CostFailure


@dataclass(frozen=True, slots=True)
class Lost:
    """A child that gave no reply: it died, or was ended for its time."""

    how: Literal["killed", "too slow"]
    why: str


def ask(peer: str, request: Mapping[str, Any], limit: float) -> dict[str, Any] | Lost:
    """Return the child's reply; ``limit`` is in seconds. Raises OSError."""
    until = time.monotonic() + limit
    params = {name: value for name, value in request.items() if name != "do"}
    child = ChildProcess(
        python("benchmarks.peers.child", *GENERIC), env={**os.environ, **OFF}
    )
    try:
        child.wait(child.initialize(limit, peer=peer))
        reply: dict[str, Any] = child.call(
            str(request["do"]), params, until - time.monotonic()
        )
        # A framework may also end its process in another way when all is done.
        status = child.end(grace=until - time.monotonic())
    except ChildHungError:
        return _late(limit)
    except ChildDiedError as error:
        return Lost("killed", _death(error.status, error.last_line))
    except ChildError as error:
        return Lost("killed", error.why)
    finally:
        child.kill()
    if time.monotonic() > until:
        return _late(limit)
    return Lost("killed", _death(status, child.last_line)) if status else reply


def _late(limit: float) -> Lost:
    return Lost("too slow", f"was ended after {limit:g} seconds")


def _death(status: int, last_line: str) -> str:
    if status < 0:
        return f"was killed by {signal_name(-status)}"
    last = f": {last_line}" if last_line else ""
    return f"left with exit code {status}{last}"


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


def failure_of(peer: str, at: int, holds: int, plan: PeerPlan) -> CostFailure | None:
    """Return from how many handlers on the hook fails, as far as the plan looks.

    Without bisection it is the deepest number that is reported, where that fails.
    """
    attempt = attempts(peer, at, plan.probe)
    if plan.bisect:
        return fails_at(holds, plan.deepest, attempt)
    failure = attempt(plan.deepest)
    if failure is None:
        return None
    what = f"{failure.what} (fewer were not tried)"
    return failure.model_copy(update={"what": what})
