"""MSG, SURF: what a caller gave to an engine is as it was (contract §2 MSG, §0)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from refengine.testing.ops import (
    AppendTools,
    RemoveTool,
    ReplaceReturnDirectly,
    SetReturnDirectly,
    SetTools,
)
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.trace import Observation

OF_RUN: Final = frozenset(("messages", "options"))
OF_AGENT: Final = frozenset(("tools", "return_directly"))
_EDITS: Final = (
    AppendTools | RemoveTool | SetTools | SetReturnDirectly | ReplaceReturnDirectly
)


def run_as_given(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that messages and options of a run are as they were when it is over."""
    for run in case.played.runs:
        changed = _changed(run.entries, OF_RUN)
        paths = [str(each.data["path"]) for each in changed]
        at = changed[0] if changed else run.end
        yield Decision("no object of the caller's is changed", [], paths, at)


def config_as_given(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that tools and flags of an agent stay as they were, whoever edits in place.

    Where nobody does an engine may hand out the very lists that it was given.
    """
    view = case.played
    if not view.build or not any(map(_edits_in_place, view.scenario.all_agents)):
        return
    entries = (*view.build, *(each for run in view.runs for each in run.entries))
    changed = _changed(entries, OF_AGENT)
    paths = [str(each.data["path"]) for each in changed]
    at = changed[0] if changed else view.build[-1]
    yield Decision("the caller's tools and flags stay as they were", [], paths, at)


def _changed(
    entries: Iterable[Observation], paths: Collection[str]
) -> list[Observation]:
    """Return what was put down of such objects of the caller's that were changed."""
    changed = (each for each in entries if each.kind == "caller_object_changed")
    return [each for each in changed if each.data.get("path") in paths]


def _edits_in_place(agent: AgentSpec) -> bool:
    return any(
        each.in_place and any(isinstance(op, _EDITS) for op in each.before_agent or ())
        for each in agent.handlers
    )


def _some_edit(scenario: Scenario) -> bool:
    return any(map(_edits_in_place, scenario.all_agents))


CHECKS: Final = (
    Check(clause="MSG-016", decide=run_as_given),
    Check(
        clause="SURF-007",
        decide=config_as_given,
        needs=frozenset(("before_agent", "edited_config")),
        meant=_some_edit,
    ),
)
