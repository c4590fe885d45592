"""RUN, its limit; and how a run ended.

A framework may count steps of its own towards the limit, and stop in the middle of an
iteration (langgraph): beside the reference other things differ first there, and the
limit would be no clause's. So its clauses have checks in code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks import specs
from property_tests.checks.routes import Continuation, has_after_hooks, turns
from property_tests.view import RunView
from refengine.testing.json_values import is_mapping

SUCCESS: Final = frozenset(("completed", "returned_directly"))


def point_of(run: RunView) -> str | None:
    """Return where the error arose that ended a run, in the words of traces."""
    error: Any = None if run.error is None else run.error.data.get("error")
    return str(error["point"]) if is_mapping(error) and "point" in error else None


def limit(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that no hook of an iteration beyond the limit is called, and no model."""
    for run in case.played.runs:
        most = specs.limit(run.agent)
        beyond = run.iterations[most:]
        at = beyond[0].entries[0] if beyond else run.end
        claim = "nothing of an iteration beyond max_iterations happens"
        yield Decision(claim, 0, len(beyond), at)


def exhaustion(case: PlayedWorld) -> Iterator[Decision]:
    """Decide how a run ends that has no answer after its last iteration."""
    rule = case.profile.exhaustion
    for run, turn in _exhausted(case):
        at = run.error or run.end or turn.now.entries[-1]
        claim = "no answer after max_iterations: an outcome, or an error"
        got = (run.status, point_of(run))
        if rule == "outcome":
            yield Decision(claim, ("max_iterations", None), got, at)
        else:
            yield Decision(claim, ("error", "max_iterations"), got, at)
    for run in case.played.runs:
        if rule == "apology":
            yield from _apology(run)
        if "max_iterations" in (run.status, point_of(run)):
            claim = "only a run that had all its iterations ends for want of more"
            had = len(run.iterations)
            yield Decision(claim, specs.limit(run.agent), had, run.error or run.end)


def _exhausted(case: PlayedWorld) -> Iterator[tuple[RunView, Continuation]]:
    """Yield runs whose last allowed iteration neither ended nor failed by itself."""
    for run in case.played.runs:
        failed = point_of(run) not in {None, "max_iterations"}
        if run.status in SUCCESS or failed or run.is_left:
            continue
        for turn in turns(case.played, run):
            again = turn.route.kind in {"calls", "asked again"}
            if again and _at_limit(run, turn):
                yield run, turn


def _apology(run: RunView) -> Iterator[Decision]:
    """Decide that calls which come too late are not run, and the answer says so."""
    if has_after_hooks(run.agent) or len(run.iterations) != specs.limit(run.agent):
        return
    now = run.iterations[-1]
    if now.message is None or not now.message.tool_calls:
        return
    claim = "calls that come too late do not run, and the run completes"
    at = now.response
    yield Decision(claim, [], [*now.calls], at)
    if point_of(run) in {None, "max_iterations"}:
        yield Decision(claim, "completed", run.status, run.end)


def _at_limit(run: RunView, turn: Continuation) -> bool:
    return turn.now.number == specs.limit(run.agent)


CHECKS: Final = (
    Check(clause="RUN-010", decide=limit),
    Check(clause="RUN-011", decide=exhaustion),
)
