"""Which tool a call executes, and what becomes of one whose tool is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from property_tests.checks.calling import (
    is_known,
    one_each,
    requested_calls,
)
from property_tests.checks.configuring import setups
from property_tests.checks.phases import Setup
from property_tests.checks.specs import keeps_ids
from property_tests.remembering import each_once
from property_tests.view import Call, Iteration, RunView, View
from refengine.messages import ToolCall
from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec


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
