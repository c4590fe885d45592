"""Engines that take an instruction for a template, and fill it in (INS)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from string import Template
from typing import Final

from property_tests.mutants.engines.texts import AS_IT_IS
from property_tests.mutants.engines.tools import planned
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch


def _instruction(change: Callable[[str], str]) -> Patch:
    """Start runs with another instruction than handlers left."""
    return planned(lambda _, left: replace(left, instruction=change(left.instruction)))


class _Blank(dict[str, str]):
    """Variables of a template, all of which are empty."""

    def __missing__(self, key: str) -> str:
        return ""


def _filled_in(text: str) -> str:
    try:
        return text.format_map(_Blank())
    except (ValueError, IndexError, AttributeError):
        return text


def _percents(text: str) -> str:
    try:
        return text % ()
    except (TypeError, ValueError):
        return text


def _dollars(text: str) -> str:
    return Template(text).safe_substitute()


def _mustaches(text: str) -> str:
    return re.sub(r"\{\{\s*\w+\s*\}\}", "", text)


def _additions(right: Right) -> Right:
    """Take what structs add to the instruction for templates."""

    def instruction_with(base: str, added: Iterable[str], profile: Given) -> str:
        return str(right(base, [_filled_in(each) for each in added], profile))

    return instruction_with


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "instruction-as-format",
        "An instruction is a template whose names in braces are filled in.",
        "INS-001",
        _instruction(_filled_in),
        says=AS_IT_IS,
    ),
    broken(
        "instruction-as-percents",
        "An instruction is a template with percent signs.",
        "INS-001",
        _instruction(_percents),
        says=AS_IT_IS,
    ),
    broken(
        "instruction-as-dollars",
        "An instruction is a template with dollar signs.",
        "INS-001",
        _instruction(_dollars),
        says=AS_IT_IS,
    ),
    broken(
        "instruction-as-mustaches",
        "Names in double braces are left out of an instruction.",
        "INS-001",
        _instruction(_mustaches),
        says=AS_IT_IS,
    ),
    broken(
        "additions-as-format",
        "What structs add to the instruction are templates.",
        "INS-003",
        patch("planner.instruction_with", _additions),
        says=AS_IT_IS,
    ),
)
