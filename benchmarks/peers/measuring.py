"""Measuring the peers: what each hook costs, from where on it fails, what is absent.

One child after the other is timed, with no other beside it. What is not timed, which is
most of the tries, goes on as many processors as there are. Every try is a process of
its own, because the framework may take its process with it. It is taken that what fails
with so many handlers fails with more: so the number is found by halving.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from typing import Any, Final, Literal, TypeAlias

from benchmarks.defaults import OWN_PEERS
from benchmarks.peers.child import OFF
from benchmarks.peers.peer import NAMES, PeerPlan, peer_named, plan
from benchmarks.statistics import interval, medians, ratio, scipy_special
from compat.engines.importing import GENERIC
from compat.process import (
    ChildDiedError,
    ChildError,
    ChildHungError,
    ChildProcess,
    python,
    signal_name,
)
from compat.verdicts.cost import (
    Absent,
    Blocked,
    CostFailure,
    Estimate,
    GrowthPoint,
    PeerCost,
)
from refengine.testing.machine import install_line


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


SetUp: TypeAlias = Mapping[int, Sequence[Sequence[float]]]
"""The rounds of one set-up by number of handlers, each a sample of every side."""
BARE: Final = 0
OURS: Final = 1
PEER: Final = 2


def set_ups(series: Sequence[Sequence[Any]]) -> list[SetUp]:
    """Return what a child sent, by number of handlers."""
    return [dict(each) for each in series]


def costs(series: Sequence[SetUp]) -> dict[str, Any]:
    """Return the numbers of a ``PeerCost``, by field.

    Raises TooFewSetUpsError, and WorldExtraError without the extra.
    """
    base = [each[0] for each in series]
    lines = [[slope(each, side) for side in (BARE, OURS, PEER)] for each in series]
    points = _points(series)
    return {
        "base_seconds": points[0].seconds,
        "base_over_bare": ratio(base, PEER, BARE),
        "base_over_ours": ratio(base, PEER, OURS),
        "per_handler": interval([line[PEER] for line in lines]),
        "over_bare": _over(lines, BARE),
        "over_ours": _over(lines, OURS),
        "points": points,
    }


def slope(set_up: SetUp, side: int) -> float:
    """Return the seconds that one more handler adds to a run of a side.

    A line through the medians from the first handler on, each with the weight of its
    relative error: a long run is as sure as a short one, in per cent.
    """
    at = [(n, medians(rounds)[side]) for n, rounds in set_up.items() if n]
    weights = [1 / seconds**2 for _, seconds in at]
    total = sum(weights)
    x = sum(w * n for w, (n, _) in zip(weights, at, strict=True)) / total
    y = sum(w * t for w, (_, t) in zip(weights, at, strict=True)) / total
    both = sum(w * (n - x) * (t - y) for w, (n, t) in zip(weights, at, strict=True))
    return both / sum(w * (n - x) ** 2 for w, (n, _) in zip(weights, at, strict=True))


def _over(lines: Sequence[Sequence[float]], floor: int) -> Estimate | None:
    """Return the peer's slope over another side's; None where that has none."""
    if fmean(line[floor] for line in lines) <= 0:
        return None
    return interval([line[PEER] / line[floor] for line in lines])


def _points(series: Sequence[SetUp]) -> tuple[GrowthPoint, ...]:
    found: list[GrowthPoint] = []
    for n in series[0]:
        times = [medians(each[n]) for each in series]
        bare, peer = (median(each[side] for each in times) for side in (BARE, PEER))
        found.append(GrowthPoint(n=n, seconds=peer, bare_seconds=bare))
    return tuple(found)


Report: TypeAlias = Callable[[str], None]
Measured: TypeAlias = tuple[tuple[PeerCost, ...], tuple[Absent, ...]]

LISTING: Final = 60.0
"""Seconds in which a framework is imported; some take long on a cold disk."""


@dataclass(frozen=True, slots=True)
class PeerRow:
    """A hook that is to be measured: where it stands in its peer's list."""

    peer: str
    at: int
    version: str
    hook: str
    ours: str

    def cost(self, **found: Any) -> PeerCost:  # noqa: ANN401  # fields of a PeerCost
        """Return the row of the report, with what was found."""
        return PeerCost(
            peer=self.peer,
            version=self.version,
            hook=self.hook,
            ours=self.ours,
            own=self.peer in OWN_PEERS,
            **found,
        )


def measure_peers(names: Sequence[str] | None, quick: bool, report: Report) -> Measured:
    """Measure the named peers, or all; ``report`` hears what is done and what is not.

    Raises UnknownPeerError, before anything is started, and WorldExtraError where
    the extra for intervals is not installed.
    """
    requested = NAMES if names is None else tuple(dict.fromkeys(names))
    for name in requested:
        peer_named(name)
    scipy_special()  # what is missing for the intervals is said before measuring
    return measured(requested, plan(quick=quick), report)


def measured(peers: Sequence[str], plan: PeerPlan, report: Report) -> Measured:
    """As ``measure_peers``, of peers by name or place and after a plan of one's own."""
    report("peers: which are installed")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        listed = dict(zip(peers, pool.map(_listed, peers), strict=True))
    absent = tuple(each for each in listed.values() if isinstance(each, Absent))
    rows = [
        row
        for each in listed.values()
        if not isinstance(each, Absent)
        for row in [x for x in each if x.ours][: plan.variants]
    ]
    timed: list[PeerCost] = []
    for at, row in enumerate(rows, 1):
        report(f"peer hook {at} of {len(rows)}: {row.peer}, {row.hook}")
        timed.append(_timed(row, plan))
    report("peers: from how many handlers on they fail")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = tuple(pool.map(partial(_with_failure, plan), rows, timed))
    _report(found, absent, report)
    return found, absent


def _listed(peer: str) -> Absent | Sequence[PeerRow]:
    reply = ask(peer, {"do": "list"}, LISTING)
    if isinstance(reply, Lost):
        return Absent(peer=peer, why=f"its process, as it was imported, {reply.why}")
    if "absent" in reply:
        why = f"{reply['absent']}; {install_line('peers')} brings it"
        return Absent(peer=peer, why=why)
    return [
        PeerRow(peer, at, reply["version"], each["hook"], each["ours"])
        for at, each in enumerate(reply["variants"])
    ]


def _timed(row: PeerRow, plan: PeerPlan) -> PeerCost:
    reply = _requested(row, plan)
    if isinstance(reply, Lost):
        # Where it may have been too many handlers, it is measured with fewer.
        reply = _requested(row, plan.least)
    if isinstance(reply, Lost):
        return row.cost(blocked=Blocked(why=f"the process that measured {reply.why}"))
    if "blocked" in reply:
        return row.cost(blocked=Blocked(**reply["blocked"]))
    numbers = costs(set_ups(reply["series"]))
    return row.cost(memory=reply["memory"], **numbers)


def _requested(row: PeerRow, plan: PeerPlan) -> Mapping[str, Any] | Lost:
    request = {"do": "measure", "at": row.at, "plan": plan.to_json()}
    return ask(row.peer, request, plan.limit)


def _with_failure(plan: PeerPlan, row: PeerRow, cost: PeerCost) -> PeerCost:
    # What passed the gate is known to hold as many handlers as that looked at.
    holds = NOTHING if cost.blocked is not None else plan.needed
    failure = failure_of(row.peer, row.at, holds, plan)
    tried = plan.deepest if failure is None else failure.n
    return cost.model_copy(update={"fails": failure, "tried": tried})


def _report(
    costs: Sequence[PeerCost], absent: Sequence[Absent], report: Callable[[str], None]
) -> None:
    for missing in absent:
        report(f"{missing.peer} was not measured: {missing.why}")
    for cost in costs:
        if cost.blocked is not None:
            report(f"{cost.peer}, {cost.hook} has no numbers: {cost.blocked.why}")
