"""Which tool a call executes, and what becomes of one whose tool is not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from property_tests.check import Decision, PlayedWorld
from property_tests.checks.calling import (
    ended,
    history_after,
    is_known,
    one_each,
    requested_calls,
    result_of,
    went_on,
)
from property_tests.checks.configuring import setups
from property_tests.checks.passages import calls_next
from property_tests.checks.phases import Setup, hidden, implementation
from property_tests.checks.specs import all_tools, keeps_ids, limit, tool_wraps
from property_tests.remembering import each_once
from property_tests.view import Call, Iteration, RunView, View
from refengine.messages import ToolCall
from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec
from refengine.testing.trace import Observation


@dataclass(frozen=True, slots=True)
class CalledBatch:
    """The calls that an iteration runs, and what the run goes by."""

    run: RunView
    now: Iteration
    setup: Setup
    profile: Profile
    calls: Sequence[ToolCall]

    @property
    def agent(self) -> AgentSpec:
        """The agent whose run it is."""
        return self.run.agent

    def seen(self, call: ToolCall) -> Call:
        """Return what was observed of a call."""
        return self.now.calls.get(call.id) or Call(call.id)

    def knows(self, call: ToolCall) -> bool:
        """Tell whether the call finds its tool."""
        return is_known(call.name, self.now, self.agent, self.setup, self.profile)

    @property
    def distinguishable(self) -> bool:
        """Whether entries of its calls tell which one they are of."""
        return keeps_ids(self.agent) and one_each(self.calls)

    @property
    def not_found(self) -> bool:
        """Whether the run ended because a tool was not there."""
        last = self.now is self.run.iterations[-1]
        return last and self.run.failed_as == "ToolNotFound"


@each_once
def batches(view: View) -> Iterator[CalledBatch]:
    """Yield the calls of each iteration, where entries tell them apart."""
    return (each for each in every_batch(view) if each.distinguishable)


@each_once
def every_batch(view: View) -> Iterator[CalledBatch]:
    """Yield the calls of each iteration."""
    found = setups(view)
    for run in view.runs:
        setup = found.runs[run.number]
        for now in run.iterations if not setup.failed else ():
            if calls := requested_calls(run, now, setup, view.profile):
                yield CalledBatch(run, now, setup, view.profile, calls)


def last_of_equals(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether of tools of one name the last one runs."""
    for batch, call, start in _started(case.played):
        if len(_candidates(batch, call.name)) > 1:
            text = "of tools of one name the last one runs"
            expected = implementation(batch.setup.runnable[call.name])
            yield Decision(text, expected, start.data.get("implementation"), start)


def by_name(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a call runs the tool of its name, wherever that came from."""
    text = "a call runs the tool of its name"
    for batch, call, start in _started(case.played):
        spec = batch.setup.runnable[call.name]
        if len(_candidates(batch, call.name)) == 1:
            got = [start.data.get("name"), start.data.get("implementation")]
            yield Decision(text, [call.name, implementation(spec)], got, start)
    for batch in batches(case.played):
        for call in batch.calls if _reach(batch) else ():
            if batch.knows(call) and not batch.seen(call).starts:
                yield Decision(text, call.name, None, batch.now.response)
        if _refused(batch):
            yield Decision(text, "found", "ToolNotFound", batch.run.error)


def removed(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a tool that a handler removed is never executed."""
    for batch in batches(case.played):
        for call in batch.calls:
            if call.name not in batch.setup.runnable and _was_there(batch, call.name):
                yield _not_run("a tool that was removed is not executed", batch, call)


def taken_out(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a tool that was taken out of the request is known."""
    text = "a tool taken out of the request is unknown, or runs as the profile has it"
    for batch in every_batch(case.played):
        taken = {name for names in hidden(batch.agent) for name in names}
        for call in batch.calls:
            if call.name not in taken or call.name not in batch.setup.runnable:
                continue
            starts = batch.seen(call).starts
            if not batch.knows(call):
                if batch.distinguishable or len(batch.calls) == 1:
                    yield _not_run(text, batch, call)
            elif batch.distinguishable and (starts or _reach(batch) or _refused(batch)):
                at = starts[0] if starts else batch.now.response
                yield Decision(text, "runs", "runs" if starts else "unknown", at)


def unknown(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether a call of an unknown tool ends the run, or is answered."""
    for batch in every_batch(case.played):
        missing = [call for call in batch.calls if not batch.knows(call)]
        handled = batch.agent.unknown_tools_handler is not None
        if missing and not handled and batch.profile.unknown_tool == "abort":
            yield _aborted(batch, missing[0])
        elif missing:
            yield _goes_on(batch)
            if not handled and batch.distinguishable:
                yield from _reported(batch, missing)


def siblings(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether calls beside one of an unknown tool run, if that ends no run."""
    for batch in batches(case.played):
        handled = batch.agent.unknown_tools_handler is not None
        known = [call for call in batch.calls if batch.knows(call)]
        if len(known) == len(batch.calls):
            continue
        for call in known:
            if batch.profile.unknown_tool == "abort" and not handled:
                yield _not_run(
                    "where an unknown tool ends the run none runs", batch, call
                )
            elif _reach(batch):
                starts = batch.seen(call).starts
                got = [each.data.get("name") for each in starts[:1]]
                text = "beside an unknown tool that is answered the others run"
                at = starts[0] if starts else batch.now.response
                yield Decision(text, [call.name], got, at)


def answered(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether the text of unknown_tools_handler is the result, and no end."""
    for batch, call in _handled(case.played):
        seen = history_after(batch.run, batch.now)
        if seen is not None and went_on(batch.run, batch.now):
            result = result_of(seen[0], call.id)
            text = "the text of unknown_tools_handler is the result of the call"
            got = None if result is None else result.content
            expected = batch.agent.answer_for(call.name, call.arguments)
            yield Decision(text, expected, got, seen[1])
            flagged = any(each.name in batch.setup.direct for each in batch.calls)
            if not flagged and batch.now.number < limit(batch.agent):
                text = "a run goes on after what unknown_tools_handler answered"
                then = ended(batch.run, batch.now)
                yield Decision(text, "goes on", then, seen[1])


def unseen(case: PlayedWorld) -> Iterator[Decision]:
    """Tell whether no wrapper and no event sees a call that was answered so."""
    for batch, call in _handled(case.played):
        seen = batch.seen(call).entries
        got = [each.kind for each in seen if each.kind in {"hook_enter", "event"}]
        text = "unknown_tools_handler answers without wrapper and event"
        yield Decision(text, [], got, seen[0] if seen else batch.now.response)


def _started(view: View) -> Iterator[tuple[CalledBatch, ToolCall, Observation]]:
    """Yield each execution that a call should lead to."""
    for batch in batches(view):
        if any(each.set_input_name for each in tool_wraps(batch.agent)):
            continue
        for call in batch.calls:
            for start in batch.seen(call).starts:
                if call.name in batch.setup.runnable:
                    yield batch, call, start


def _handled(view: View) -> Iterator[tuple[CalledBatch, ToolCall]]:
    for batch in batches(view):
        answers = batch.agent.unknown_tools_handler is not None
        for call in batch.calls if answers else ():
            if not batch.knows(call):
                yield batch, call


def _reach(batch: CalledBatch) -> bool:
    """Tell whether every call had to reach its tool: nobody answers in its place."""
    wraps = tool_wraps(batch.agent)
    kept = all(calls_next(each) and each.factory_error is None for each in wraps)
    return kept and went_on(batch.run, batch.now)


def _refused(batch: CalledBatch) -> bool:
    """Tell whether the run ended as if a tool were not there, and all of them are."""
    return batch.not_found and all(map(batch.knows, batch.calls))


def _not_run(text: str, batch: CalledBatch, call: ToolCall) -> Decision:
    alone = len(batch.calls) == 1
    seen = batch.now.calls.values() if alone else (batch.seen(call),)
    starts = [start for each in seen for start in each.starts]
    got = [each.data.get("name") for each in starts]
    return Decision(text, [], got, starts[0] if starts else batch.now.response)


def _aborted(batch: CalledBatch, call: ToolCall) -> Decision:
    text = "an unknown tool ends the run with ToolNotFound"
    expected = {"class": "ToolNotFound", "of": call.name}
    if batch.now is not batch.run.iterations[-1] or batch.run.error is None:
        return Decision(text, expected, "goes on", batch.now.response)
    data = batch.run.error.data
    point = cast("Mapping[str, object]", data["error"])
    got = {"class": data.get("class"), "of": point.get("of")}
    return Decision(text, expected, got, batch.run.error)


def _goes_on(batch: CalledBatch) -> Decision:
    text = "where an unknown tool is answered the run does not end with ToolNotFound"
    got = "ToolNotFound" if batch.not_found else "answered"
    at = batch.run.error if batch.not_found else batch.now.response
    return Decision(text, "answered", got, at)


def _reported(batch: CalledBatch, missing: Iterable[ToolCall]) -> Iterator[Decision]:
    seen = history_after(batch.run, batch.now)
    if seen is None or not went_on(batch.run, batch.now):
        return
    for call in missing:
        got = result_of(seen[0], call.id)
        text = "the result of a call of an unknown tool says so, and the run goes on"
        yield Decision(text, call.id, got and got.tool_call_id, seen[1])


def _candidates(batch: CalledBatch, name: str) -> set[str]:
    """Return the implementations that a name has or had, wherever they come from."""
    specs = [*batch.setup.default, *all_tools(batch.agent)]
    same = [each for each in specs if each.name == name]
    return {implementation(each) for each in [*same, batch.setup.runnable[name]]}


def _was_there(batch: CalledBatch, name: str) -> bool:
    left = [each.left for each in batch.setup.steps if each.left is not None]
    names = {n for each in left for n in cast("Sequence[str]", each["tools"])}
    return name in names or any(each.name == name for each in batch.setup.default)
