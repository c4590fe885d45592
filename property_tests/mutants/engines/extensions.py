"""Engines that are wrong about what an extension is, and about very many of them."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.around import under
from property_tests.mutants.engines import lists
from property_tests.mutants.engines.runs import whole_object
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Right, broken, patch, wrong


def _never_deep(_: Right) -> Right:
    return lambda: False


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "innermost-wrapper-lost",
        "Of several wrappers around tool calls the innermost is skipped.",
        "EXT-002",
        lists.handlers_layers(lists.but_last),
    ),
    broken(
        "hooks-set-ignored",
        "Every method with the name of a hook is called, whatever the object declares.",
        "EXT-003",
        patch("extensions.hooks_of", whole_object),
    ),
    wrong(
        "same-object-accepted",
        "One handler object may stand at two positions.",
        "EXT-004",
        under("same_handler_twice", "runs_twice"),
    ),
    wrong(
        "equal-names-refused",
        "Handlers of one name are refused where they may have one.",
        "EXT-006",
        under("equal_handler_names", "refused"),
    ),
    wrong(
        "equal-names-accepted",
        "Handlers of one name are accepted where names have to differ.",
        "EXT-006",
        under("equal_handler_names", "numbered"),
        under="langchain-1",
    ),
    wrong(
        "deprecation-untold",
        "Struct middlewares are deprecated and nobody is warned.",
        "EXT-007",
        under("struct_middleware", "supported"),
        under="eino-0.9",
    ),
    wrong(
        "deprecation-too-early",
        "Struct middlewares are warned about before they are deprecated.",
        "EXT-007",
        under("struct_middleware", "deprecated"),
    ),
    broken(
        "stack-overflows",
        "Every layer stands on the stack of the one around it.",
        "DEEP-007",
        patch("onion.is_deep", _never_deep),
    ),
)
