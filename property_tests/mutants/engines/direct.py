"""Engines that are wrong about which calls end a run with their result (RD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines import flag_faults as faults
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine.loop import Loop
from refengine.plan import DirectFlags, Planner, ToolFold


def _mutant(
    id_: str,
    about: str,
    violates: Sequence[str],
    *patches: Patch,
    under: str = "seed-001",
) -> Mutant:
    door = patched(id_.replace("-", " "), *patches)
    made = Mutant(id=id_, about=about, violates=tuple(violates), wrong=door)
    return replace(made, under=under)


MUTANTS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "configured-flags-ignored",
        "What tools_config.return_directly says is never looked at.",
        ["RD-001"],
        Patch(DirectFlags, "__init__", faults.not_configured),
    ),
    _mutant(
        "every-tool-direct",
        "Every tool returns directly.",
        ["RD-002"],
        Patch(Loop, "direct_call", faults.all_direct),
    ),
    _mutant(
        "configured-false-counts",
        "A name in tools_config.return_directly counts, true or false, as in eino.",
        ["RD-003"],
        Patch(DirectFlags, "end", faults.false_counts),
    ),
    _mutant(
        "flags-of-handlers-ignored",
        "No handler can change which tools return directly, as before the refactor.",
        ["RD-004", "RD-005"],
        Patch(DirectFlags, "__init__", faults.configured_only),
    ),
    _mutant(
        "flags-never-cleared",
        "A handler cannot clear a configured flag, as in eino v0.8.",
        ["RD-005"],
        Patch(DirectFlags, "end", faults.never_cleared),
    ),
    _mutant(
        "first-flag-counts",
        "Of several flags for a name the first one counts.",
        ["RD-006"],
        Patch(Planner, "enter", faults.first_counts),
    ),
    _mutant(
        "added-tools-flagged-false",
        "A tool that a handler adds has the flag false (seed 001 §4.1).",
        ["RD-007"],
        Patch(Planner, "enter", faults.added_false),
    ),
    _mutant(
        "first-direct-call-answers",
        "Of several direct calls the first in message order is the answer.",
        ["RD-008"],
        Patch(Loop, "direct_call", faults.first_direct),
    ),
    _mutant(
        "all-calls-direct",
        "A direct call ends the run only if no other call stands beside it.",
        ["RD-009"],
        Patch(Loop, "direct_call", faults.all_or_none),
    ),
    _mutant(
        "calling-message-answers",
        "The answer of a direct call is the message that asked for it.",
        ["RD-010"],
        Patch(Loop, "settle", faults.asking_answers),
    ),
    _mutant(
        "only-direct-result-kept",
        "Of the results of a message only that of the direct call is kept.",
        ["RD-011"],
        Patch(Loop, "settle", faults.others_lost),
    ),
    _mutant(
        "flags-of-unknown-tools",
        "A configured flag ends the run for a tool that is not there.",
        ["RD-012"],
        Patch(Loop, "direct_call", faults.unknown_counts),
    ),
    _mutant(
        "direct-event-last",
        "The event of the call that ends the run comes after all others, as in eino.",
        ["RD-013"],
        Patch(Loop, "__init__", faults.event_at("last")),
    ),
    _mutant(
        "direct-event-in-order",
        "The event of the call that ends the run is not held back.",
        ["RD-013"],
        Patch(Loop, "__init__", faults.event_at("call_order")),
        under="eino-0.9",
    ),
    _mutant(
        "configured-flags-shown-set",
        "The first handler sees configured flags as if they had been set.",
        ["RD-014"],
        Patch(DirectFlags, "start", faults.shown_set),
    ),
    _mutant(
        "flags-hidden-from-next",
        "A handler does not see the flags that those before it set.",
        ["RD-015"],
        Patch(Planner, "enter", faults.hidden_from_next),
    ),
    _mutant(
        "unset-flag-overwrites",
        "A tool without a flag takes that of an earlier one of its name away.",
        ["RD-016"],
        Patch(ToolFold, "_append", faults.overwriting),
    ),
    _mutant(
        "flags-pile-up",
        "A run starts with the flags that handlers set in the one before.",
        ["RD-017"],
        Patch(Planner, "plan", faults.piling_up),
        under="eino-0.9",
    ),
)
