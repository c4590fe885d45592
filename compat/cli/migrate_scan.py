"""``refengine migrate scan``: what of a folder is legacy, the riskiest first."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from compat.cli.command import argument, command, option, refuse
from compat.cli.values import OUTPUT
from compat.report.plain_text import write_text
from compat.verdicts.exit_codes import NOTHING_RAN, OK

SCAN: Final = "migrate scan"


@command()
@argument("folder", "whose sources are read, with what is below it", required=False)
@option("--json", about="write it to this file for a machine", kind=OUTPUT)
def scan(*, folder: str | None, json: Path | None) -> int:
    """Find code that is written to an older form, and what a port of it changes.

    Sources are read alone, and nothing is imported or run. Each file comes with the
    guide of its migration and with what is known to behave otherwise afterwards; those
    with most of that come first.

    Exit codes: 0 shown, 2 a mistake in what was given, 4 there is no file of Python.
    """
    from compat.migration.legacy import legacy_scan
    from compat.report.legacy import legacy_json, legacy_lines
    from compat.report.migration_json import dump
    from compat.report.terminal import console

    root = Path(folder or ".")
    if not root.is_dir():
        refuse(SCAN, f"{root} is not a folder")
    found = legacy_scan(root)
    out = console()
    for line in legacy_lines(found):
        out.print(line)
    if json is not None:
        write_text(json, dump(legacy_json(found)))
    return OK if found.read_files else NOTHING_RAN
