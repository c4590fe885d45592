"""What was asked for by options of pytest, checked where it is read."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from property_tests.defaults import EXAMPLES, SEED
from property_tests.engine_judging import UnusableEngineError
from property_tests.known import KnownFailuresError
from property_tests.pool import EngineLostError
from property_tests.registry import Clause, UnknownSelectorError, contract
from property_tests.running import Asked
from refengine.errors import UnknownProfileError
from refengine.profile import profile

MISTAKES: Final = (
    KnownFailuresError,
    OSError,
    UnknownProfileError,
    UnknownSelectorError,
    UnusableEngineError,
    EngineLostError,
)


@contextmanager
def mistakes() -> Generator[None, None, None]:
    """Tell a user's mistake as pytest tells one."""
    try:
        yield
    except OSError as error:
        _refuse(f"{error.filename}: {error.strerror}")
    except MISTAKES as error:
        _refuse(str(error))


def asked_for(given: Mapping[str, Any]) -> Asked:
    """Return what the options ask for, by their destinations; raises UsageError.

    Also raises UnknownSelectorError and UnknownProfileError.
    """
    examples, seed = (given[f"refengine_engine_{n}"] for n in ("examples", "seed"))
    if examples is not None and examples < 0:
        _refuse(f"--engine-examples is {examples}: give 0 or more")
    under = given["refengine_engine_profile"]
    known = given["refengine_engine_known"]
    return Asked(
        engines=_engines(given["refengine_engine"] or ()),
        profile=None if under is None else profile(under).name,
        clauses=_clauses(given["refengine_engine_clause"] or ()),
        examples=EXAMPLES if examples is None else examples,
        seed=SEED if seed is None else seed,
        known=None if known is None else Path(known),
    )


def _engines(names: Sequence[str]) -> tuple[str, ...]:
    if not names or not all(names):
        _refuse("no engine is named: --engine NAME")
    for at, each in enumerate(names):
        if each in names[:at]:
            _refuse(f"{each!r} is named twice")
    return tuple(names)


def _clauses(ids: Sequence[str]) -> tuple[Clause, ...]:
    """Return the chosen clauses, all if none is; one that nothing checks is refused."""
    found = contract().select(ids=ids)
    for each in found if ids else ():
        if each.status != "checked":
            _refuse(f"{each.id} is {each.status}, so no check decides it: {each.why}")
    return found


def _refuse(why: str) -> NoReturn:
    raise pytest.UsageError(f"--engine: {why}")
