"""Engines that are wrong about very many extensions (DEEP)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.engines import lists
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch
from refengine.errors import TooManyExtensionsError
from refengine.extensions import MAX_EXTENSIONS

MOST: Final = 1_000
"""So many extensions still work in these engines."""


def _limited_to(most: int) -> Patch:
    def replaced(_: Right) -> Right:
        def refuse_too_many(number: int) -> None:
            if number > most:
                raise TooManyExtensionsError(number, most)

        return refuse_too_many

    return patch("extensions.refuse_too_many", replaced)


def _first_ones(found: lists.Found) -> lists.Found:
    """Leave out what stands behind the first, and say nothing."""
    return found[:MOST]


def _first_layers(right: Right) -> Right:
    """Enter the first layers of an onion, and silently no more."""

    def compile_(self: Given, layers: Given, innermost: Given, first: int = 0) -> Given:
        return right(self, layers[:MOST], innermost, first)

    return compile_


def _never_deep(_: Right) -> Right:
    return lambda: False


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "one-less-than-promised",
        "One extension less is accepted than is promised.",
        "DEEP-001",
        _limited_to(MAX_EXTENSIONS - 1),
    ),
    broken(
        "any-number-accepted",
        "More extensions are accepted than are promised to work.",
        "DEEP-002",
        _limited_to(1 << 30),
    ),
    broken(
        "hooks-beyond-a-thousand-skipped",
        "A pipeline calls its first thousand hooks, and no more.",
        "DEEP-003",
        lists.hooks(_first_ones, *lists.PASSES),
    ),
    broken(
        "layers-beyond-a-thousand-skipped",
        "An onion has its first thousand layers, and no more.",
        "DEEP-004 DEEP-005 DEEP-006",
        patch("onion.compile", _first_layers),
    ),
    *(
        broken(
            f"{kind}-layers-skipped",
            f"The onion around {kind} tools has its first thousand layers.",
            clause,
            lists.layers(_first_ones, kind),
        )
        for kind, clause in (("invokable", "DEEP-005"), ("streamable", "DEEP-006"))
    ),
    broken(
        "stack-overflows",
        "Every layer stands on the stack of the one around it.",
        "DEEP-007",
        patch("onion.is_deep", _never_deep),
    ),
)
