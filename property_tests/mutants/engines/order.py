"""Engines that are wrong about in which order hooks of several extensions act (ORD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines import order_turning as turning
from property_tests.mutants.engines.order_faults import ended_early, flat
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine.agent import Agent
from refengine.chain import Onion, Pipeline
from refengine.loop import Loop


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
    Mutant(
        id="pipelines-reversed",
        about="Every pipeline calls the last hook first.",
        violates=("ORD-001", "ORD-003", "ORD-007"),
        wrong=patched(
            "pipelines reversed", Patch(Pipeline, "__init__", turning.backwards)
        ),
    ),
    _mutant(
        "before-handlers-first",
        "Handlers' before-model hooks are called before those of structs.",
        ["ORD-001"],
        turning.phases("before_chat_model", turning.turned),
    ),
    _mutant(
        "before-structs-reversed",
        "The last struct's before_chat_model is called first.",
        ["ORD-001"],
        turning.structs("before_chat_model", turning.turned),
    ),
    _mutant(
        "last-before-hook-missing",
        "Of several before-model hooks of handlers the last one is never called.",
        ["ORD-002"],
        turning.hooks("before_model_rewrite_history", turning.but_last),
    ),
    _mutant(
        "last-before-hook-twice",
        "The last handler's before-model hook is called twice in a pass.",
        ["ORD-002"],
        turning.hooks("before_model_rewrite_history", turning.last_twice),
    ),
    _mutant(
        "after-handlers-first",
        "With both lists handlers' after-model hooks are called first, as in eino.",
        ["ORD-003"],
        turning.phases("after_chat_model", turning.turned),
    ),
    _mutant(
        "after-structs-first",
        "With both lists structs' after-model hooks are called first.",
        ["ORD-003"],
        turning.phases("after_chat_model", turning.turned),
        under="eino-0.9",
    ),
    _mutant(
        "last-after-hook-missing",
        "Of several after-model hooks of handlers the last one is never called.",
        ["ORD-004"],
        turning.hooks("after_model_rewrite_history", turning.but_last),
    ),
    _mutant(
        "before-agent-reversed",
        "The last handler's before_agent is called first.",
        ["ORD-005"],
        turning.hooks("before_agent", turning.turned),
    ),
    _mutant(
        "before-agent-last-missing",
        "Of several before_agent hooks the last one is never called.",
        ["ORD-006"],
        turning.hooks("before_agent", turning.but_last),
    ),
    _mutant(
        "before-agent-each-run",
        "The before_agent hooks run at build, and again at the start of every run.",
        ["ORD-006"],
        Patch(Agent, "planned", turning.planned_anew),
    ),
    _mutant(
        "after-agent-reversed",
        "The last handler's after_agent is called first.",
        ["ORD-007"],
        turning.hooks("after_agent", turning.turned),
    ),
    _mutant(
        "model-wrappers-reversed",
        "Around a model call the last handler is the outermost.",
        ["ORD-009"],
        turning.hooks("wrap_model_call", turning.turned),
    ),
    _mutant(
        "model-wrapper-missing",
        "The innermost wrapper around the model is left out.",
        ["ORD-010"],
        turning.hooks("wrap_model_call", turning.but_last),
    ),
    _mutant(
        "model-wrapper-twice",
        "The innermost wrapper around the model is entered twice.",
        ["ORD-010"],
        turning.hooks("wrap_model_call", turning.last_twice),
    ),
    _mutant(
        "onions-flat",
        "Every wrapper is given the innermost result and resumed outermost first.",
        ["ORD-011", "ORD-015"],
        Patch(Onion, "compile", flat),
    ),
    _mutant(
        "tool-handlers-outside",
        "Handlers' wrappers are outside of those of structs and tools configuration.",
        ["ORD-012"],
        turning.layers(turning.handlers_outside),
    ),
    _mutant(
        "tool-structs-outside",
        "Structs' wrappers are outside of those of the tools configuration.",
        ["ORD-012"],
        turning.layers(turning.structs_outside),
    ),
    _mutant(
        "tool-last-handler-outside",
        "The last handler's wrapper is the outermost, as in eino up to v0.8.11.",
        ["ORD-013"],
        turning.layers(turning.last_handler_outside),
    ),
    _mutant(
        "tool-structs-backwards",
        "Of the structs' wrappers the last one is the outermost.",
        ["ORD-013"],
        turning.layers(turning.structs_backwards),
    ),
    _mutant(
        "tool-wrapper-missing",
        "The innermost wrapper around a call is left out.",
        ["ORD-014"],
        turning.layers(turning.but_last),
    ),
    _mutant(
        "tool-wrapper-twice",
        "The innermost wrapper around a call is entered twice.",
        ["ORD-014"],
        turning.layers(turning.last_twice),
    ),
    _mutant(
        "after-agent-before-after-hooks",
        "The after_agent hooks are called before the last after-model hooks.",
        ["ORD-017"],
        Patch(Loop, "run_phases", ended_early),
    ),
    _mutant(
        "mixed-lists-silent",
        "Nobody is told that both lists of extensions are used.",
        ["ORD-019"],
        turning.warning(lambda _: 0),
    ),
    _mutant(
        "mixed-lists-each-handler",
        "The warning about both lists is given for every handler.",
        ["ORD-019"],
        turning.warning(lambda extensions: len(extensions.handlers)),
    ),
)
