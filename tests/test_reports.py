"""Reports, each as a whole, as it was once reviewed: what changes in one shows here.

After a change that is meant, write the files anew and read what changed in them:

    python -m tests.test_reports
"""

import io
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from compat.report.conform_files import json_text
from compat.report.conform_for_ci import junit_text, markdown_text
from compat.report.conform_gathered import gather
from compat.report.conform_terminal import Terminal
from compat.report.cost_files import markdown_text as cost_markdown
from compat.report.cost_terminal import compared_lines, lines
from compat.verdicts.cost import ComparedRow, Estimate
from tests.conform_sample import CRASH, DOOR, clause, events, many, result
from tests.cost_sample import COSTS, EMPTY

GOLDEN = Path(__file__).parent / "golden" / "reports"

KNOWN = {"known_reason": "fixed in 1.3", "known_issue": "https://issues.example/1"}
BROKEN = "KeyError in /srv/someone/x.py"
FAILING = events(result("ORD-001", "fail"), result("ORD-002"), code=1)
KEEPING = events(result("ORD-001"))


def of_every_kind() -> list[Any]:
    """Return a judgement in which something of every kind comes, and a note."""
    found = events(
        result("ORD-001"),
        result("ORD-002", thin=True, worlds=7),
        result("ORD-003", "fail", level="MAY"),
        result("ORD-004", "fail", level="SHOULD"),
        result("ERR-001", "fail"),
        result("ERR-002", "blocked", reason="ERR-001 failed", blocked_by="ERR-001"),
        result("ERR-003", "error", reason=BROKEN),
        result("ERR-004", "not-applicable", reason="no structs"),
        result("ERR-005", "fail", known="known", **KNOWN),
        result("ERR-006", known="stale", **KNOWN),
        clauses=[clause("INT-001", status="planned", why="later")],
        info={"absent": ("streaming",), "undeclared": ("structs",)},
        told={"expected": 12, "never": ("EVT-002", "EVT-003"), "refused": 2},
        smokes=[DOOR],
        faults=[CRASH],
        code=1,
    )
    told = ("generated worlds were not run",)
    return [found[0].model_copy(update={"told": told}), *found[1:]]


def at_terminal(found: Iterable[Any]) -> str:
    out = io.StringIO()
    with Terminal(Console(file=out, width=80)) as terminal:
        for each in found:
            terminal.take(each)
    return out.getvalue()


def printed(found: Iterable[RenderableType], width: int = 100) -> str:
    out = io.StringIO()
    for each in found:
        Console(width=width, file=out).print(each, highlight=False)
    return out.getvalue()


def cost_at(width: int) -> str:
    return printed(lines(COSTS), width)


def compared() -> str:
    """Return how two benchmarks compare, with a row of each kind."""

    def row(verdict: Any, change: float | None = None, **given: Any) -> ComparedRow:
        about = change and Estimate(value=change, low=change - 0.1, high=change + 0.1)
        named = {"key": "k", "name": "wrap", "floor": "bare Python", **given}
        return ComparedRow(verdict=verdict, change=about or None, **named)

    rows = [
        row("fail", 1.5),
        row("pass", 1.01),
        row("not distinguishable", 1.5),
        row("not shown", why="not in the second report"),
    ]
    return printed(compared_lines(rows, 1.2)) + printed(compared_lines([], 1.2))


KINDS: dict[str, Callable[[list[Any]], str]] = {
    "txt": at_terminal,
    "md": lambda found: markdown_text(gather(found)),
    "xml": lambda found: junit_text(gather(found)),
    "json": lambda found: json_text(gather(found)),
}
REPORTS: dict[str, Callable[[], str]] = {
    **{
        f"conform.{kind}": partial(told, of_every_kind())
        for kind, told in KINDS.items()
    },
    **{
        f"conform-failing.{kind}": partial(told, FAILING)
        for kind, told in KINDS.items()
    },
    "conform-keeping.txt": partial(at_terminal, KEEPING),
    "conform-keeping.md": partial(KINDS["md"], KEEPING),
    "conform-two-engines.txt": partial(at_terminal, many(["reference", "swift"], 12)),
    "cost-compared.txt": compared,
    "cost-empty.txt": lambda: printed(lines(EMPTY)),
    "cost.md": lambda: cost_markdown(COSTS),
    **{f"cost-{at}.txt": partial(cost_at, at) for at in (40, 80, 100)},
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_what_was_reviewed(name: str) -> None:
    assert REPORTS[name]() == (GOLDEN / name).read_text("utf-8")


def test_each_file_is_one_of_the_reports() -> None:
    assert {each.name for each in GOLDEN.iterdir()} == {*REPORTS}


def main() -> None:
    """Write what was reviewed anew."""
    for each in GOLDEN.glob("*"):
        each.unlink()
    for name, report in REPORTS.items():
        (GOLDEN / name).write_text(report(), "utf-8")


if __name__ == "__main__":
    main()
