"""A folder of migrations, a line a case, for a person and for a machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from compat.report.conform_text import counted
from compat.report.migration import lines
from compat.report.migration_json import to_json
from compat.verdicts.migration import JudgedCase


def case_line(case: JudgedCase) -> Text:
    """Return the line of one case."""
    line = Text(
        "met     " if case.met else "NOT MET ", "green" if case.met else "bold red"
    )
    line.append(f"{case.piece}/{case.case}  ", "default")
    if case.met:
        line.append(case.got, "dim")
    else:
        line.append(f"{case.got}, expected {case.expected}", "red")
    return line


def folder_lines(
    cases: Sequence[JudgedCase], *, reports: bool = False
) -> Iterator[Text]:
    """Yield the reports of the cases that are not met, or of all, and the counts."""
    for case in cases:
        if reports or not case.met:
            yield Text(f"\n{case.piece}/{case.case}, expected {case.expected}:", "bold")
            yield from lines(case.verdict)
    met = sum(case.met for case in cases)
    yield Text(f"\n{counted(len(cases), 'case')}, {met} met")
    found = {k: v for case in cases for k, v in case.verdict.frameworks.items()}
    if found:
        names = ", ".join(f"{name} {version}" for name, version in found.items())
        yield Text(f"built with {names}")


def folder_json(cases: Sequence[JudgedCase]) -> dict[str, Any]:
    """Return the summary: ``cases`` and ``met`` are counts."""
    return {
        "cases": len(cases),
        "met": sum(case.met for case in cases),
        "each": [
            {
                "piece": case.piece,
                "case": case.case,
                "expected": case.expected,
                "got": case.got,
                "met": case.met,
                **to_json(case.verdict),
            }
            for case in cases
        ],
    }
