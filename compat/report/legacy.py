"""What a folder has of older forms: for a person, and for a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Final

from rich.text import Text

from compat.report.conform_text import counted
from compat.verdicts.legacy import LegacyScan, LegacyUse

WIDE: Final = 80


def legacy_lines(scan: LegacyScan) -> Iterator[Text]:
    """Yield each file with what a port of it changes, and what to do next."""
    files = counted(scan.read_files, "file")
    if not scan.uses:
        yield Text(f"No older form that is known stands in {files} of Python.")
    else:
        of = len({use.path for use in scan.uses})
        yield Text(
            f"An older form stands in {of} of {files}; most known changes first."
        )
    for use in scan.uses:
        yield from _use(use)
    for path in scan.unread:
        yield Text(f"not read: {path} is not Python that parses", "yellow")
    if scan.uses:
        yield Text()
        yield Text("Next: a subject(world) for both forms, then")
        yield Text("  refengine migrate check OLD NEW")


def _use(use: LegacyUse) -> Iterator[Text]:
    changes = counted(len(use.changes), "known change")
    yield Text()
    yield Text.assemble((f"{use.path}:{use.line}", "bold"), f"  {changes}")
    yield Text(f"  {use.form.says} → {use.form.newer}")
    yield Text(f"  {use.form.guide}", "dim")
    for change, line in use.changes:
        at = "" if line is None else f"line {line}: "
        first, *more = wrap(f"{at}{change.says}", WIDE - 6)
        yield Text(f"    - {first}")
        yield from (Text(f"      {each}") for each in more)


def legacy_json(scan: LegacyScan) -> Mapping[str, object]:
    """Return the same as JSON values."""
    return {
        "files": scan.read_files,
        "unread": [str(each) for each in scan.unread],
        "uses": [
            {
                "path": str(use.path),
                "line": use.line,
                "form": use.form.id,
                "newer": use.form.newer,
                "guide": use.form.guide,
                "changes": [
                    {"says": change.says, "line": line, "guide": change.guide}
                    for change, line in use.changes
                ],
            }
            for use in scan.uses
        ],
    }
