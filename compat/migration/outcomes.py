"""The exit code of a migration check, from the one table (verdicts, Exit codes)."""

from __future__ import annotations

from compat.commands import (
    DIFFERS,
    FAULT,
    NOT_COMPARABLE,
    NOTHING_RAN,
    STALE,
    USAGE,
    exit_code,
)
from compat.verdicts.migration import Migration


def code_of(verdict: Migration) -> int:
    """Return the code that wins for this verdict."""
    if verdict.fault is not None:
        return USAGE if verdict.fault.usage else FAULT
    codes: list[int] = []
    if verdict.noise:
        codes.append(NOT_COMPARABLE)
    elif not verdict.sufficient:
        codes.append(DIFFERS)
    if verdict.idle:
        codes.append(NOTHING_RAN)
    if verdict.broken:
        codes.append(DIFFERS)
    if verdict.stale:
        codes.append(STALE)
    return exit_code(*codes)
