"""``refengine migrate scan``: what of a folder is legacy, the riskiest first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from compat.cli.command import argument, command, option, refuse
from compat.cli.migrate_files import relative_to_job
from compat.cli.values import OUTPUT
from compat.report.plain_text import write_text
from compat.verdicts.exit_codes import NOTHING_RAN, OK

SCAN: Final = "migrate scan"
WIDE: Final = 100
"""So long is a line of a sentence at most."""


@command()
@argument("folder", "whose sources are read, with what is below it", required=False)
@option("--json", about="write it to this file for a machine", kind=OUTPUT)
@option("--html", about="write it as a page", kind=OUTPUT)
@option("--sarif", about="write it for a code host, a note a line", kind=OUTPUT)
def scan(
    *, folder: str | None, json: Path | None, html: Path | None, sarif: Path | None
) -> int:
    """Find code that is written to an older form, and what a port of it changes.

    Sources are read alone, and nothing is imported or run. The files with most known
    changes come first; each change is shown with the row of the guide that covers it,
    and with the lines that it concerns.

    Exit codes: 0 shown, 2 a mistake in what was given, 4 there is no file of Python.
    """
    from compat.migration.legacy import legacy_scan
    from compat.report.legacy import (
        legacy_json,
        legacy_lines,
        legacy_page,
        legacy_sarif,
    )
    from compat.report.migration_json import dump
    from compat.report.terminal import console

    root = Path(folder or ".")
    if not root.is_dir():
        refuse(SCAN, f"{root} is not a folder")
    found = legacy_scan(root)
    out = console()
    for line in legacy_lines(found, root, min(out.width, WIDE)):
        out.print(line)
    wanted: tuple[tuple[Path | None, Callable[[], str]], ...] = (
        (json, lambda: dump(legacy_json(found))),
        (html, lambda: legacy_page(found, root)),
        (sarif, lambda: legacy_sarif(found, relative_to_job(root))),
    )
    for path, text in wanted:
        if path is not None:
            write_text(path, text())
    return OK if found.read_files else NOTHING_RAN
