"""What a check writes for code hosts: SARIF 2.1.0, by what its schema requires."""

import json
from dataclasses import replace
from pathlib import Path
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
from tests.commands import refengine

SUBJECT = """
from refengine import AgentMiddleware

def subject(world):
    def ask(ctx, state):
        world.effect("asked", "{text}")

    return [AgentMiddleware(before_chat_model=ask)]
"""
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
                assert place.get("region", {"startLine": 1})["startLine"] >= 1


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


def test_file_is_named_from_the_checkout_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever folder the command runs in, and the new side stands in."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    for place, text in (("pieces/old.py", "Be kind."), ("pieces/new.py", "Be brief.")):
        path = tmp_path / "top" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SUBJECT.format(text=text), "utf-8")
    settings = 'old = "old.py"\n[cases."new.py"]\nholds = "identical"\n'
    (tmp_path / "top/pieces/migration.toml").write_text(settings, "utf-8")
    more = ("--examples", "1", "--search-plays", "0", "--sharpness-plays", "0")

    for line in (("--all", "."), ("pieces/old.py", "pieces/new.py")):
        asked = ("migrate", "check", *line, *more, "--sarif", "found.sarif")
        done = refengine(*asked, at=tmp_path / "top")

        assert (done.returncode, done.stderr) == (1, "")
        log = json.loads((tmp_path / "top/found.sarif").read_text("utf-8"))
        check(log)
        [result] = log["runs"][0]["results"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "top/pieces/new.py"
