"""The page of engines: made of reports of `conform`, whatever engines those are of."""

import json
from pathlib import Path

import pytest

from property_tests.dialects.table import DIALECTS
from tools.pages.__main__ import pages_now
from tools.pages.blocks import END, begin
from tools.pages.engines import (
    PAGE,
    TITLES,
    NoReportsError,
    main,
    read_rows,
    tables,
    written,
)
from tools.pages.tables import parting

BEGIN = begin("engines", "tools.pages")


def result(clause: str, verdict: str, known: str = "") -> dict[str, object]:
    return {"clause": clause, "verdict": verdict, "known": known}


def report(folder: Path, name: str, profile: str, *results: object) -> Path:
    """Write a report as `refengine conform NAME --json` does."""
    path = folder / f"{name}.json"
    clauses = ["ORD-001", "ORD-002", "TOOL-001"]
    if profile.startswith("callbacks"):
        clauses = ["CB-001"]
    made = {
        "header": {
            "worlds": 1700,
            "fixed": 500,
            "recorded": 100,
            "versions": {name: "v1"},
        },
        "contract": [{"id": each, "family": each[:-4]} for each in clauses],
        "engines": [
            {
                "engine": name,
                "profile": profile,
                "conformant": True,
                "results": results,
            }
        ],
    }
    path.write_text(json.dumps(made), "utf-8")
    return path


def test_a_cell_tells_what_is_kept_known_failed_and_does_not_apply(
    tmp_path: Path,
) -> None:
    path = report(
        tmp_path,
        "mine",
        "eino-0.9",
        result("ORD-001", "pass"),
        result("ORD-002", "fail", "known"),
        result("TOOL-001", "blocked"),
    )

    said = tables(read_rows([path]))

    assert "| 1, 1 known | **1 failed** |" in said
    assert "| `mine` | v1 | `eino-0.9` | conformant | 1,100 |" in said
    assert "Their profiles differ in no posture." in said


def test_postures_are_shown_in_which_profiles_differ_and_no_others(
    tmp_path: Path,
) -> None:
    paths = [
        report(tmp_path, "old", "eino-0.8", result("ORD-001", "pass")),
        report(tmp_path, "new", "eino-0.9", result("ORD-001", "pass")),
    ]

    said = tables(read_rows(paths))

    assert "| posture | `eino-0.8` | `eino-0.9` |" in said
    assert "| `struct_middleware` | `supported` | `deprecated` |" in said
    assert "after_hooks" not in said


def test_engines_of_each_dialect_have_tables_of_their_own(tmp_path: Path) -> None:
    paths = [
        report(tmp_path, "talks", "callbacks-v2", result("CB-001", "pass")),
        report(tmp_path, "hooks", "eino-0.9", result("ORD-001", "pass")),
    ]

    said = tables(read_rows(paths))

    assert said.index("## Agents with hooks") < said.index("## Sessions and their")


def test_the_page_keeps_all_but_its_tables(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    rows = read_rows([report(tmp_path, "m", "eino-0.9", result("ORD-001", "pass"))])

    made = written(page, rows)

    assert made.partition(BEGIN)[0] == page.partition(BEGIN)[0]
    assert made.partition(END)[2] == page.partition(END)[2]
    assert written(made, rows) == made


def test_who_adds_an_engine_keeps_the_rows_of_all_others(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    rows = read_rows([report(tmp_path, "m", "eino-0.9", result("ORD-001", "pass"))])
    before = [each for each in page.splitlines() if " conformant | " in each]

    made = written(page, rows).splitlines()

    assert set(before) <= set(made)
    assert "| `m` | v1 | `eino-0.9` | conformant | 1,100 |" in "\n".join(made)


def test_a_row_of_an_engine_that_is_gone_goes_too(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    gone = read_rows([report(tmp_path, "m", "eino-0.9", result("ORD-001", "pass"))])

    assert written(written(page, gone), ()) == page


def test_the_tables_of_the_page_are_read_as_they_were_written() -> None:
    page = PAGE.read_text("utf-8")

    assert written(page, ()) == page


def test_agents_of_every_dialect_have_a_title() -> None:
    assert tuple(TITLES) == ("", *(each.name for each in DIALECTS))


def test_no_report_and_an_empty_one_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text('{"engines": []}', "utf-8")

    assert main([]) == 2
    assert main([str(empty)]) == 2
    with pytest.raises(NoReportsError, match=r"give reports that 'refengine conform"):
        read_rows([])
    assert "no report: give reports" in capsys.readouterr().err


def test_where_the_languages_of_langchain_part_stands_as_their_failures_are_known() -> (
    None
):
    [(page, text)] = pages_now(["languages"])
    found = parting()

    assert page.read_text("utf-8") == text
    assert all(found.values())
    told = [key for of in found.values() for keys in of.values() for key in keys]
    assert len(told) == len(set(told))  # what both fail is not a difference
