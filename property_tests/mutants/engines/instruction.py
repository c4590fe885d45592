"""Engines that are wrong about what instruction an agent runs with (INS)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from property_tests.mutants.around import under
from property_tests.mutants.engines.messages import AS_IT_IS
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Right,
    broken,
    patch,
    wrong,
)


class _Blank(dict[str, str]):
    """Variables of a template, all of which are empty."""

    def __missing__(self, key: str) -> str:
        return ""


def _filled_in(text: str) -> str:
    try:
        return text.format_map(_Blank())
    except (ValueError, IndexError, AttributeError):
        return text


def _additions(right: Right) -> Right:
    """Take what structs add to the instruction for templates."""

    def instruction_with(base: str, added: Iterable[str], profile: Given) -> str:
        return str(right(base, [_filled_in(each) for each in added], profile))

    return instruction_with


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "empty-additions-kept",
        "An empty addition brings its separator where the profile skips it.",
        "INS-004",
        under("empty_addition", "kept"),
        under="eino-0.9",
    ),
    broken(
        "additions-as-format",
        "What structs add to the instruction are templates.",
        "INS-003",
        patch("planner.instruction_with", _additions),
        says=AS_IT_IS,
    ),
)
