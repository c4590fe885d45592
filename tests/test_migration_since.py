"""What a folder's page and its command say of earlier reports of the folder."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from compat.report.migration_json import dump, folder_json, report
from compat.report.migration_page import page_text
from compat.report.migration_since import since_lines
from compat.timeline.reports import read_folder
from compat.verdicts.migration import (
    DescribedDivergence,
    Difference,
    JudgedCase,
    Migration,
)
from compat.verdicts.timeline import TimelineError, TimelineItem, VersionJudged

HOLDS = Migration("same-effects", 12, "d" * 64, holds="identical", ordinary=12)
LOST = DescribedDivergence(
    "MESSAGE_LOST",
    "error",
    "a message is lost",
    Difference("requests", "[0]", "user: hi", "(nothing)"),
    "run 1, model call 1",
)
DIVERGES = replace(HOLDS, holds="same-answer", divergence=LOST)
NOW = [
    JudgedCase("limits", "a.py", "identical", "identical", True, HOLDS),  # noqa: FBT003  # a field
    JudgedCase("limits", "b.py", "identical", "MESSAGE_LOST", False, DIVERGES),  # noqa: FBT003  # a field
    JudgedCase("texts", "c.py", "identical", "identical", True, HOLDS),  # noqa: FBT003  # a field
]


def judged(version: str, **said: tuple[str, bool]) -> VersionJudged:
    """Return what a report said of cases, by the last letter of their names."""
    names = {"a": "limits/a.py", "b": "limits/b.py", "d": "texts/d.py"}
    items = (TimelineItem(names[key], *each) for key, each in said.items())
    return VersionJudged("migration", version, {e.name: e for e in items}, "", "")


FIRST = judged("monday", a=("ORDER", False), b=("ORDER", False))
SECOND = judged(
    "friday", a=("ORDER", False), b=("identical", True), d=("identical", True)
)


def test_what_changed_since_the_last_report_is_told_the_worst_first() -> None:
    assert [*since_lines(NOW, [FIRST, SECOND])] == [
        "",
        "migration: friday → now",
        "worse:",
        "  limits/b.py: identical → MESSAGE_LOST",
        "better:",
        "  limits/a.py: ORDER → identical",
        "new:",
        "  texts/c.py: - → identical",
        "gone:",
        "  texts/d.py: identical → -",
        "1 worse, 3 other changes",
    ]


def test_without_an_earlier_report_nothing_is_told() -> None:
    assert [*since_lines(NOW, [])] == []
    assert "Since" not in page_text(NOW)


def test_the_page_has_a_column_for_each_report_and_what_changed() -> None:
    text = page_text(NOW, [FIRST, SECOND])
    head = re.findall(r"<thead><tr>(.*?)</tr></thead>", text)[0]
    rows = re.findall(r'<span class="was (\w+)">(.*?)</span>', text)

    assert re.findall(r"<th[^>]*>(\w+)</th>", head)[:4] == [
        *("case", "monday", "friday", "verdict")
    ]
    assert rows == [
        *(("bad", "ORDER"), ("bad", "ORDER")),
        *(("bad", "ORDER"), ("good", "identical")),
        *(("none", "-"), ("none", "-")),
    ]
    assert "<h2>Since friday</h2>\n<pre>worse:\n  limits/b.py" in text


def test_the_page_counts_cases_by_their_verdicts() -> None:
    found = re.findall(r'<span class="badge (\w+)">(\d+ [\w ]+)</span>', page_text(NOW))

    assert found == [("bad", "1 diverging"), ("weak", "2 holding weakly")]


def test_what_an_earlier_report_says_is_only_text() -> None:
    hostile = judged("<b>", a=("<script>", False))

    text = page_text(NOW, [hostile])

    assert "<script>" not in text
    assert "<b>" not in text


def test_a_report_that_the_command_wrote_is_read_again(tmp_path: Path) -> None:
    header = {
        "refengine": "0.1.0", "python": "3.12", "profile": "seed-001",
        "examples": 1, "seed": 0,
    }  # fmt: skip
    file = tmp_path / "friday.json"
    file.write_text(dump(report(folder_json(NOW), header, 1)), "utf-8")

    found = read_folder(file, "friday")

    assert found.version == "friday"
    assert [(e.verdict, e.good) for e in found.items.values()] == [
        (each.got, each.met) for each in NOW
    ]


@pytest.mark.parametrize("tree", [{"holds": "identical"}, {"engines": []}, {}])
def test_what_is_no_report_of_a_folder_is_refused(tmp_path: Path, tree: object) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps(tree), "utf-8")

    with pytest.raises(TimelineError, match=r"not a report of a folder.*--all --json"):
        read_folder(file, "other")
