"""Engines in which adapted structs are not what native ones are (COMPAT)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.around import under
from property_tests.mutants.engines import lists
from property_tests.mutants.engines.lists import Found
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import broken, wrong


def _adapted_last(found: Found) -> Found:
    return [*lists.wrappers(found), *lists.factories(found)]


def _none(_: Found) -> Found:
    return []


def _not_of_structs(found: Found) -> Found:
    return [each for each in found if each.name.hook != "wrap_tool_call"]


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "native-after-hooks-unwound",
        "Native after-callbacks are called last struct first, adapted ones forwards.",
        "COMPAT-001",
        lists.callbacks(lists.turned, "after_chat_model"),
    ),
    broken(
        "adapted-layers-innermost",
        "Tool wrappers of adapted structs stand inside those of the handlers.",
        "COMPAT-002",
        lists.handlers_layers(_adapted_last),
    ),
    broken(
        "native-callbacks-dropped",
        "An engine that deprecates structs no longer calls their callbacks.",
        "COMPAT-003",
        lists.callbacks(_none, "before_chat_model", "after_chat_model"),
        under="eino-0.9",
    ),
    broken(
        "native-stream-wrappers-dropped",
        "Streamed calls are not wrapped by structs.",
        "COMPAT-003",
        lists.layers(_not_of_structs, "streamable"),
    ),
    wrong(
        "factories-once",
        "Factories are called once, where they are called for every run.",
        "COMPAT-005",
        under("wrapper_factory", "once_a_tool"),
        under="eino-0.9",
    ),
)
