"""Which code of a folder is written to an older form, and what a port of it changes.

    legacy_scan(Path("app")).uses

The forms, and what is known to change on the way to the newer ones, stand in
``legacy.toml``, and for engines whose points are written down in ``points.toml``.
Sources are read alone; nothing is imported (seed 000 §1: what to look at first).
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from compat.migration.here import source_of, sources_in
from compat.migration.points import names_in, point_pairs
from compat.verdicts.legacy import KnownChange, LegacyForm, LegacyScan, LegacyUse
from refengine.testing.subject_worlds.source import PythonSource, modules_of

FILE: Final = "legacy.toml"


def legacy_scan(folder: Path) -> LegacyScan:
    """Read all sources of a folder, and say what is written to an older form."""
    unread: list[Path] = []
    uses: list[LegacyUse] = []
    count = 0
    for count, path in enumerate(sources_in(folder), 1):  # noqa: B007  # how many
        source, place = source_of(path), path.relative_to(folder)
        if source is None or source.tree is None:
            unread.append(place)
        else:
            uses += _uses(place, source)
    uses.sort(key=lambda use: (-len(use.changes), use.path, use.line))
    return LegacyScan(count, tuple(unread), tuple(uses))


def _is_imported(form: LegacyForm, source: PythonSource) -> bool:
    """Tell whether a source imports a module of a form, or something in one."""
    return any(
        module == each or module.startswith(f"{each}.")
        for module in modules_of(source.nodes)
        for each in form.modules
    )


def _uses(path: Path, source: PythonSource) -> Iterator[LegacyUse]:
    lines = _first_lines(source)
    for form in legacy_forms():
        at = _first(form.names, lines)
        if at is not None and _is_imported(form, source):
            concerned = [each for each in form.changes if _concerns(each, lines)]
            changes = tuple((each, _first(each.when, lines)) for each in concerned)
            yield LegacyUse(path, at, form, changes)


def _concerns(change: KnownChange, lines: Mapping[str, int]) -> bool:
    speaks = not change.when or not change.when.isdisjoint(lines)
    return speaks and change.unless.isdisjoint(lines)


def _first(names: Iterable[str], lines: Mapping[str, int]) -> int | None:
    return min((lines[name] for name in names if name in lines), default=None)


def _first_lines(source: PythonSource) -> Mapping[str, int]:
    """Return the names in a source, and where each stands first.

    An import counts only if the name stands nowhere else.
    """
    found: dict[str, int] = {}
    imports: dict[str, int] = {}
    for node in source.nodes:
        line: int = getattr(node, "lineno", 0)
        into = imports if isinstance(node, ast.alias) else found
        for name in names_in([node]) if line else ():
            into[name] = min(line, into.get(name, line))
    return {**imports, **found}


@cache
def legacy_forms() -> tuple[LegacyForm, ...]:
    """Return all forms that are known."""
    text = files("compat.migration").joinpath(FILE).read_text("utf-8")
    return tuple(_form(each) for each in tomllib.loads(text)["form"])


def _form(written: Mapping[str, Any]) -> LegacyForm:
    guide = str(written["guide"])
    changes = [
        KnownChange(
            each["says"], f"{guide}#{each['place']}", frozenset(each.get("when", ()))
        )
        for each in written.get("change", ())
    ]
    return LegacyForm(
        written["id"],
        written["says"],
        written["newer"],
        guide,
        frozenset(written["modules"]),
        frozenset(written["names"]),
        (*_points(written.get("points")), *changes),
    )


def _points(engine: str | None) -> Iterator[KnownChange]:
    """Yield the points in which an older engine differs from the newer one."""
    for pair in point_pairs():
        for point in pair.points if pair.old == engine else ():
            if point.side != "new":
                guide = f"{pair.guide}#what-bites"
                yield KnownChange(point.says, guide, point.when, point.unless)
