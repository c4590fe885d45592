"""What ``refengine checkpoint show`` and ``verify`` do: read a file and print it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from compat.commands import DIFFERS, NOTHING_RAN, OK, told
from compat.report.terminal import console
from compat.state.contents import Contents, contents
from compat.state.json_form import listed, run_form, verified
from compat.state.lines import (
    fault_line,
    list_lines,
    part_lines,
    run_lines,
    verify_lines,
)
from refengine.state.store_errors import CheckpointNotFoundError, StoreError

MISTAKES = (OSError, StoreError, CheckpointNotFoundError)


def show(file: Path, key: str | None, *, as_json: bool) -> int:
    """Print the runs of a file, or one of them; return the exit code."""
    with told("checkpoint show", *MISTAKES):
        found = contents(file, key)
    one = found.runs[0] if key is not None and found.runs else None
    if as_json:
        _print_json(listed(found) if one is None else run_form(one))
        return _code(found)
    if one is None:
        _print(list_lines(found))
    elif one.part:
        _print(part_lines(one.key, one.part))
    elif one.saved is not None:
        _print(run_lines(one.key, one.saved, is_store=found.is_store))
    _print(map(fault_line, found.all_faults))
    return _code(found)


def verify(file: Path, key: str | None, *, as_json: bool) -> int:
    """Print what is wrong in a file, and how much was looked at; return the code."""
    with told("checkpoint verify", *MISTAKES):
        found = contents(file, key)
    if as_json:
        _print_json(verified(found))
    else:
        _print(verify_lines(found))
    return _code(found)


def _code(found: Contents) -> int:
    if found.all_faults:
        return DIFFERS
    return OK if found.runs else NOTHING_RAN


def _print(lines: Iterable[str]) -> None:
    out = console()
    for each in lines:
        out.print(each)


def _print_json(form: object) -> None:
    # ASCII: a lone surrogate in a text could not be written otherwise.
    _print([json.dumps(form, indent=2)])
