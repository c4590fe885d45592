"""What must happen again, because nothing is left of the first time (§2 CONC)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from property_tests.check import Case, Decision
from property_tests.checks.comparing import Change, Data, alike
from property_tests.checks.specs import tool_wraps, tools_of
from property_tests.variants import AGAIN, BUILT_TWICE, RUN_TWICE
from property_tests.view import Call, RunView, View
from refengine.testing.narrowing import is_mapping
from refengine.testing.scenario import Scenario, ScriptEntry
from refengine.testing.trace import to_json

RUN: Final = "<run>"
"""Stands for the number of the run in texts of a scenario."""
COUNTED: Final = frozenset(("n", "state"))
"""Numbers in observations that go on counting through all runs of a session."""
COUNTED_AT_START: Final = COUNTED | {"continues"}


def again(case: Case) -> Iterator[Decision]:
    """Ask that what an engine played before leaves no sign in the same session."""
    if of_luck(case.played):
        return
    asked = "the same session played again by the same engine"
    ours, theirs = case.played.trace, case[AGAIN].trace
    yield alike(asked, ours, theirs, variant=AGAIN)


def built_twice(case: Case) -> Iterator[Decision]:
    """Ask that runs of an agent are as those of another one built like it."""
    twice = case[BUILT_TWICE].trace
    first = len(case.scenario.runs)
    if case.scenario.agents or not any(each.run > first for each in twice):
        return
    if of_luck(case[BUILT_TWICE]):
        return
    asked = "runs of a second agent that is built like the first"
    ours = [each for each in twice if 0 < each.run <= first]
    theirs = [each for each in twice if each.run > first]
    shifted = _shifted(first)
    yield alike(asked, ours, theirs, change=shifted, variant=BUILT_TWICE)


def earlier_runs(case: Case) -> Iterator[Decision]:
    """Ask that a run goes as an earlier one went that was given the same."""
    if not counts(case.scenario):
        yield from _as_earlier(case.played)
        yield from _as_earlier(case[RUN_TWICE])


def of_luck(view: View) -> bool:
    """Tell whether several calls of a message failed where a failure cancels the rest.

    Then it is luck which of them was first, and its error is the run's.
    """
    return view.profile.failing_call == "siblings_cancelled" and any(
        sum(map(_failed, now.calls.values())) > 1 for now in view.iterations
    )


def _failed(call: Call) -> bool:
    """Tell whether the tool of a call failed, or a wrapper around it."""
    return bool(call.errors) or any(hook.exit is None for hook in call.hooks)


def _as_earlier(view: View) -> Iterator[Decision]:
    if of_luck(view):
        return
    played = list(_with_answers(view))
    for at, (run, answers) in enumerate(played):
        like = next(
            (each for each in played[:at] if _equal(each, (run, answers))), None
        )
        if like is not None:
            asked = "a run that is given what an earlier run of the agent was given"
            ours, theirs = like[0].entries, run.entries
            variant = view.variant
            yield alike(asked, ours, theirs, change=UNCOUNTED, variant=variant)


def counts(scenario: Scenario) -> bool:
    """Tell whether something in a scenario depends on what ran before, by itself."""
    text = scenario.model_dump_json(exclude_defaults=True)
    return any(word in text for word in (RUN, *_COUNTING)) or any(
        tool.at_most_once or tool.by_call for tool in tools_of(scenario)
    )


_COUNTING: Final = ('"on_call":', '"closure_counter":')


def _equal(
    earlier: tuple[RunView, Sequence[ScriptEntry]],
    later: tuple[RunView, Sequence[ScriptEntry]],
) -> bool:
    """Tell whether two runs were given the same, by caller and model.

    If the one came further than the other, that is not for another answer.
    """
    (a, first), (b, second) = earlier, later
    if (a.spec.agent, a.spec.streaming) != (b.spec.agent, b.spec.streaming):
        return False
    same = all(ours == theirs for ours, theirs in zip(first, second, strict=False))
    return same and _given(a) == _given(b)


def _given(run: RunView) -> str:
    """Return what a caller gave to a run, as text: there 1, 1.0 and true differ."""
    return json.dumps(to_json((run.given, run.spec.options)), sort_keys=True)


def _with_answers(view: View) -> Iterator[tuple[RunView, Sequence[ScriptEntry]]]:
    """Yield each run with the answers that the model gave in it, as the script has it.

    Every agent has the whole script for itself.
    """
    played: dict[int, int] = {}
    for run in view.runs:
        before = played.get(run.spec.agent, 0)
        asked = sum(each.kind == "model_request" for each in run.entries)
        played[run.spec.agent] = before + asked
        yield run, [_answer(view.scenario, before + at) for at in range(asked)]


def _answer(scenario: Scenario, at: int) -> ScriptEntry:
    script = scenario.model_script
    if at < len(script):
        return script[at]
    if scenario.script_end == "repeat_last" and script:
        return script[-1]
    # A script that fails at its end tells in the error how far it was asked.
    return f"user:{at}" if scenario.script_end == "fail" else "assistant:EXHAUSTED"


def _of_caller(kind: str, data: Data) -> bool:
    told = data.get("data") if kind == "effect" else None
    return is_mapping(told) and "factory_calls" in told


def _counted(kind: str) -> frozenset[str]:
    return COUNTED_AT_START if kind == "run_start" else COUNTED


UNCOUNTED: Final = Change(_of_caller, _counted, run=lambda _: 0)
"""Leaves out the run's number, and what counts through all runs."""


def _shifted(first: int) -> Change:
    """Leave out of whose runs, the first or the second agent's, an entry is."""
    return Change(run=lambda run: (run - 1) % first)


def wraps_count(scenario: Scenario) -> bool:
    """Tell whether a wrapper counts its calls in its closure, or is itself counted."""
    return any(
        wrap.closure_counter is not None or wrap.count_factory
        for agent in scenario.all_agents
        for wrap in tool_wraps(agent)
    )
