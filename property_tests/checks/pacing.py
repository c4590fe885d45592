"""EVT: an engine in lock-step does nothing that its consumer has not caught up with.

Most engines need not be in lock-step: a task of their own may run ahead, and the
consumer takes events from a queue. One that declares it promises that whoever stops
reading stops the run, before the next thing that costs something.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.view import Iteration, RunView
from refengine.testing.trace import Observation

_NEEDS: Final = frozenset(("lock_step",))
_WORK: Final = frozenset(("hook_enter", "tool_start", "model_request"))
"""What an engine does, of all that is observed."""


def response_taken(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a response is taken before anything comes of it."""
    claim = "the response is taken before anything comes of it"
    for run in case.played.runs:
        for now in run.iterations:
            if len(now.model_events) == 1:
                after = [hook.enter for hook in now.after]
                work = [*after, *_of_calls(now), *_beyond(run, now)]
                yield from _taken(claim, now.model_events, work)


def results_taken(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that all results are taken before the next iteration begins."""
    claim = "the result is taken before the run goes on"
    for run in case.played.runs:
        for now in run.iterations:
            yield from _taken(claim, now.tool_events, _beyond(run, now))


def _taken(
    claim: str, events: list[Observation], work: list[Observation]
) -> Iterator[Decision]:
    if work:
        first = min(work, key=lambda each: each.seq)
        for event in events:
            came = "taken" if event.seq < first.seq else f"{first.kind} came first"
            yield Decision(claim, "taken", came, event)


def _of_calls(now: Iteration) -> list[Observation]:
    return [e for call in now.calls.values() for e in call.entries if e.kind in _WORK]


def _beyond(run: RunView, now: Iteration) -> list[Observation]:
    """Return what the engine does after an iteration."""
    then = run.iterations[now.number : now.number + 1]
    found = [each for one in then for each in one.entries if each.kind in _WORK]
    return [*found, *(hook.enter for hook in run.after_agent)]


CHECKS: Final = (
    Check(clause="EVT-016", decide=response_taken, needs=_NEEDS),
    Check(clause="EVT-017", decide=results_taken, needs=_NEEDS),
)
