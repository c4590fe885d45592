"""What a folder has of older forms: for a person, as a page, and for machines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from rich.text import Text

from compat.report.conform_text import counted
from compat.report.migration_sarif import KEY, location, log_text
from compat.report.pages import page
from compat.report.plain_text import plain
from compat.verdicts.legacy import KnownChange, LegacyScan, LegacyUse

NEXT: Final = "refengine migrate check OLD NEW"
SHOWN: Final = 6
"""So many places of one change are shown in a terminal."""


@dataclass(frozen=True, slots=True)
class PlacedChange:
    """A known change, and the places of a folder that it concerns."""

    change: KnownChange
    forms: tuple[str, ...]
    places: tuple[str, ...]


def legacy_lines(scan: LegacyScan, root: Path, width: int) -> Iterator[Text]:
    """Yield a table of files, what a port changes and where, and what to do next."""
    files = counted(scan.read_files, "file")
    if not scan.uses:
        yield Text(f"No older form that is known stands in {files} of Python.")
    else:
        of = len({use.path for use in scan.uses})
        yield Text(
            f"An older form stands in {of} of {files}; most known changes first."
        )
        yield Text()
        yield from _table(scan, root)
        yield Text()
        forms = {use.form.id: use.form for use in scan.uses}.values()
        yield from (Text(f"  {e.says} → {e.newer}: {e.guide}", "dim") for e in forms)
        yield Text("\nWhat is known to change on the way, and where:", "bold")
    for each in placed(scan, root):
        yield from _change(each, width)
    for path in scan.unread:
        yield Text(f"not read: {path} is not Python that parses", "yellow")
    if scan.uses:
        yield Text("\nNext: a subject(world) for both forms of the first one, then")
        yield Text(f"  {NEXT}")


def _table(scan: LegacyScan, root: Path) -> Iterator[Text]:
    rows = [_row(use, root) for use in scan.uses]
    wide = max(len(place) for place, _, _ in rows)
    yield Text(f"  changes  {'file':{wide}}  form", "dim")
    for place, many, form in rows:
        yield Text.assemble(f"  {many:>7}  ", (f"{place:{wide}}", "bold"), f"  {form}")


def _row(use: LegacyUse, root: Path) -> tuple[str, int, str]:
    place = f"{plain(str(root / use.path))}:{use.line}"
    return place, len(use.changes), use.form.says


def _change(each: PlacedChange, width: int) -> Iterator[Text]:
    said = wrap(f"{each.change.says}.", max(width - 4, 40))
    yield Text()
    yield from (Text(f"  {line}") for line in said)
    yield Text(f"    {each.change.guide}", "dim")
    more = len(each.places) - SHOWN
    yield from (Text(f"    {place}") for place in each.places[:SHOWN])
    if more > 0:
        yield Text(f"    and {counted(more, 'more place')}")


def placed(scan: LegacyScan, root: Path) -> list[PlacedChange]:
    """Return each known change with its places, those of most places first."""
    places: dict[KnownChange, list[str]] = {}
    forms: dict[KnownChange, dict[str, None]] = {}
    for use in scan.uses:
        for change, line in use.changes:
            at = plain(str(root / use.path))
            places.setdefault(change, []).append(f"{at}:{line or use.line}")
            forms.setdefault(change, {})[use.form.says] = None
    found = [PlacedChange(k, (*forms[k],), (*each,)) for k, each in places.items()]
    return sorted(found, key=lambda each: -len(each.places))


def legacy_page(scan: LegacyScan, root: Path) -> str:
    """Return the text of a page that needs nothing beside it."""
    of = len({use.path for use in scan.uses})
    return page(
        "legacy",
        count=f"{of} of {counted(scan.read_files, 'file')} in an older form",
        rows=[(*_row(use, root), use.form) for use in scan.uses],
        changes=placed(scan, root),
        unread=[plain(str(each)) for each in scan.unread],
        following=NEXT,
    )


def legacy_sarif(scan: LegacyScan, root: str) -> str:
    """Return the text of a SARIF file: a note for each change at its line.

    ``root`` is the folder as a code host names it.
    """
    found = [
        (_rule_of(use, change), change, (Path(root) / use.path).as_posix(), line, use)
        for use in scan.uses
        for change, line in use.changes
    ]
    rules = {rule: change.says for rule, change, *_ in found}
    results = [
        {
            "ruleId": rule,
            "level": "note",
            "message": {"text": f"{use.form.says}: {change.says} ({change.guide})"},
            "locations": [location(file, line or use.line)],
            "partialFingerprints": {KEY: _fingerprint(rule, file)},
        }
        for rule, change, file, line, use in found
    ]
    return log_text(rules, results, {"executionSuccessful": not scan.unread})


def _rule_of(use: LegacyUse, change: KnownChange) -> str:
    said = hashlib.sha256(change.says.encode()).hexdigest()[:8]
    return f"{use.form.id}/{said}"


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def legacy_json(scan: LegacyScan) -> Mapping[str, Any]:
    """Return the same as JSON values."""
    return {
        "files": scan.read_files,
        "unread": [str(each) for each in scan.unread],
        "uses": [_use_json(use) for use in scan.uses],
    }


def _use_json(use: LegacyUse) -> Mapping[str, Any]:
    changes: Sequence[Mapping[str, Any]] = [
        {"says": change.says, "line": line, "guide": change.guide}
        for change, line in use.changes
    ]
    return {
        "path": str(use.path),
        "line": use.line,
        "form": use.form.id,
        "newer": use.form.newer,
        "guide": use.form.guide,
        "changes": changes,
    }
