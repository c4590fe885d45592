"""Engines that are wrong now and then: in a later iteration, for one kind of value."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.engines.messages import begun
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, broken


def _writable(loop: Given) -> None:
    loop.options = dict(loop.options)


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "options-can-be-written",
        "The calls of a run share options that each of them can write into.",
        "WRAP-017 WRAP-018",
        begun(_writable),
    ),
)
