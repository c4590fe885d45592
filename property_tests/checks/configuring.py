"""What an agent starts a run with, computed from a scenario: no engine is asked.

``setups`` gives, for every run, which configuration each handler sees and leaves in
``before_agent``, and then the instruction, the tools that are shown and can run, and
the names that return directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from property_tests.checks.phases import Phases, Setup
from property_tests.remembering import each_once, once
from property_tests.view import HookView, RunView, View


@dataclass(frozen=True, slots=True)
class Setups:
    """The phases of a session: one for each built agent, or one for each run."""

    built: tuple[Setup, ...]
    runs: Mapping[int, Setup]


@once
def setups(view: View) -> Setups:
    """Return what the phases of a scenario do, by the posture ``before_agent``."""
    agents = [Phases(each, view.profile) for each in view.scenario.all_agents]
    runs = view.scenario.runs
    if view.profile.before_agent == "build":
        built = tuple(each.next() for each in agents)
        return Setups(built, {n: built[r.agent] for n, r in enumerate(runs, 1)})
    return Setups((), {n: agents[run.agent].next() for n, run in enumerate(runs, 1)})


@each_once
def turns(view: View) -> Iterator[tuple[RunView | None, Setup, list[HookView]]]:
    """Yield each ``before_agent`` phase: its run, what it does, and what was entered.

    The run is None for a phase of building; one of an agent that was never reached is
    left out.
    """
    found = setups(view)
    for at, entered in enumerate(built_hooks(view)):
        if at < len(found.built):
            yield None, found.built[at], entered
    if view.profile.before_agent == "run":
        for run in view.runs:
            yield run, found.runs[run.number], run.before_agent


def built_hooks(view: View) -> list[list[HookView]]:
    """Return the hooks that ran while each agent was built, agent by agent."""
    found: list[list[HookView]] = []
    left = list(view.built)
    for each in view.build:
        if each.kind in {"build", "build_error"}:
            found.append([hook for hook in left if hook.enter.seq < each.seq])
            left = [hook for hook in left if hook.enter.seq > each.seq]
    return found
