"""Counts of a judgement: the same in its head, cards, tables and texts, in each report.

The judgement has a clause of every kind: kept, thin, failing, behind another, blocked,
in error, not applicable, known and stale.
"""

import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from compat.report.conform_files import json_text
from compat.report.conform_for_ci import junit_text, markdown_text
from compat.report.conform_gathered import (
    COLUMNS,
    LEVELS,
    JudgementReport,
    counts,
    gather,
    groups,
)
from compat.report.conform_page import page_text
from compat.report.conform_terminal import Terminal
from compat.verdicts.conformance import LikelyCause
from tests.conform_sample import clause, events, header, result

KNOWN = {"known_reason": "later", "known_issue": "https://issues.example/1"}
RESULTS = (
    result("ORD-001"),
    result("ORD-002", thin=True, worlds=7),
    result("ORD-003", "fail"),
    result("ORD-004", "fail", level="SHOULD"),
    result("ERR-001", "fail"),
    result("ERR-002", "blocked", reason="not so far", blocked_by="ERR-001"),
    result("ERR-003", "error", reason="KeyError: 'x'"),
    result("ERR-004", "not-applicable", reason="no structs"),
    result("ERR-005", "fail", known="known", **KNOWN),
    result("ERR-006", "blocked", known="known", **KNOWN),
    result("ERR-007", known="stale", **KNOWN),
)
CAUSE = LikelyCause(clause="ERR-001", sign="error of event error", behind=("ERR-002",))
EXPECTED = {
    "pass": 3,
    "fail": 3,
    "not-applicable": 1,
    "blocked": 1,
    "error": 1,
    "known": 2,
}


@pytest.fixture(scope="module")
def found() -> list[Any]:
    planned = clause("INT-001", status="planned", why="later")
    told = {"causes": (CAUSE,), "never": ("ERR-002", "ERR-006")}
    made = events(*RESULTS, clauses=[planned], told=told, code=1)
    first = header(
        [clause(each.clause) for each in RESULTS] + [planned], ["swift"]
    ).model_copy(
        update={
            "excluded": {"DEEP": 8},
            "recorded": 20,
            "selected": (*(each.clause for each in RESULTS), "INT-001"),
        }
    )
    return [first, *made[1:]]


@pytest.fixture(scope="module")
def judgement(found: list[Any]) -> JudgementReport:
    return gather(found)


@pytest.fixture(scope="module")
def terminal(found: list[Any]) -> str:
    out = io.StringIO()
    with Terminal(Console(file=out)) as shown:
        for each in found:
            shown.take(each)
    return out.getvalue()


@pytest.fixture(scope="module")
def page(judgement: JudgementReport) -> str:
    return page_text(judgement)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_every_clause_counts_as_one_thing(judgement: JudgementReport) -> None:
    [engine] = judgement.engines
    by_level = [counts(engine.results, level) for level in LEVELS]
    together: Counter[str] = Counter()
    for each in by_level:
        together.update(each)

    assert dict(together) == EXPECTED
    assert sum(EXPECTED.values()) == engine.summary.checked == len(RESULTS)


def test_terminal(terminal: str) -> None:
    rows = re.findall(r"^  (?:MUST|SHOULD|MAY) +(\d[\d ]+)$", terminal, re.MULTILINE)
    sums = [sum(map(int, of)) for of in zip(*map(str.split, rows), strict=True)]
    text = flat(terminal)

    assert dict(zip(COLUMNS, sums, strict=True)) == EXPECTED
    assert terminal.count("\nFAIL  ") + terminal.count("    fail     ") == 3
    assert terminal.count("\nBLOCKED  ") + terminal.count("    blocked  ") == 1
    assert terminal.count("\nknown   ") == 2
    assert terminal.count("\nSTALE   ") == 1
    assert (
        "10 of 12 clauses judged, 1 not applicable, 2 known failures, 1 stale" in text
    )
    assert "12 clauses of contract 0.1" in text
    assert "(180 fixed, 20 recorded, 300 generated from seed 7)" in text
    assert "thin: 1 clause passes in fewer than 30 worlds: ORD-002 (7)" in text
    assert "excluded: DEEP (8 clauses)" in text


def test_json(judgement: JudgementReport) -> None:
    [engine] = json.loads(json_text(judgement))["engines"]
    verdicts = Counter(
        each["verdict"] for each in engine["results"] if each["known"] != "known"
    )

    assert {**engine["verdicts"], "known": engine["known"]} == EXPECTED
    assert dict(verdicts) == {k: n for k, n in EXPECTED.items() if k != "known"}
    assert (engine["checked"], engine["stale"], engine["thin"]) == (11, 1, ["ORD-002"])


def test_junit(judgement: JudgementReport) -> None:
    root = ET.fromstring(junit_text(judgement))  # noqa: S314  # our own text
    [suite] = root
    of: Mapping[str, str] = {
        each.get("name", ""): each.get("value", "") for each in suite.iter("property")
    }
    sizes = {
        name: int(suite.get(name, "")) for name in ("failures", "errors", "skipped")
    }

    assert {name: int(of[f"clauses {name}"]) for name in COLUMNS} == EXPECTED
    assert int(suite.get("tests", "")) == sum(EXPECTED.values())
    assert sizes["failures"] == EXPECTED["fail"] + EXPECTED["blocked"] + 1  # stale
    assert sizes["errors"] == EXPECTED["error"]
    assert sizes["skipped"] == EXPECTED["not-applicable"] + EXPECTED["known"]
    assert (
        of["judged"]
        == "10 of 12 clauses judged, 1 not applicable, 2 known failures, 1 stale"
    )
    assert of["likely cause 1"] == "ERR-001 and 1 behind it: error of event error"
    [thin] = suite.iter("system-out")
    assert thin.text == "thin: it passes in 7 worlds, fewer than 30"


def test_markdown(judgement: JudgementReport) -> None:
    text = markdown_text(judgement)
    [row] = [each for each in text.splitlines() if each.startswith("| swift")]
    cells = [int(each) for each in row.split("|")[4:-1]]

    assert dict(zip(COLUMNS, cells, strict=False)) == EXPECTED
    assert cells[len(COLUMNS) :] == [1, 1, 2, 0]  # stale, thin, never reached, recorded
    assert text.startswith("## Conformance\n\n11 of 12 clauses checked, contract 0.1")
    failing = re.findall(
        r"^- \*\*(\w+-\d+)\*\* \w+, (fail|blocked|error)", text, re.MULTILINE
    )
    behind = re.findall(r"likely behind it: (.*)", text)
    assert len(failing) + len(behind) == 5
    assert behind == ["ERR-002 MUST, blocked"]


def test_page(page: str) -> None:
    card = page[page.index('<section class="engine') : page.index("</section>")]
    rows = re.findall(r"<tr><th>(?:MUST|SHOULD|MAY)</th>(.*?)</tr>", card)
    numbers = [map(int, re.findall(r">(\d+)<", each)) for each in rows]
    sums = [sum(of) for of in zip(*numbers, strict=True)]
    cells = Counter(re.findall(r'class="cell ([\w-]+)"', page))
    of_families = re.findall(r'<span class="quiet">(\d+) clauses?', page)

    assert dict(zip(COLUMNS, sums, strict=True)) == EXPECTED
    assert cells["pass"] + cells["thin"] + cells["stale"] == EXPECTED["pass"]
    assert cells["fail"] + cells["soft"] == EXPECTED["fail"]
    for each in ("blocked", "error", "not-applicable", "known"):
        assert cells[each] == EXPECTED[each]
    assert sum(map(int, of_families)) == len(RESULTS)
    assert "<dd>11 of 12 clauses</dd>" in page
    text = re.sub(r"<[^>]+>", "", card)
    assert (
        "10 of 12 clauses judged, 1 not applicable, 2 known failures, 1 stale" in text
    )
    listed = re.findall(r'href="#([A-Z]+-\d+)-1">', card)
    assert sorted(listed) == ["ERR-001", "ERR-002", "ERR-003", "ORD-003", "ORD-004"]


def test_what_is_behind_a_cause_is_listed_once(judgement: JudgementReport) -> None:
    [engine] = judgement.engines
    found = groups(engine)
    named = [e.clause for g in found for e in (g.first, *g.behind)]

    assert [each.first.clause for each in found] == [
        "ERR-001",
        "ORD-003",
        "ERR-003",
        "ORD-004",
    ]
    assert sorted(named) == sorted(each.clause for each in engine.failing)


def test_avalanche_names_its_likely_cause_first(terminal: str) -> None:
    guess = terminal.index("Likely causes (a guess")
    named = terminal.index("  ERR-001 and 1 behind it: error of event error")

    assert guess < named < terminal.index("\nFAIL  ERR-001") < terminal.index("ORD-003")
    assert "    blocked  ERR-002  MUST" in terminal
    assert "\nBLOCKED" not in terminal


def test_blocked_clause_names_its_blocker_everywhere(
    judgement: JudgementReport, page: str
) -> None:
    alone = gather(events(RESULTS[4], RESULTS[5]))
    out = io.StringIO()
    with Terminal(Console(file=out)) as shown:
        for each in events(RESULTS[4], RESULTS[5]):
            shown.take(each)

    assert "  blocker   likely ERR-001\n" in out.getvalue()
    assert "blocked by: likely ERR-001" in markdown_text(alone)
    assert "blocker   likely ERR-001" in junit_text(judgement)
    assert '"blocked_by": "ERR-001"' in json_text(judgement)
    assert 'Blocked by: likely <a href="#ERR-001-1">ERR-001</a>' in page
