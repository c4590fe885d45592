"""Measuring the peers: what each hook costs, from where on it fails, what is absent.

One child after the other is timed, with no other beside it. What is not timed, which is
most of the tries, goes on as many processors as there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from benchmarks.extra import scipy_stats
from benchmarks.peers.asking import Lost, ask
from benchmarks.peers.plan import Plan, plan
from benchmarks.peers.reckoning import costs, set_ups
from benchmarks.peers.table import NAMES, check
from benchmarks.peers.trying import NOTHING, failure_of
from compat.verdicts.cost import Absent, Blocked, PeerCost

Told: TypeAlias = Callable[[str], None]
Measured: TypeAlias = tuple[tuple[PeerCost, ...], tuple[Absent, ...]]

INSTALL: Final = "pip install 'refengine[peers]'"
LISTING: Final = 60.0
"""Seconds in which a framework is imported; some take long on a cold disk."""


@dataclass(frozen=True, slots=True)
class Row:
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
            **found,
        )


def measure_peers(names: Sequence[str] | None, quick: bool, told: Told) -> Measured:
    """Measure the named peers, or all; ``told`` hears what is done and what is not.

    Raises UnknownPeerError, before anything is started, and MissingExtraError where
    the extra for intervals is not installed.
    """
    asked = NAMES if names is None else tuple(dict.fromkeys(names))
    for name in asked:
        check(name)
    scipy_stats()  # what is missing for the intervals is said before they are measured
    return measured(asked, plan(quick=quick), told)


def measured(peers: Sequence[str], plan: Plan, told: Told) -> Measured:
    """As ``measure_peers``, of peers by name or place and after a plan of one's own."""
    told("peers: which are installed")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        listed = dict(zip(peers, pool.map(_listed, peers), strict=True))
    absent = tuple(each for each in listed.values() if isinstance(each, Absent))
    rows = [
        row
        for each in listed.values()
        if not isinstance(each, Absent)
        for row in each[: plan.variants]
    ]
    timed: list[PeerCost] = []
    for at, row in enumerate(rows, 1):
        told(f"peer hook {at} of {len(rows)}: {row.peer}, {row.hook}")
        timed.append(_timed(row, plan))
    told("peers: from how many handlers on they fail")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = tuple(pool.map(partial(_with_failure, plan), rows, timed))
    _tell(found, absent, told)
    return found, absent


def _listed(peer: str) -> Absent | Sequence[Row]:
    reply = ask(peer, {"do": "list"}, LISTING)
    if isinstance(reply, Lost):
        return Absent(peer=peer, why=f"its process, as it was imported, {reply.why}")
    if "absent" in reply:
        return Absent(peer=peer, why=f"{reply['absent']}; {INSTALL} brings it")
    return [
        Row(peer, at, reply["version"], each["hook"], each["ours"])
        for at, each in enumerate(reply["variants"])
    ]


def _timed(row: Row, plan: Plan) -> PeerCost:
    reply = _asked(row, plan)
    if isinstance(reply, Lost):
        # Where it may have been too many handlers, it is measured with fewer.
        reply = _asked(row, plan.least)
    if isinstance(reply, Lost):
        return row.cost(blocked=Blocked(why=f"the process that measured {reply.why}"))
    if "blocked" in reply:
        return row.cost(blocked=Blocked(**reply["blocked"]))
    numbers = costs(set_ups(reply["series"]))
    return row.cost(memory=reply["memory"], **numbers)


def _asked(row: Row, plan: Plan) -> Mapping[str, Any] | Lost:
    request = {"do": "measure", "at": row.at, "plan": plan.to_json()}
    return ask(row.peer, request, plan.limit)


def _with_failure(plan: Plan, row: Row, cost: PeerCost) -> PeerCost:
    # What passed the gate is known to hold as many handlers as that looked at.
    holds = NOTHING if cost.blocked is not None else plan.needed
    failure = failure_of(row.peer, row.at, holds, plan)
    tried = plan.deepest if failure is None else failure.n
    return cost.model_copy(update={"fails": failure, "tried": tried})


def _tell(
    costs: Sequence[PeerCost], absent: Sequence[Absent], told: Callable[[str], None]
) -> None:
    for missing in absent:
        told(f"{missing.peer} was not measured: {missing.why}")
    for cost in costs:
        if cost.blocked is not None:
            told(f"{cost.peer}, {cost.hook} has no numbers: {cost.blocked.why}")
