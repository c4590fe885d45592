"""What a check writes for code hosts: SARIF 2.1.0, by what its schema requires."""

import json
from dataclasses import replace
from typing import Any

import pytest

from compat.migration.codes import CODES
from compat.report.migration_sarif import sarif_text
from compat.verdicts.migration import (
    DescribedDivergence,
    Difference,
    DocumentedChange,
    FailedSide,
    JudgedCase,
    Migration,
    Noise,
)

SENTENCES = {name: code.summary for name, code in CODES.items()}
HOLDS = Migration("same-effects", 12, "d" * 64, holds="identical", ordinary=12)
FOUND = DescribedDivergence(
    "ORDER",
    "warning",
    "the same things come in another order",
    Difference("requests", "[3].messages[0]", "a", "b"),
    "run 1, model call 1",
    places=(("old", "old.py:1, in before"), ("new", "a b/port.py:7, in before")),
)
DIVERGES = replace(HOLDS, holds=None, divergence=FOUND, diverging=3)
FAULT = replace(HOLDS, fault=FailedSide("new", "import", "it ended", usage=False))
NOISE = replace(HOLDS, noise=[Noise("new", "effects", "[*]", (1, 2))])


def case(verdict: Migration, *, met: bool = False) -> JudgedCase:
    return JudgedCase("limits", "port.py", "identical", "got", met, verdict)


def run_of(*cases: JudgedCase) -> Any:
    log = json.loads(sarif_text(cases, SENTENCES))
    check(log)
    [run] = log["runs"]
    return run


def check(log: Any) -> None:
    """Ask for what the published schema requires of each part that is there."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        rules = [each["id"] for each in driver["rules"]]
        assert len(set(rules)) == len(rules)
        for each in run["invocations"]:
            assert isinstance(each["executionSuccessful"], bool)
            for told in each.get("toolExecutionNotifications", ()):
                assert told["message"]["text"]
        for result in run["results"]:
            assert result["message"]["text"]
            assert result["ruleId"] in rules
            assert result["level"] in {"none", "note", "warning", "error"}
            for location in result.get("locations", ()):
                place = location["physicalLocation"]
                assert " " not in place["artifactLocation"]["uri"]
                assert place["region"]["startLine"] >= 1


def test_divergence_is_a_result_at_the_line_of_the_new_side() -> None:
    [result] = run_of(case(DIVERGES), case(HOLDS, met=True))["results"]

    assert (result["ruleId"], result["level"]) == ("ORDER", "warning")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/port.py"
    assert place["region"]["startLine"] == 7


def test_rule_says_what_its_code_says_of_the_new_side() -> None:
    [rule] = run_of(case(DIVERGES), case(DIVERGES))["tool"]["driver"]["rules"]

    assert rule["shortDescription"]["text"] == f"NEW: {SENTENCES['ORDER']}."


def test_result_names_versions_and_what_the_difference_may_be() -> None:
    known = DocumentedChange("p", "2.0", "It changes.", "https://example.org")
    verdict = replace(DIVERGES, versions={"p": ("1.0", "2.0")}, documented=[known])

    [result] = run_of(case(verdict))["results"]

    said = result["message"]["text"].splitlines()
    assert said[1:] == [
        "old → new: p 1.0 → 2.0",
        "may be: It changes. (p 2.0, https://example.org)",
    ]


@pytest.mark.parametrize("verdict", [FAULT, NOISE])
def test_case_without_a_verdict_is_no_result_and_no_success(verdict: Migration) -> None:
    run = run_of(case(verdict))

    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is False
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 1


def test_what_is_met_leaves_an_empty_run_that_succeeded() -> None:
    run = run_of(case(HOLDS, met=True))

    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_case_that_holds_but_should_not_has_a_rule_of_its_own() -> None:
    [result] = run_of(case(HOLDS))["results"]

    assert (result["ruleId"], result["level"]) == ("NOT_MET", "error")
    assert "locations" not in result


def test_finding_keeps_its_fingerprint_when_numbers_of_entries_move() -> None:
    moved = replace(FOUND, difference=Difference("requests", "[9].messages[4]", 1, 2))
    other = replace(FOUND, difference=Difference("requests", "[9].options", 1, 2))

    found = [
        run_of(case(replace(DIVERGES, divergence=each)))["results"][0]
        for each in (FOUND, moved, other)
    ]

    prints = [each["partialFingerprints"]["refengine/v1"] for each in found]
    assert prints[0] == prints[1] != prints[2]
