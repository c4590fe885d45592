"""Engines that are wrong about in which order hooks of several extensions act (ORD)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine.chain import Pipeline


def _backwards(right: Callable[..., None]) -> Callable[..., None]:
    def made(self: Pipeline, hooks: Sequence[Any]) -> None:
        right(self, hooks[::-1])

    return made


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        id="pipelines-reversed",
        about="Every pipeline calls the last hook first.",
        violates=("ORD-001",),
        wrong=patched("pipelines reversed", Patch(Pipeline, "__init__", _backwards)),
    ),
)
