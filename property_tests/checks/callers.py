"""MSG: what a caller gave to an engine is as it was (contract §2 MSG, §0)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld

OF_RUN: Final = frozenset(("messages", "options"))


def run_as_given(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that messages and options of a run are as they were when it is over."""
    for run in case.played.runs:
        changed = [
            each
            for each in run.entries
            if each.kind == "caller_object_changed" and each.data.get("path") in OF_RUN
        ]
        paths = [str(each.data["path"]) for each in changed]
        at = changed[0] if changed else run.end
        yield Decision("no object of the caller's is changed", [], paths, at)


CHECKS: Final = (Check(clause="MSG-016", decide=run_as_given),)
