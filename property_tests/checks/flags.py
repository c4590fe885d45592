"""Which return-directly flags handlers see in ``before_agent`` (contract §2 RD)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from property_tests.check import Case, Decision
from property_tests.checks.configuring import first_runs, followed, paired, turns
from property_tests.checks.phases import Step
from property_tests.checks.tool_sets import is_doubled, tools_in
from property_tests.view import HookView
from refengine.testing.narrowing import is_mapping


def first_flags(case: Case) -> Iterator[Decision]:
    """Tell which flags the first handler sees."""
    first = {run.number for run in first_runs(case.played)}
    for run, setup, hooks in turns(case.played):
        if run is None or run.number in first:
            for step, hook in list(paired(setup, hooks))[:1]:
                yield sees(
                    "the first handler sees the flags of the profile", step, hook
                )


def next_flags(case: Case) -> Iterator[Decision]:
    """Tell whether a handler sees the flags that the one before left."""
    asked = "a handler sees the flags that the one before left"
    for before, after in followed(case.played):
        if not is_doubled(tools_in(before.left)):
            left, seen = flags_in(before.left), flags_in(after.seen)
            yield Decision(asked, left, seen, after.enter)


def folded_flags(case: Case) -> Iterator[Decision]:
    """Tell whether of equal names the last set flag stays."""
    if case.profile.equal_tool_names != "one_entry":
        return
    for _, setup, hooks in turns(case.played):
        both = list(paired(setup, hooks))
        for (before, _), (step, hook) in pairwise(both):
            if before.doubled:
                asked = "of equal names the last flag that was set stays"
                yield sees(asked, step, hook)


def flags_in(config: object) -> object:
    """Return the flags in a configuration as a trace puts it down."""
    return config.get("return_directly") if is_mapping(config) else None


def sees(asked: str, step: Step, hook: HookView) -> Decision:
    """Decide which flags a handler sees."""
    return Decision(asked, flags_in(step.seen), flags_in(hook.seen), hook.enter)
