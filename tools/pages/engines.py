"""The tables of docs/engines.md: what each engine keeps, and where engines differ.

    refengine conform ENGINE… --json REPORT
    python -m tools.pages engines REPORT…

writes them anew, from the reports of ``refengine conform``: for each kind of agent a
table of engines by families of clauses, and one of the postures in which the profiles
of those engines differ. An engine that is in several reports is that of the last; one
of the page that is in none keeps its row.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from compat.engines.importing import installed_engines
from compat.profiles.kinds import known_profile
from property_tests.dialects.dialects import dialect_of_family
from refengine.postures import options_of
from tools.pages.blocks import DOCS, END, begin, between, code, row, table

PAGE: Final = DOCS / "engines.md"
TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "": "Agents with hooks",
        "flow": "The Flow dialect",
        "stream-loop": "The stream loop",
        "callbacks": "Sessions and their callbacks",
    }
)
"""What agents of each dialect are called; "" is of none."""
NOTHING: Final = "—"
"""Stands where no clause of a family was judged, or no engine has a value."""


class NoReportsError(ValueError):
    """No report was given, or one in which no engine was judged."""

    def __init__(self, which: str) -> None:
        super().__init__(
            f"{which}: give reports that 'refengine conform ENGINE --json FILE' wrote"
        )


@dataclass(frozen=True, slots=True)
class EngineRow:
    """One engine: what it is, and how many clauses of each family came out how.

    ``families`` are in the order of the contract; ``counts`` are by family and word.
    """

    name: str
    version: str
    profile: str
    dialect: str
    families: tuple[str, ...]
    counts: Mapping[tuple[str, str], int]
    conformant: bool
    examples: str


def rows_of(report: Mapping[str, Any], where: str) -> list[EngineRow]:
    """Return the engines of a report; raises NoReportsError if it has none."""
    engines = report.get("engines")
    if not engines:
        raise NoReportsError(where)
    header = report["header"]
    family_of = {each["id"]: each["family"] for each in report["contract"]}
    families = tuple(dict.fromkeys(family_of.values()))
    drawn = header["worlds"] - header["fixed"] - header["recorded"]
    return [
        EngineRow(
            engine["engine"],
            header["versions"].get(engine["engine"], NOTHING),
            engine["profile"],
            dialect_of_family(families[0]),
            families,
            _counted(engine["results"], family_of),
            engine["conformant"],
            f"{drawn:,}",
        )
        for engine in engines
    ]


def _counted(
    results: Iterable[Mapping[str, Any]], family_of: Mapping[str, str]
) -> Mapping[tuple[str, str], int]:
    return Counter((family_of[each["clause"]], _word(each)) for each in results)


def _word(result: Mapping[str, Any]) -> str:
    """Return how a clause came out: kept, known, failed or not applicable."""
    if result["known"] == "known":
        return "known"
    verdicts = {"pass": "kept", "not-applicable": "absent"}
    return verdicts.get(result["verdict"], "failed")


def tables(rows: Sequence[EngineRow]) -> str:
    """Return all tables, a pair for each dialect that engines are of."""
    return "\n".join(
        _of_dialect(title, found)
        for dialect, title in TITLES.items()
        if (found := [each for each in rows if each.dialect == dialect])
    )


def _of_dialect(title: str, rows: Sequence[EngineRow]) -> str:
    lines = [f"## {title}\n", *_verdicts(rows), "", *_postures(rows)]
    return "\n".join(lines) + "\n"


def _verdicts(rows: Sequence[EngineRow]) -> Iterator[str]:
    families = [
        family
        for family in dict.fromkeys(name for row in rows for name in row.families)
        if any(row.counts.get((family, word)) for row in rows for word in _WORDS)
    ]
    head = ["engine", "version", "profile", "verdict", "drawn worlds", *families]
    yield from table(*head)
    for each in rows:
        verdict = "conformant" if each.conformant else "not conformant"
        cells = [_cell(each, family) for family in families]
        names = [code(each.name), each.version, code(each.profile)]
        yield row(*names, verdict, each.examples, *cells)


_WORDS: Final = ("kept", "known", "failed", "absent")
_WORD_OF: Final[Mapping[str | None, str]] = MappingProxyType(
    {None: "kept", "known": "known", "failed": "failed", "n/a": "absent"}
)
_COUNT: Final = re.compile(r"(\d+)(?: (known|failed|n/a))?")


def _cell(row: EngineRow, family: str) -> str:
    """Return how a family came out: 12, 1 known, **2 failed**, 3 n/a."""
    kept, known, failed, absent = (row.counts.get((family, w), 0) for w in _WORDS)
    said = [
        str(kept) if kept else "",
        f"{known} known" if known else "",
        f"**{failed} failed**" if failed else "",
        f"{absent} n/a" if absent else "",
    ]
    return ", ".join(filter(None, said)) or NOTHING


def _postures(rows: Sequence[EngineRow]) -> Iterator[str]:
    """Yield a row for each posture in which profiles of these engines differ."""
    profiles = {row.profile: known_profile(row.profile)[1] for row in rows}
    first = next(iter(profiles.values()))
    differing = [
        posture
        for posture in options_of(type(first))
        if len({getattr(each, posture) for each in profiles.values()}) > 1
    ]
    if not differing:
        yield "Their profiles differ in no posture."
        return
    yield from table("posture", *map(code, profiles))
    for posture in differing:
        options = [code(str(getattr(each, posture))) for each in profiles.values()]
        yield row(code(posture), *options)


def written(page: str, rows: Sequence[EngineRow]) -> str:
    """Return the page with the tables as these engines make them.

    An engine that the page has, and that none of these is, keeps its row as long as it
    is installed: who adds one need not judge all.
    """
    old = page.partition(begin("engines", "tools.pages"))[2].partition(END)[0]
    there = installed_engines()
    every = {each.name: each for each in shown_rows(old) if each.name in there}
    every |= {each.name: each for each in rows}
    return between(page, "engines", tables([*every.values()]))


def shown_rows(text: str) -> Iterator[EngineRow]:
    """Yield the engines of tables that stand in the page."""
    dialects = {title: dialect for dialect, title in TITLES.items()}
    dialect = ""
    families: tuple[str, ...] = ()
    for line in text.splitlines():
        cells = tuple(each.strip(" `") for each in line.strip("|").split("|"))
        if line.startswith("## "):
            dialect = dialects[line.removeprefix("## ")]
        elif cells[0] in {"engine", "posture"}:
            families = cells[5:] if cells[0] == "engine" else ()
        elif families and cells[0].strip("-"):
            yield _shown_row(cells, dialect, families)


def _shown_row(
    cells: Sequence[str], dialect: str, families: tuple[str, ...]
) -> EngineRow:
    name, version, profile, verdict, examples, *of_families = cells
    counts = {
        (family, _WORD_OF[found[2]]): int(found[1])
        for family, cell in zip(families, of_families, strict=True)
        for found in _COUNT.finditer(cell)
    }
    is_conformant = verdict == "conformant"
    return EngineRow(
        name, version, profile, dialect, families, counts, is_conformant, examples
    )


def read_rows(paths: Sequence[Path]) -> list[EngineRow]:
    """Return the engines of these reports, each once; raises NoReportsError."""
    if not paths:
        raise NoReportsError("no report")
    found: dict[str, EngineRow] = {}
    for path in paths:
        report = json.loads(path.read_text("utf-8"))
        found |= {each.name: each for each in rows_of(report, str(path))}
    return list(found.values())


def main(arguments: Sequence[str]) -> int:
    """Write the tables into their page."""
    try:
        rows = read_rows(list(map(Path, arguments)))
    except (NoReportsError, OSError, json.JSONDecodeError) as error:
        print(error, file=sys.stderr)  # noqa: T201  # a command says what is wrong
        return 2
    PAGE.write_text(written(PAGE.read_text("utf-8"), rows), "utf-8")
    return 0
