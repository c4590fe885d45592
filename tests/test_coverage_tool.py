"""``tools.coverage``: every clause but those of depth rests on thirty worlds at least.

The worlds are counted once, where CI judges our own doors: it reads that report.
"""

from typing import Any

from compat.verdicts.conformance import THIN
from tools.coverage import check, in_report


def report(**worlds: int) -> dict[str, Any]:
    results = [
        {"clause": clause.replace("_", "-"), "verdict": "pass", "worlds": count}
        for clause, count in worlds.items()
    ]
    absent = {"clause": "ERR-004", "verdict": "not-applicable", "worlds": 0}
    return {"engines": [{"results": [*results, absent]}]}


def test_a_clause_that_rests_on_fewer_worlds_is_told(capsys: Any) -> None:
    assert check(report(ORD_001=THIN - 1, ORD_002=THIN)) == 1

    told = capsys.readouterr().out
    assert "ORD-001: 29 worlds, 30 are asked for" in told
    assert "ORD-002: " not in told


def test_a_clause_of_depth_may_rest_on_one(capsys: Any) -> None:
    assert check(report(ORD_001=1_000, DEEP_001=1)) == 0

    assert capsys.readouterr().out.splitlines() == [
        "     1  DEEP-001",
        " 1,000  ORD-001",
    ]


def test_a_report_of_nothing_is_no_proof() -> None:
    assert check(report()) == 1


def test_a_clause_that_does_not_apply_is_not_counted() -> None:
    assert in_report(report(ORD_001=3)) == {"ORD-001": 3}
