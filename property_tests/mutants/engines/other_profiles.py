"""Engines that take the ways of one profile for those of another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from property_tests.mutants.around import under
from property_tests.mutants.engines import lists
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import broken, wrong

_SWAPPED: Final = (
    (
        "seed-001",
        "sequential_streams",
        "opened",
        "CONC-007",
        "The streams of sequential calls are all opened before one of them is read.",
    ),
    (
        "eino-0.7",
        "after_leaves_none",
        "error",
        "MSG-013",
        "After-model hooks that leave no message end the run with an error.",
    ),
    (
        "eino-0.7",
        "state_object",
        "per_pass",
        "COMPAT-004",
        "Callbacks of an agent without tools have a state object a pass.",
    ),
    (
        "eino-draft",
        "model_context",
        "iteration",
        "CTX-006",
        "What a before-model hook puts into the context reaches the tools.",
    ),
    (
        "eino-0.8",
        "answer",
        "last_assistant",
        "MSG-015",
        "A run that ends on another's message answers with the last of the model's.",
    ),
    (
        "eino-0.8",
        "changed_call_id",
        "ignored",
        "EVT-008 WRAP-015",
        "A call id that a struct's wrapper changed does not stand on the event.",
    ),
    (
        "eino-0.8",
        "handler_input",
        "shared",
        "EVT-008 WRAP-015",
        "A call id that a handler changed stands on the event.",
    ),
    (
        "eino-0.8",
        "null_tools",
        "ignored",
        "TOOL-009",
        "Where a handler leaves null for the tools all of them are still offered.",
    ),
    (
        "eino-0.9",
        "model_context",
        "iteration",
        "CTX-006",
        "What a before-model hook puts into the context reaches the tools.",
    ),
    (
        "eino-0.9",
        "return_directly",
        "three_valued",
        "RD-003 RD-005",
        "A handler can clear a flag, and a configured false is none.",
    ),
    (
        "eino-0.9",
        "after_agent",
        "never",
        "RUN-017",
        "No after_agent hook is called.",
    ),
    (
        "eino-0.9",
        "state_object",
        "per_pass",
        "COMPAT-004",
        "Before- and after-callbacks of an iteration have a state object each.",
    ),
    (
        "eino-0.9",
        "hidden_tool",
        "unknown",
        "TOOL-018",
        "A tool that a wrapper took out of the request is unknown.",
    ),
    (
        "eino-0.9",
        "resumed_iteration",
        "goes_on",
        "INT-019",
        "An iteration that was interrupted before its calls goes on in the middle.",
    ),
    (
        "langchain-1",
        "route",
        "last_left",
        "MSG-012",
        "The last message that after-hooks leave decides, whoever's it is.",
    ),
    (
        "langchain-1",
        "direct_calls",
        "any",
        "RD-009",
        "One direct call among others ends the run.",
    ),
    (
        "langchain-1",
        "unknown_tool",
        "abort",
        "TOOL-019",
        "A call of an unknown tool ends the run.",
    ),
    (
        "langchain-1",
        "after_leaves_none",
        "error",
        "MSG-013",
        "After-model hooks that leave no message end the run with an error.",
    ),
    (
        "langchain-1",
        "additional_tools",
        "after_configured",
        "TOOL-002",
        "Tools of struct middlewares stand behind the configured ones.",
    ),
    (
        "langchain-1",
        "instruction_place",
        "in_history",
        "MSG-001 INS-001",
        "The instruction is the first message of the history.",
    ),
    (
        "langgraph-prebuilt-1",
        "before_model_edits",
        "kept",
        "MSG-005",
        "What before-model hooks leave is kept as the history.",
    ),
    (
        "langgraph-prebuilt-1",
        "exhaustion",
        "outcome",
        "RUN-011 ERR-015",
        "A run that used up its iterations ends as such, without an apology.",
    ),
    (
        "langgraph-prebuilt-1",
        "route",
        "unanswered_since",
        "MSG-012",
        "A call whose result stands before it in the history is run.",
    ),
)
"""Profile, posture, the option of another profile, what it violates and how."""


def _mutants() -> Iterator[Mutant]:
    for profile, posture, option, violates, about in _SWAPPED:
        words = (posture, option, "under", profile.replace(".", "-"))
        name = "-".join(words).replace("_", "-")
        yield wrong(name, about, violates, under(posture, option), profile)


MUTANTS: Final[tuple[Mutant, ...]] = (
    *_mutants(),
    broken(
        "after-agent-forwards-where-reversed",
        "after_agent hooks run in the order of the handlers, not backwards.",
        "ORD-007",
        lists.hooks(lists.turned, "after_agent"),
        under="langchain-1",
    ),
)
