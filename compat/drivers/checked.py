"""What came of one function of a driver, in the self-test of any dialect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Found: TypeAlias = Literal["ok", "not declared", "FAILED"]


@dataclass(frozen=True, slots=True)
class FunctionChecked:
    """What came of one function: ``why`` says what was wrong, or what it needs."""

    function: str
    found: Found
    why: str = ""


def lacking(
    function: str, needs: Sequence[str], declared: Iterable[str]
) -> FunctionChecked | None:
    """Return that a driver does not declare what a function needs; None if it does."""
    has = frozenset(declared)
    missing = [each for each in needs if each not in has]
    if not missing:
        return None
    return FunctionChecked(function, "not declared", ", ".join(missing))


def judged(
    function: str, holds: bool, wanted: str, errors: Sequence[str]
) -> FunctionChecked:
    """Return what came of a function that was tried."""
    if holds:
        return FunctionChecked(function, "ok")
    got = f"; it ended with {errors[0]}" if errors else ""
    return FunctionChecked(function, "FAILED", f"wanted: {wanted}{got}")
