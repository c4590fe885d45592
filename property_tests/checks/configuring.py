"""What an agent starts a run with, computed from a scenario: no engine is asked.

``setups`` gives, for every run, which configuration each handler sees and leaves in
``before_agent``, and then the instruction, the tools that are shown and can run, and
the names that return directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from property_tests.checks.phases import HandlerTurn, Phases, Setup
from property_tests.checks.positions import label_of
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


def first_runs(view: View) -> list[RunView]:
    """Return the first run of each agent."""
    found: dict[int, RunView] = {}
    for run in view.runs:
        found.setdefault(run.spec.agent, run)
    return list(found.values())


def later_runs(view: View) -> list[RunView]:
    """Return the runs of agents that have run before."""
    first = [run.number for run in first_runs(view)]
    return [run for run in view.runs if run.number not in first]


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


def last_turns(view: View) -> Iterator[tuple[RunView, list[HookView]]]:
    """Yield the first run of each agent with the phase that it starts from.

    Phases that nothing was entered in, or that fail, are left out.
    """
    found, built = setups(view), built_hooks(view)
    for run in first_runs(view):
        at_build = view.profile.before_agent == "build"
        if at_build and run.spec.agent >= len(built):
            continue
        hooks = built[run.spec.agent] if at_build else run.before_agent
        if hooks and not found.runs[run.number].failed:
            yield run, hooks


def paired(
    setup: Setup, entered: Sequence[HookView]
) -> Iterator[tuple[HandlerTurn, HookView]]:
    """Yield the handlers' turns with what was seen of them, as long as they agree."""
    for step, hook in zip(setup.steps, entered, strict=False):
        if step.label != label_of(hook):
            return
        yield step, hook


def followed(view: View) -> Iterator[tuple[HookView, HookView]]:
    """Yield each hook of a phase that was left, with the one that was entered next."""
    for _, _, hooks in turns(view):
        for before, after in pairwise(hooks):
            if before.left is not None:
                yield before, after
