"""Engines that are wrong about very many extensions (DEEP)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import chain, extensions
from refengine.chain import Layer, Onion, Pipeline
from refengine.tool_onion import ToolOnion

MOST: Final = 1_000
"""So many extensions still work in these engines."""


def _at_most(number: int) -> Callable[[object], int]:
    return lambda _: number


def _first_ones(right: Callable[..., None]) -> Callable[..., None]:
    """Call the first hooks of a pipeline, and silently no more."""

    def made(self: Pipeline, hooks: Sequence[Any]) -> None:
        right(self, hooks[:MOST])

    return made


def _first_layers(right: Callable[..., Any]) -> Callable[..., Any]:
    """Enter the first layers of an onion, and silently no more."""

    def compile_(
        self: Onion, layers: Sequence[Layer], innermost: object, first: int = 0
    ) -> object:
        return right(self, layers[:MOST], innermost, first)

    return compile_


def _first_of_kind(kind: str) -> Callable[[Any], Any]:
    def replace(right: Callable[..., None]) -> Callable[..., None]:
        def made(self: ToolOnion, of: str, layers: Sequence[Any], **how: bool) -> None:
            right(self, of, layers[:MOST] if of == kind else layers, **how)

        return made

    return replace


def _never_deep(_: object) -> Callable[[], bool]:
    return lambda: False


def _broken(id_: str, about: str, violates: Sequence[str], *patches: Patch) -> Mutant:
    wrong = patched(id_, *patches)
    return Mutant(id=id_, about=about, violates=tuple(violates), wrong=wrong)


MUTANTS: Final[tuple[Mutant, ...]] = (
    _broken(
        "one-less-than-promised",
        "One extension less is accepted than is promised.",
        ("DEEP-001",),
        Patch(extensions, "MAX_EXTENSIONS", _at_most(extensions.MAX_EXTENSIONS - 1)),
    ),
    _broken(
        "any-number-accepted",
        "More extensions are accepted than are promised to work.",
        ("DEEP-002",),
        Patch(extensions, "MAX_EXTENSIONS", _at_most(1 << 30)),
    ),
    _broken(
        "hooks-beyond-a-thousand-skipped",
        "A pipeline calls its first thousand hooks, and no more.",
        ("DEEP-003",),
        Patch(Pipeline, "__init__", _first_ones),
    ),
    _broken(
        "layers-beyond-a-thousand-skipped",
        "An onion has its first thousand layers, and no more.",
        ("DEEP-004", "DEEP-005", "DEEP-006"),
        Patch(Onion, "compile", _first_layers),
    ),
    *(
        _broken(
            f"{kind}-layers-skipped",
            f"The onion around {kind} tools has its first thousand layers.",
            (clause,),
            Patch(ToolOnion, "__init__", _first_of_kind(kind)),
        )
        for kind, clause in (("invokable", "DEEP-005"), ("streamable", "DEEP-006"))
    ),
    _broken(
        "stack-overflows",
        "Every layer stands on the stack of the one around it.",
        ("DEEP-007",),
        Patch(chain, "is_deep", _never_deep),
    ),
)
