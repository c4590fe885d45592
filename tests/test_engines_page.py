"""The page of engines: made of reports of `conform`, whatever engines those are of."""

import json
from pathlib import Path

import pytest

from compat.engines.loading import load_engine
from property_tests.dialects.table import DIALECTS
from tools.pages import questions
from tools.pages.__main__ import pages_now
from tools.pages.blocks import END, begin
from tools.pages.engine_facts import (
    FILE,
    Answer,
    NoReportsError,
    facts_text,
    joined,
    read_facts,
    read_reports,
)
from tools.pages.engines import PAGE, TITLES, answer, main, tables, written
from tools.pages.questions import NewAnswerError, Question
from tools.pages.tables import parting

ANSWERS = begin("answers", "tools.pages")


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


def kept(folder: Path) -> Path:
    """Write a report of an engine that keeps a clause."""
    return report(folder, "m", "eino-0.9", result("ORD-001", "pass"))


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

    said = tables(read_reports([path]))

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

    said = tables(read_reports(paths))

    assert "| posture | `eino-0.8` | `eino-0.9` |" in said
    assert "| `struct_middleware` | `supported` | `deprecated` |" in said
    assert "after_hooks" not in said


def test_engines_of_each_dialect_have_tables_of_their_own(tmp_path: Path) -> None:
    paths = [
        report(tmp_path, "talks", "callbacks-v2", result("CB-001", "pass")),
        report(tmp_path, "hooks", "eino-0.9", result("ORD-001", "pass")),
    ]

    said = tables(read_reports(paths))

    assert said.index("## Agents with hooks") < said.index("## Sessions and their")


def test_the_pages_are_those_of_the_file_of_facts() -> None:
    facts = read_facts()
    page = PAGE.read_text("utf-8")

    assert facts_text(facts) == FILE.read_text("utf-8")
    assert written(page, facts) == page
    assert questions.page(facts) == questions.PAGE.read_text("utf-8")


def test_the_page_keeps_all_but_its_tables(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    [mine] = read_reports([kept(tmp_path)])

    made = written(page, [mine])

    assert made.partition(ANSWERS)[0] == page.partition(ANSWERS)[0]
    assert made.rpartition(END)[2] == page.rpartition(END)[2]


def test_who_judges_an_engine_keeps_all_others_and_its_answers(tmp_path: Path) -> None:
    facts = read_facts()
    path = report(tmp_path, "langchain", "langchain-1", result("ORD-001", "pass"))

    made = {each.name: each for each in joined(facts, read_reports([path]))}

    assert [*made] == [each.name for each in facts]
    [before] = [each for each in facts if each.name == "langchain"]
    assert made.pop("langchain").answers == before.answers
    assert [*made.values()] == [each for each in facts if each.name in made]


def test_a_former_answer_stays_named_where_another_version_gives_another(
    tmp_path: Path,
) -> None:
    [mine] = read_reports([kept(tmp_path)])
    first = mine.asked({"Hidden tool": Answer(says="no")}, "1.0")

    then = first.asked({"Hidden tool": Answer(says="yes")}, "2.0")
    at_last = then.asked({"Hidden tool": Answer(says="yes")}, "2.1")

    assert then.answers["Hidden tool"].was == "no, in 1.0"
    assert at_last.answers["Hidden tool"].was == "no, in 1.0"
    said = "\n".join(questions.overview([at_last]))
    assert "[**yes**](questions.md#hidden-tool) (was: no, in 1.0) |" in said


def asked(title: str) -> Question:
    [found] = [each for each in questions.questions() if each.title == title]
    return found


@pytest.mark.parametrize(
    ("title", "engine", "says"),
    [
        ("Equal tool names", "langchain", "the last; it alone is shown"),
        ("Equal tool names", "pydantic-ai", "refused at build"),
        ("Direct tool among others", "langchain", "no, the model is asked again"),
        ("Direct tool among others", "langgraph", "yes, when both have ended"),
        ("Edits before the model", "openai-agents", "no, for one call alone"),
    ],
)
def test_an_engine_is_asked_by_playing_it(title: str, engine: str, says: str) -> None:
    assert asked(title).asked_of(load_engine(engine)).says == says


def test_an_engine_that_lacks_what_a_world_needs_has_no_answer() -> None:
    found = asked("Hidden tool").asked_of(load_engine("openai-agents"))

    assert found == Answer(lacks="wrap_model")


def test_what_no_answer_has_words_for_is_told_with_what_was_seen() -> None:
    question = asked("Order of after-hooks").model_copy(update={"answers": ()})

    with pytest.raises(NewAnswerError, match=r'seen: \[\["hook_enter", "B"\]'):
        question.asked_of(load_engine("langchain"))


def test_only_an_engine_that_was_judged_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert answer(["no-engine"]) == 2
    assert capsys.readouterr().err.startswith("no-engine: judge it first")


def test_each_answer_in_words_was_given_by_an_engine() -> None:
    given = {
        (title, each.says)
        for engine in read_facts()
        for title, each in engine.answers.items()
    }

    for question in questions.questions():
        for worded in question.answers:
            assert (question.title, worded.says) in given


def test_agents_of_every_dialect_have_a_title() -> None:
    assert tuple(TITLES) == ("", *(each.name for each in DIALECTS if each.doors))


def test_no_report_and_an_empty_one_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text('{"engines": []}', "utf-8")

    assert main([]) == 2
    assert main([str(empty)]) == 2
    with pytest.raises(NoReportsError, match=r"give reports that 'refengine conform"):
        read_reports([])
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
