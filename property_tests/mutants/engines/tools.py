"""Engines that are wrong about which tools there are (TOOL)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines import call_faults as calls
from property_tests.mutants.engines import tool_faults as faults
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import plan as plan_module
from refengine.compiled import Binder
from refengine.loop import Loop
from refengine.model_calls import ModelOnion
from refengine.plan import Planner, ToolFold
from refengine.tool_calls import UnknownCall

_UNDER_RUNS: Final = "eino-0.9"
"""A profile whose before_agent hooks act at the start of every run."""


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
        "tools-sorted",
        "The tools are offered sorted by name.",
        ["TOOL-001"],
        faults.planned(faults.sorted_by_name),
    ),
    _mutant(
        "struct-tools-first",
        "Tools of structs stand before the configured ones.",
        ["TOOL-002"],
        Patch(Planner, "_joined", faults.added_first),
    ),
    _mutant(
        "struct-tools-lost",
        "Tools of structs are forgotten.",
        ["TOOL-002"],
        Patch(Planner, "_joined", faults.configured_only),
    ),
    _mutant(
        "equal-names-at-the-last",
        "A name stands where its last tool stood.",
        ["TOOL-003"],
        Patch(plan_module, "normalise", faults.at_the_last),
    ),
    _mutant(
        "equal-names-all-shown",
        "The model is shown all tools of a name, as in eino.",
        ["TOOL-003"],
        Patch(plan_module, "normalise", faults.not_folded),
    ),
    _mutant(
        "handlers-miss-struct-tools",
        "Tools of structs are added after the handlers were asked.",
        ["TOOL-004"],
        Patch(Planner, "_joined", faults.configured_only),
        Patch(Planner, "plan", faults.structs_last),
    ),
    _mutant(
        "handlers-see-all-tools",
        "Each handler sees the tools that there were before any of them.",
        ["TOOL-005"],
        Patch(Planner, "enter", faults.default_for_all),
    ),
    _mutant(
        "handlers-append-equal-names",
        "Equal names that a handler leaves are not folded (seed 001 appends).",
        ["TOOL-006"],
        Patch(ToolFold, "update", faults.no_fold),
    ),
    _mutant(
        "handlers-tools-not-shown",
        "The model is offered none of the tools that handlers add.",
        ["TOOL-007"],
        Patch(Planner, "_resolve", faults.default_shown_only),
    ),
    _mutant(
        "removed-tools-shown",
        "A tool that a handler removed is still offered.",
        ["TOOL-007"],
        Patch(Planner, "_resolve", faults.removed_shown),
    ),
    _mutant(
        "no-tools-means-all",
        "Where handlers leave no tool all of them stay, as in eino's first draft.",
        ["TOOL-008"],
        faults.resolving("all_tools_removed", "ignored"),
    ),
    _mutant(
        "no-tools-still-advertised",
        "Where handlers leave no tool all are still offered, as in eino v0.9.",
        ["TOOL-008"],
        faults.resolving("all_tools_removed", "advertised"),
    ),
    _mutant(
        "null-tools-taken",
        "Null for the tools is taken for none.",
        ["TOOL-009"],
        Patch(Planner, "settle", faults.null_taken),
    ),
    _mutant(
        "tools-offered-once",
        "Only the first request of a run offers tools.",
        ["TOOL-010"],
        Patch(ModelOnion, "bare", calls.offered_once),
    ),
    _mutant(
        "tools-told-once",
        "Only the first model call of a run, and its wrappers, are given the tools.",
        ["TOOL-010"],
        Patch(Loop, "ask_model", calls.told_once),
    ),
    _mutant(
        "tools-pile-up",
        "A run starts with the tools that handlers left in the one before.",
        ["TOOL-011"],
        Patch(Planner, "plan", faults.piling_up),
        under=_UNDER_RUNS,
    ),
    _mutant(
        "taken-out-tools-offered",
        "The model is offered tools that a wrapper took out of the request.",
        ["TOOL-012"],
        Patch(ModelOnion, "call", calls.remembering),
        Patch(ModelOnion, "_innermost_call", calls.all_offered),
    ),
    _mutant(
        "descriptions-lost",
        "The model is told no more of a tool than its name.",
        ["TOOL-013"],
        faults.planned(faults.names_only),
    ),
    _mutant(
        "removal-silent",
        "Nobody is told that a handler left fewer tools.",
        ["TOOL-014"],
        Patch(ToolFold, "update", faults.nothing_gone),
    ),
    _mutant(
        "first-of-equal-names-runs",
        "Of tools of one name the first one runs.",
        ["TOOL-015"],
        Patch(plan_module, "normalise", faults.first_kept),
        Patch(ToolFold, "_append", faults.first_stays),
    ),
    _mutant(
        "added-tools-not-bound",
        "Tools that handlers add are offered, but a call of one does not find it.",
        ["TOOL-016"],
        Patch(Binder, "for_run", calls.default_bound),
    ),
    _mutant(
        "first-tool-runs",
        "Every call of a message runs the tool of the first.",
        ["TOOL-016"],
        Patch(Loop, "batch_of", calls.first_called),
    ),
    _mutant(
        "removed-tools-run",
        "A tool that a handler removed is not offered, but a call of it runs.",
        ["TOOL-017"],
        Patch(Planner, "_resolve", faults.removed_run),
    ),
    _mutant(
        "taken-out-tools-run",
        "A tool that a wrapper took out of the request is called all the same.",
        ["TOOL-018"],
        Patch(Loop, "_is_hidden", calls.nothing_hidden),
    ),
    _mutant(
        "unknown-tools-answered",
        "A call of an unknown tool does not end the run; the model is told of it.",
        ["TOOL-019"],
        Patch(Loop, "prepare_call", calls.answered),
    ),
    _mutant(
        "run-answers-unknown-tools",
        "A call of a tool that is not there has a result that says so, without event.",
        ["TOOL-019"],
        Patch(Loop, "prepare_call", calls.answered_quietly),
    ),
    _mutant(
        "unknown-tools-handler-ignored",
        "A call of an unknown tool ends the run though unknown_tools_handler is there.",
        ["TOOL-019"],
        Patch(Loop, "prepare_call", calls.nobody_asked),
    ),
    _mutant(
        "siblings-run-first",
        "The calls before one of an unknown tool run, and then the run ends.",
        ["TOOL-020"],
        Patch(Loop, "batch_of", calls.fail_late),
    ),
    _mutant(
        "unknown-text-lost",
        "The result of an unknown call is the tool's name and not the handler's text.",
        ["TOOL-021"],
        Patch(UnknownCall, "__init__", calls.name_told),
    ),
    _mutant(
        "unknown-calls-wrapped",
        "What unknown_tools_handler answers goes through the wrappers, with an event.",
        ["TOOL-022"],
        Patch(Loop, "prepare_call", calls.wrapped),
    ),
)
