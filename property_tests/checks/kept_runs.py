"""Runs that were kept, as what checks ask of them: who asked, who was answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, cast

from property_tests.checks.specs import keeps_ids, keeps_results, tool_wraps
from property_tests.view import RunView, View
from refengine.messages import Json
from refengine.profile import Profile
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Observation

ENDS: Final[Mapping[str, frozenset[str]]] = {
    "hook_enter": frozenset(("hook_exit",)),
    "tool_start": frozenset(("tool_end", "tool_error")),
}
"""By what begins: what ends it."""


@dataclass(frozen=True, slots=True)
class ResumedRun:
    """A run that was interrupted, and the run that went on from it.

    ``asked`` is what it was interrupted with, ``answers`` what the other was given by
    the text of addresses; None lets all go on, with None for an answer.
    """

    before: RunView
    after: RunView
    questions: tuple[Observation, ...]
    answers: Mapping[str, Json] | None

    def goes_on(self, question: Observation) -> bool:
        """Tell whether what was asked is answered."""
        return self.answers is None or text_of(question) in self.answers

    @property
    def calls(self) -> set[str | None]:
        """The ids of the calls that are entered again; None stands for a hook."""
        return {each.call_id for each in self.questions if self.goes_on(each)}

    @property
    def in_tools(self) -> bool:
        """Whether it was calls of tools that asked."""
        return all(each.call_id is not None for each in self.questions)


def keeps(scenario: Scenario) -> bool:
    """Tell whether some run of a scenario is kept."""
    return scenario.keeps


def runs_once(scenario: Scenario) -> bool:
    """Tell whether runs are kept, and no wrapper may execute a tool a second time."""
    wraps = (each for agent in scenario.all_agents for each in tool_wraps(agent))
    return keeps(scenario) and all(each.call_next == 1 for each in wraps)


def plain_calls(scenario: Scenario) -> bool:
    """Tell whether a call in a kept run is one execution, under its id, to its end."""
    agents = scenario.all_agents
    return runs_once(scenario) and all(
        keeps_ids(a) and keeps_results(a) for a in agents
    )


def rows(view: View) -> Iterator[Sequence[RunView]]:
    """Yield the runs that were kept under one key each, one after the other."""
    found: dict[str, list[RunView]] = {}
    for run in view.runs:
        key = run.spec.resume or run.spec.checkpoint
        if key is not None:
            found.setdefault(key, []).append(run)
    yield from found.values()


def cuts(view: View) -> Iterator[ResumedRun]:
    """Yield each run that was interrupted, with the one that went on from it.

    One that must have been refused, because of its answers or its agent, is none.
    """
    for row in rows(view):
        yield from cuts_in(row)


def cuts_in(row: Sequence[RunView]) -> Iterator[ResumedRun]:
    """Yield those of one key."""
    for before, after in pairwise(row):
        questions = interrupts(before)
        if questions and is_welcome(before, after):
            yield ResumedRun(before, after, questions, answers_to(after))


def is_welcome(before: RunView, after: RunView) -> bool:
    """Tell whether nothing of what a run is resumed with is wrong."""
    given, waiting = answers_to(after), {*map(text_of, interrupts(before))}
    known = given is None or (bool(given) and given.keys() <= waiting)
    return known and before.agent.name == after.agent.name


def interrupts(run: RunView) -> tuple[Observation, ...]:
    """Return what a run was interrupted with."""
    return tuple(each for each in run.entries if each.kind == "interrupt")


def text_of(question: Observation) -> str:
    """Return the address of an interrupt, as it is answered by."""
    return str(address_of(question).get("text"))


def address_of(question: Observation) -> Mapping[str, Any]:
    """Return the parts of an interrupt's address."""
    return cast("Mapping[str, Any]", question.data.get("address", {}))


def answers_to(run: RunView) -> Mapping[str, Json] | None:
    """Return what a run was resumed with."""
    resumed = next((each for each in run.entries if each.kind == "resume"), None)
    if resumed is None:
        return None
    return cast("Mapping[str, Json] | None", resumed.data.get("answers"))


def begins_anew(cut: ResumedRun, profile: Profile) -> bool:
    """Tell whether a run that went on may not have come to what was answered.

    Where an interrupted iteration begins again it is counted again, and may ask again.
    """
    if profile.resumed_iteration != "begins_again":
        return False
    after = cut.after
    return after.status in {"interrupted", "error"} or not after.iterations


def left_open(run: RunView) -> list[Observation]:
    """Return what began in a run, hooks and tools, and did not end."""
    found: list[Observation] = []
    for each in run.entries:
        if each.kind in ENDS:
            if _is_around_model(each) and any(who(e) == who(each) for e in found):
                # Another attempt: the one before failed, which nobody has left.
                found = [e for e in found if not _is_around_model(e)]
            found.append(each)
        for at in range(len(found) - 1, -1, -1):
            if each.kind in ENDS[found[at].kind] and who(found[at]) == who(each):
                del found[at]
                break
    return found


def _is_around_model(seen: Observation) -> bool:
    return seen.data.get("hook") == "wrap_model"


def who(seen: Observation) -> tuple[object, ...]:
    """Return whose entry it is: that of a hook, or of a tool."""
    if seen.kind in {"hook_enter", "hook_exit"}:
        data = seen.data
        return data["hook"], data["extension"], data["position"], seen.call_id
    return "tool", seen.call_id


def is_again(seen: Observation) -> bool:
    """Tell whether an entry is marked as made again."""
    return seen.data.get("reentry") is True


def effects(run: RunView) -> Iterator[tuple[Observation, Mapping[str, Any]]]:
    """Yield what operations of a run's extensions recorded."""
    for each in run.entries:
        if each.kind == "effect":
            yield each, cast("Mapping[str, Any]", each.data.get("data"))


def begun(run: RunView) -> list[Observation]:
    """Return what a run asked of the model, of tools and of hooks."""
    kinds = {"hook_enter", "model_request", "tool_start"}
    return [each for each in run.entries if each.kind in kinds]
