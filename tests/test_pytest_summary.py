"""What pytest's summary says of engines that were judged, from the reports of tests."""

from dataclasses import replace

import pytest

from compat.verdicts.conformance import ClauseResult
from property_tests.judging.inputs import ConformRequest
from property_tests.pytest_summary import (
    ToldTest,
    line_of,
    summary_lines,
    tell,
    told_by,
)

ASKED = ConformRequest(engines=("mine",))
OURS = "property_tests/test_contract.py::test_clause[mine-ORD-001]"


def report(properties, outcome="passed", when="call", nodeid=OURS):
    """Return the report of a test as pytest makes one."""
    return pytest.TestReport(
        nodeid, ("", None, ""), {}, outcome, None, when, user_properties=properties
    )


def result(verdict, known=""):
    return ClauseResult(
        engine="mine", clause="ORD-001", level="MUST", verdict=verdict, known=known
    )


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (result("pass"), "pass"),
        (result("blocked"), "blocked"),
        (result("fail", "known"), "known"),
        (result("pass", "stale"), "stale"),
        (None, "error"),
    ],
)
def test_what_a_test_leaves_of_its_clause_is_read_again(found, verdict) -> None:
    left = []

    tell(lambda *each: left.append(each), "mine", "ORD-001", found)

    assert told_by([report(left)]) == [ToldTest("mine", "ORD-001", verdict)]


def test_a_door_is_told_by_the_outcome_of_its_test() -> None:
    left = [("engine", "mine")]

    assert told_by([report(left)]) == [ToldTest("mine", "", "pass")]
    assert told_by([report(left, "failed")]) == [ToldTest("mine", "", "error")]


def test_reports_of_other_tests_and_of_fixtures_say_nothing() -> None:
    left = [("engine", "mine"), ("clause", "ORD-001"), ("verdict", "pass")]

    found = [report(left, nodeid="tests/test_a.py::test_a"), report([])]

    assert told_by([*found, report(left, when="setup")]) == []


def test_each_kind_is_counted_and_named() -> None:
    told = [
        ToldTest("mine", "", "pass"),
        *(ToldTest("mine", f"ORD-00{n}", "pass") for n in (1, 2)),
        ToldTest("mine", "ORD-003", "fail"),
        ToldTest("mine", "ORD-004", "blocked"),
        ToldTest("mine", "ORD-005", "known"),
        ToldTest("mine", "ORD-006", "not-applicable"),
    ]

    assert [*summary_lines(told, ASKED)] == [
        ("NOT KEPT  mine: 2 of 6 clauses are not kept", True),
        ("     2 kept", False),
        ("     1 failed: ORD-003", True),
        ("     1 blocked: ORD-004", True),
        ("     1 known to fail: ORD-005", False),
        ("     1 not applicable: ORD-006", False),
        ("", False),
        ("each clause by engine: refengine conform mine --html page.html", False),
        ("what a clause says: refengine clause explain ORD-003", False),
    ]


def test_engines_are_told_apart_and_long_lists_are_cut() -> None:
    told = [
        *(ToldTest("a", f"ORD-00{n}", "known") for n in range(1, 10)),
        ToldTest("b", "ORD-001", "pass"),
        ToldTest("b", "", "error"),
    ]
    both = replace(ASKED, engines=("a", "b"))

    found = [text for text, _ in summary_lines(told, both)]

    ids = "ORD-001, ORD-002, ORD-003, ORD-004, ORD-005, ORD-006"
    assert found[:4] == [
        "KEPT  a: 9 clauses asked",
        f"     9 known to fail: {ids}, and 3 more",
        "CANNOT BE RELIED ON  b: test_door tells why",
        "     1 kept",
    ]


def test_the_command_to_read_on_judges_the_same() -> None:
    asked = replace(ASKED, profile="adk-py-2", examples=3, seed=7)

    assert line_of(asked, ("ORD", "RD-001")) == (
        "refengine conform mine --clause ORD --clause RD-001"
        " --engine-profile adk-py-2 --examples 3 --seed 7"
    )
