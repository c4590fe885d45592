"""``refengine checkpoint show|verify FILE``: runs that are kept in a file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from compat.cli.command import argument, group, refusing
from compat.cli.shared_options import AS_JSON
from compat.cli.values import PATH
from compat.verdicts.exit_codes import DIFFERS, NOTHING_RAN, OK

if TYPE_CHECKING:
    from compat.state.contents import Contents

app = group("Show the runs that are kept in a file, and verify that they are whole.")


@app.command()
@argument("file", "a SQLite store, or a file of records", PATH)
@argument("key", "the key of one run", required=False)
@AS_JSON
def show(file: Path, key: str | None, *, as_json: bool) -> int:
    """Show the runs of a file, or one of them: where it stands, what it waits for.

    Messages, values and payloads are shown as they are, secrets in them too. A value
    of a type that is not known here is shown by its name and its data; nothing is
    imported for it. Nothing in the file is changed.

    Exit codes: 0 shown, 1 a run cannot be read, 2 a mistake in what was given,
    4 nothing is kept in the file.
    """
    from compat.state.shown import (
        fault_line,
        list_lines,
        listed,
        part_lines,
        run_form,
        run_lines,
    )

    found = _read("show", file, key)
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


@app.command()
@argument("file", "a SQLite store, or a file of records", PATH)
@argument("key", "the key of one run", required=False)
@AS_JSON
def verify(file: Path, key: str | None, *, as_json: bool) -> int:
    """Verify each record of each run: its digest, what stands in it, and its place.

    Whether your own types accept their data is not tried: only your program knows them.
    The file is only read: nothing in it or beside it changes, even while others write
    to it.

    Exit codes: 0 all is whole, 1 something is not, 2 a mistake in what was given,
    4 nothing is kept in the file.
    """
    from compat.state.shown import verified, verify_lines

    found = _read("verify", file, key)
    if as_json:
        _print_json(verified(found))
    else:
        _print(verify_lines(found))
    return _code(found)


def _read(name: str, file: Path, key: str | None) -> Contents:
    from compat.state.contents import contents
    from refengine.state.store_errors import CheckpointNotFoundError, StoreError

    mistakes = (OSError, StoreError, CheckpointNotFoundError)
    with refusing(f"checkpoint {name}", *mistakes):
        return contents(file, key)


def _code(found: Contents) -> int:
    if found.all_faults:
        return DIFFERS
    return OK if found.runs else NOTHING_RAN


def _print(lines: Iterable[str]) -> None:
    from compat.report.terminal import console

    out = console()
    for each in lines:
        out.print(each)


def _print_json(form: object) -> None:
    # ASCII: a lone surrogate in a text could not be written otherwise.
    _print([json.dumps(form, indent=2)])
