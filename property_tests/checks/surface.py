"""SURF: what of the surface a trace can show (contract §0)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_args

from property_tests.check import Case, Check, Decision
from property_tests.checks.specs import keeps_ids
from property_tests.view import Call
from refengine.react import Status
from refengine.testing.trace import Observation


def arguments_are_text(case: Case) -> Iterator[Decision]:
    """Ask that the first one to see a call is given the model's very text."""
    if not all(map(keeps_ids, case.scenario.all_agents)):
        return
    for now in case.played.iterations:
        ids = [each.id for each in now.message.tool_calls] if now.message else []
        # An after-hook may put another call of that id in the place of the model's.
        if now.after or len(set(ids)) < len(ids):
            continue
        for call in now.calls.values():
            found = _first_arguments(call)
            if call.call is not None and found is not None:
                at, got = found
                asked = "arguments of a call, as the model wrote them"
                yield Decision(asked, call.call.arguments, got, at)


def ends_are_known(case: Case) -> Iterator[Decision]:
    """Ask that every run has an end, and one of those that there are."""
    if case.played.build_error is not None:
        return
    for run in case.played.runs:
        known = run.status in get_args(Status)
        asked = "the status of a run is one of those that the contract names"
        wanted = run.status if known else list(get_args(Status))
        yield Decision(asked, wanted, run.status, run.end)


def _first_arguments(call: Call) -> tuple[Observation, object] | None:
    """Return the arguments that the outermost wrapper, or the tool, was given."""
    if call.hooks:
        return call.hooks[0].enter, call.hooks[0].seen["arguments"]
    if call.starts:
        return call.starts[0], call.starts[0].data["arguments"]
    return None


CHECKS: Final = (
    Check(
        clause="SURF-001",
        decide=arguments_are_text,
        needs=frozenset(("arguments_text",)),
    ),
    Check(clause="SURF-002", decide=ends_are_known),
)
