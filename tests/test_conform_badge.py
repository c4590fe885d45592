"""What a project's page shows of a judgement: a badge, and a history that grows."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from compat.report.conform_files import (
    SamePathError,
    badge_json,
    badge_svg,
    check_paths,
    history_lines,
    write_reports,
)
from tests.conform_sample import events, judged, many, result

FOUND = events(result("ORD-001"), result("ORD-002", "fail"), code=1)


@pytest.mark.parametrize(
    ("results", "code", "message", "color"),
    [
        ([result("ORD-001")], 0, "1 of 1 clause", "brightgreen"),
        ([result("ORD-001", "fail"), result("ORD-002")], 1, "1 of 2 clauses", "red"),
        ([result("ORD-001")], 3, "not judged", "lightgrey"),
        ([result("ORD-001")], 4, "not judged", "lightgrey"),
    ],
)
def test_badge_counts_what_passes(results, code, message, color) -> None:
    judgement = judged(*results, code=code)

    assert json.loads(badge_json(judgement)) == {
        "schemaVersion": 1,
        "label": "conformance",
        "message": message,
        "color": color,
    }
    root = ET.fromstring(badge_svg(judgement))  # noqa: S314  # our own text
    assert root.get("aria-label") == f"conformance: {message}"


def test_history_grows_by_a_line_for_each_judgement(tmp_path: Path) -> None:
    paths = {"history": tmp_path / "h.jsonl"}
    for _ in range(2):
        write_reports(paths, FOUND)
    rows = [json.loads(each) for each in paths["history"].read_text().splitlines()]

    assert len(rows) == 2
    assert rows[0] == rows[1]
    assert rows[0]["date"] == "2026-01-02 03:04 UTC"
    assert (rows[0]["engine"], rows[0]["version"]) == ("swift", "1.2.0")
    assert (rows[0]["passed"], rows[0]["of"], rows[0]["conformant"]) == (1, 2, False)


def test_history_of_a_markdown_file_is_one_table(tmp_path: Path) -> None:
    path = tmp_path / "h.md"
    for _ in range(2):
        write_reports({"history": path}, FOUND)
    title, line, *rows = path.read_text().splitlines()
    row = "| 2026-01-02 03:04 UTC | swift | 1.2.0 | seed-001 | 0.1 | 1 of 2 | 0 | no |"

    assert title.startswith("| date | engine | version |")
    assert title.count("|") == line.count("|")
    assert rows == [row, row]


def test_each_engine_has_a_line_of_its_own() -> None:
    from compat.report.conform_gathered import gather

    found = gather(many(["reference", "swift"], 40))
    names = [json.loads(e)["engine"] for e in history_lines(found).splitlines()]

    assert names == ["reference", "swift"]
    assert "of 2 engines" in badge_json(found)


def test_badge_is_a_picture_if_its_name_says_so(tmp_path: Path) -> None:
    for name in ("b.svg", "b.json"):
        write_reports({"badge": tmp_path / name}, FOUND)

    assert (tmp_path / "b.svg").read_text().startswith("<svg ")
    assert json.loads((tmp_path / "b.json").read_text())["message"] == "1 of 2 clauses"


def test_two_files_of_one_path_are_refused() -> None:
    with pytest.raises(SamePathError, match="--json and --badge are both to be"):
        check_paths({"json": Path("a"), "html": None, "badge": Path("a")})
