"""RUN, its end: limits, statuses, and what is called when a run is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from property_tests.check import Decision, PlayedWorld
from property_tests.checks import specs
from property_tests.checks.histories import Continuation, turns
from property_tests.checks.routes import has_after_hooks, last_assistant
from property_tests.view import RunView
from refengine.testing.json_values import is_mapping
from refengine.testing.trace import Observation

SUCCESS: Final = frozenset(("completed", "returned_directly"))
_AFTER_RUN: Final = frozenset(("effect", "caller_object_changed"))


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


def answer_at_limit(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a run which used up its iterations answers with what it said last."""
    for run in case.played.runs:
        if run.status == "max_iterations":
            expected = last_assistant(run.final)
            claim = "the last assistant message is the answer"
            yield Decision(claim, expected, run.answer, run.end)


def limit_below_one(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that max_iterations below one is refused at build, or is the default."""
    if all(each.max_iterations >= 1 for each in case.scenario.all_agents):
        return
    error = case.played.build_error
    kind = None if error is None else _refusal(error)
    expected = None
    if case.profile.iterations_below_one == "refused":
        expected = "MaxIterationsError"
    claim = "max_iterations below one: refused at build, or the default"
    if error is None or expected is not None or kind == "MaxIterationsError":
        at = case.played.build[-1] if case.played.build else None
        yield Decision(claim, expected, kind, at)


def _refusal(error: Observation) -> str:
    """Return the class of a refusal; one that names the field is as good as ours."""
    if "max_iterations" in str(error.data.get("error")):
        return "MaxIterationsError"
    return str(error.data.get("class"))


def always_an_end(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that every run that began has one end, after all that happened in it."""
    for run in case.played.runs:
        last = [e for e in run.entries if e.kind not in _AFTER_RUN][-1:]
        endings = [e for e in run.entries if e.kind == "run_end"]
        claim = "a run that began has an end"
        yield Decision(claim, 1, len(endings), last[0] if last else run.start)
        if endings and last:
            claim = "nothing of a run happens after its end"
            yield Decision(claim, "run_end", last[0].kind, last[0])


def returned_directly(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a run ended by results of tools, without error, says so."""
    for run in case.played.runs:
        found = list(turns(case.played, run))
        if not found or found[-1].now is not run.iterations[-1] or run.end is None:
            continue
        calls = found[-1].route.kind == "calls"
        claim = "returned_directly is the status of a run that ends after its tools"
        if run.status == "returned_directly":
            yield Decision(claim, expected=True, got=calls, at=run.end)
        elif run.is_left:
            continue
        elif calls and run.error is None and not _at_limit(run, found[-1]):
            yield Decision(claim, "returned_directly", run.status, run.end)


def counted(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a run tells how many iterations it had, however it ended.

    One that goes on counts on, which another clause is about. An engine that raises
    leaves its door nothing to count, so a failed run that hands back none is not asked.
    """
    for run in case.played.runs:
        if run.end is None or run.status == "raised" or run.spec.resume is not None:
            continue
        got = run.end.data["iterations"]
        if run.error is not None and not (got and _fails_in_sight(case, run)):
            continue
        claim = "the result counts the iterations"
        yield Decision(claim, len(run.iterations), got, run.end)


def failed_counted(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a run which failed tells all iterations that it had, and not none."""
    for run in case.played.runs:
        failed = run.error is not None and run.spec.resume is None
        if failed and run.end is not None and _fails_in_sight(case, run):
            claim = "the result of a failed run counts the iterations that it had"
            got = run.end.data["iterations"]
            yield Decision(claim, len(run.iterations), got, run.end)


def _fails_in_sight(case: PlayedWorld, run: RunView) -> bool:
    """Tell whether what failed was seen in the iteration that it belongs to."""
    profile = case.profile
    finish = profile.failing_call == "siblings_finish"
    seen = finish and profile.unanswered_calls != "refused"  # before anything is asked
    return seen and bool(run.iterations) and point_of(run) != "harness"


def after_agent_sees(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that ``after_agent`` sees the history that the run hands back.

    What a run hands back that failed in a later hook is nowhere laid down.
    """
    for run in case.played.runs:
        if run.after_agent and run.end is not None and run.status in SUCCESS:
            first = run.after_agent[0]
            claim = "after_agent sees the run's messages"
            yield Decision(claim, run.final, first.seen, first.enter)


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
