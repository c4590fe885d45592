"""Comparing what was observed twice, as a decision: alike, or where it first differs.

For clauses that say two sessions, two runs or two agents must be the same. Entries of
concurrent calls are put in call order first, since between calls there is no order
(contract CONC).

And what must happen again, because nothing is left of the first time (§2 CONC).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from property_tests.agreeing import Known, agree_tables
from property_tests.check import PLAYED, Decision, PlayedWorld
from property_tests.checks.specs import tool_wraps, tools_of
from property_tests.variants import AGAIN, BUILT_TWICE, RUN_TWICE
from property_tests.view import Call, RunView, View
from refengine.messages import Json, Message
from refengine.testing.json_values import is_mapping
from refengine.testing.scenario import Scenario, ScriptEntry
from refengine.testing.trace import (
    MISSING,
    Observation,
    difference,
    in_call_order,
    to_json,
)

ObservationJson: TypeAlias = "dict[str, Any]"
"""One observation as JSON values."""
Data: TypeAlias = "Mapping[str, Any]"
"""What an observation holds, as it was seen or as JSON values."""

ALIKE: Final = "alike"
TAKEN: Final = frozenset(("event", "interrupt"))
"""What is observed when the consumer takes it."""
ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


NO_NAMES: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """What may differ between two lists of observations, and is left out.

    It goes by the texts of an observation only, so that it does the same to what was
    seen and to that as JSON values.
    """

    drops: Callable[[str, Data], bool] = lambda _, __: False
    """Tells, by kind and data, whether the whole observation is left out."""
    names: Callable[[str], frozenset[str]] = lambda _: NO_NAMES
    """Names the fields of the data that are left out, by kind."""
    run: Callable[[int], int] = lambda run: run
    """Gives the number of the run as it is compared."""

    def of(self, entry: ObservationJson) -> ObservationJson | None:
        """Return an entry without what may differ; None if it is left out."""
        kind, data = entry["kind"], entry["data"]
        if self.drops(kind, data):
            return None
        names = self.names(kind)
        left = {key: value for key, value in data.items() if key not in names}
        return {**entry, "run": self.run(entry["run"]), "data": left}


AS_IT_IS: Final = Change()


def alike(
    claim: str,
    expected: Iterable[Observation],
    got: Iterable[Observation],
    *,
    change: Change = AS_IT_IS,
    variant: str = PLAYED,
) -> Decision:
    """Decide that two lists of observations are the same, numbers of theirs apart.

    A decision against it shows the first entry of ``got`` that differs, and both
    values there.
    """
    seen, first = list(got), list(expected)
    if _plainly(first, seen, change):
        return Decision(claim, ALIKE, ALIKE, seen[-1] if seen else None, variant)
    ours, theirs = _entries(first, change), _entries(seen, change)
    for at in range(max(len(ours), len(theirs))):
        found = _parted(ours, theirs, at)
        if found is not None:
            path, left, right = found
            where = path or "entry"
            first_seen = _observation_of(seen, theirs, at)
            return Decision(claim, {where: left}, {where: right}, first_seen, variant)
    return Decision(claim, ALIKE, ALIKE, seen[-1] if seen else None, variant)


def _plainly(
    expected: Sequence[Observation], got: Sequence[Observation], change: Change
) -> bool:
    """Tell at once that two lists are the same; False tells nothing."""
    ours, theirs = _in_order(expected), _in_order(got)
    if ours is None or theirs is None:
        return False
    if change is not AS_IT_IS:
        ours = [each for each in ours if not change.drops(each.kind, each.data)]
        theirs = [each for each in theirs if not change.drops(each.kind, each.data)]
    known: Known = set()
    return len(ours) == len(theirs) and all(
        a.kind == b.kind
        and a.call_id == b.call_id
        and change.run(a.run) == change.run(b.run)
        and agree_tables(a.data, b.data, known, change.names(a.kind))
        for a, b in zip(ours, theirs, strict=True)
    )


def _in_order(found: Sequence[Observation]) -> Sequence[Observation] | None:
    """Return observations as ``in_call_order`` puts entries; None if that is not plain.

    It is not where an answer is not a message of ours.
    """
    out: list[Observation] = []
    taken: list[Observation] = []
    order: dict[str, int] = {}
    block: list[tuple[int, Observation]] = []
    for each in found:
        if each.kind in TAKEN:
            taken.append(each)
            continue
        call_id = each.call_id
        if call_id is not None:
            block.append((order.setdefault(call_id, len(order)), each))
            continue
        if block:
            out.extend(one for _, one in sorted(block, key=_placed))
            block.clear()
        out.append(each)
        if each.kind == "model_response":
            message = each.data.get("message")
            if not isinstance(message, Message):
                return None
            numbered = reversed(list(enumerate(message.tool_calls)))
            order = {call.id or "": at for at, call in numbered}
    out.extend(one for _, one in sorted(block, key=_placed))
    return [*out, *taken]


def _placed(each: tuple[int, Observation]) -> int:
    return each[0]


def _parted(
    ours: Sequence[ObservationJson], theirs: Sequence[ObservationJson], at: int
) -> tuple[str, Json, Json] | None:
    left, right = (
        _unnumbered(side[at]) if at < len(side) else MISSING for side in (ours, theirs)
    )
    return difference(left, right)


def _unnumbered(entry: Mapping[str, Json]) -> Json:
    """Return an entry without its number, and without the addresses of objects.

    A text may tell an object by its address, which is another one each time.
    """
    return {key: _plain(value) for key, value in entry.items() if key != "seq"}


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return ADDRESS.sub("", value) if isinstance(value, str) else value


def _entries(found: Iterable[Observation], change: Change) -> list[ObservationJson]:
    seen = (each.canonical() for each in apart(found))
    return list(_kept(in_call_order(seen), change))


def apart(found: Iterable[Observation]) -> list[Observation]:
    """Return observations, and behind them those of the consumer, which has its time.

    What it takes is in order of itself; when it is taken, beside what the engine does,
    is no matter of most clauses: an engine may run ahead.
    """
    entries = list(found)
    taken = [each for each in entries if each.kind in TAKEN]
    return [*(each for each in entries if each.kind not in TAKEN), *taken]


def _kept(
    entries: Iterable[ObservationJson], change: Change
) -> Iterator[ObservationJson]:
    for entry in entries:
        left = change.of(entry)
        if left is not None:
            yield left


def _observation_of(
    seen: Sequence[Observation], entries: Sequence[ObservationJson], at: int
) -> Observation | None:
    """Return the observation that an entry was made of; None if it is missing."""
    if at >= len(entries):
        return None
    seq = entries[at]["seq"]
    return next((each for each in seen if each.seq == seq), None)


RUN: Final = "<run>"
"""Stands for the number of the run in texts of a scenario."""
COUNTED: Final = frozenset(("n", "state"))
"""Numbers in observations that go on counting through all runs of a session."""
COUNTED_AT_START: Final = COUNTED | {"continues"}


def again(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that what an engine played before leaves no sign in the same session."""
    if of_luck(case.played):
        return
    claim = "the same session played again by the same engine"
    ours, theirs = case.played.trace, case[AGAIN].trace
    yield alike(claim, ours, theirs, variant=AGAIN)


def built_twice(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that runs of an agent are as those of another one built like it."""
    twice = case[BUILT_TWICE].trace
    first = len(case.scenario.runs)
    if case.scenario.agents or not any(each.run > first for each in twice):
        return
    if of_luck(case[BUILT_TWICE]):
        return
    claim = "runs of a second agent that is built like the first"
    ours = [each for each in twice if 0 < each.run <= first]
    theirs = [each for each in twice if each.run > first]
    shifted = _shifted(first)
    yield alike(claim, ours, theirs, change=shifted, variant=BUILT_TWICE)


def earlier_runs(case: PlayedWorld) -> Iterator[Decision]:
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
            claim = "a run that is given what an earlier run of the agent was given"
            ours, theirs = like[0].entries, run.entries
            variant = view.variant
            yield alike(claim, ours, theirs, change=UNCOUNTED, variant=variant)


def counts(scenario: Scenario) -> bool:
    """Tell whether something in a scenario depends on what ran before, by itself."""
    text = scenario.model_dump_json(exclude_defaults=True)
    return any(word in text for word in (RUN, *_COUNTING)) or any(
        tool.at_most_once or tool.by_call for tool in tools_of(scenario)
    )


_COUNTING: Final = (
    *('"on_call":', '"hide_on_call":', '"options_on_call":'),
    '"closure_counter":',
)


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
        requests = sum(each.kind == "model_request" for each in run.entries)
        played[run.spec.agent] = before + requests
        yield run, [_answer(view.scenario, before + at) for at in range(requests)]


def _answer(scenario: Scenario, at: int) -> ScriptEntry:
    script = scenario.model_script
    if at < len(script):
        return script[at]
    if scenario.script_end == "repeat_last" and script:
        return script[-1]
    # A script that fails at its end tells in the error how far it was asked.
    return f"user:{at}" if scenario.script_end == "fail" else "assistant:EXHAUSTED"


def _of_caller(kind: str, data: Data) -> bool:
    effect = data.get("data") if kind == "effect" else None
    return is_mapping(effect) and "factory_calls" in effect


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
