"""``refengine migrate scan``: what is legacy, and what a port of it changes."""

import json
import re
from pathlib import Path

import pytest

from compat.cli.main import main
from compat.migration.legacy import legacy_forms, legacy_scan

ROOT = Path(__file__).parent.parent
GRAPH = """
from langgraph.prebuilt import create_react_agent

agent = create_react_agent("m", [], post_model_hook=lambda state: state)
"""
STRUCT = """
from refengine import AgentMiddleware

plain = AgentMiddleware(additional_instruction="Be brief.")
"""
CALLBACK = """
from google.adk.agents import LlmAgent

agent = LlmAgent(name="a", before_model_callback=print)
"""
NEWER = """
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware

names = ["create_react_agent"]
"""


def written(folder: Path, **sources: str) -> Path:
    for name, text in sources.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("source", "form", "says"),
    [
        (GRAPH, "react-agent", "several hooks behind the model run in order"),
        (STRUCT, "struct-middleware", "a struct puts a line break before its text"),
        (CALLBACK, "adk-callbacks", "a plugin is asked for every agent"),
    ],
)
def test_an_older_form_is_found_where_it_is_used(tmp_path, source, form, says) -> None:
    (use,) = legacy_scan(written(tmp_path, app__agents=source)).uses

    assert (use.form.id, use.path.as_posix(), use.line) == (form, "app/agents.py", 4)
    assert any(change.says.startswith(says) for change, _ in use.changes)


def test_a_change_concerns_only_code_that_speaks_of_it(tmp_path) -> None:
    (use,) = legacy_scan(written(tmp_path, a=STRUCT)).uses

    assert [(change.when, line) for change, line in use.changes] == [
        (frozenset({"additional_instruction"}), 4)
    ]


def test_names_alone_are_no_older_form(tmp_path) -> None:
    found = legacy_scan(written(tmp_path, a=NEWER))

    assert (found.read_files, found.uses) == (1, ())


def test_the_file_with_most_known_changes_comes_first(tmp_path) -> None:
    found = legacy_scan(written(tmp_path, a=STRUCT, b=GRAPH))
    counts = [len(use.changes) for use in found.uses]

    assert [use.path.name for use in found.uses] == ["b.py", "a.py"]
    assert counts == sorted(counts, reverse=True)


def test_every_change_leads_to_a_heading_of_its_guide() -> None:
    for form in legacy_forms():
        assert form.changes
        for change in form.changes:
            page, _, place = change.guide.partition("#")
            text = (ROOT / page).read_text("utf-8")
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            plain = [re.sub(r"[^\w -]", "", each.lower()) for each in headings]
            assert place in [each.replace(" ", "-") for each in plain], change.guide


def scanned(*words: str) -> object:
    with pytest.raises(SystemExit) as raised:
        main(["migrate", "scan", *words])
    return raised.value.code


def test_what_cannot_be_parsed_is_told_and_all_is_written_for_a_machine(
    tmp_path, capfd
) -> None:
    folder = written(tmp_path / "app", a=GRAPH, b="def broken(:\n")
    file = tmp_path / "scan.json"

    assert scanned(str(folder), "--json", str(file)) == 0
    told = capfd.readouterr().out
    report = json.loads(file.read_text("utf-8"))

    assert told.startswith("An older form stands in 1 of 2 files")
    assert "not read: b.py is not Python that parses" in told
    assert report["unread"] == ["b.py"]
    assert [use["form"] for use in report["uses"]] == ["react-agent"]


def test_a_folder_without_python_is_no_good_news(tmp_path, capfd) -> None:
    assert scanned(str(tmp_path)) == 4
    assert scanned(str(tmp_path / "no")) == 2
    assert "is not a folder" in capfd.readouterr().err


def test_a_change_is_told_once_with_all_its_lines_and_each_file_in_a_table(
    tmp_path, capfd, monkeypatch
) -> None:
    written(tmp_path / "app", a=STRUCT, b=STRUCT)
    monkeypatch.chdir(tmp_path)

    assert scanned("app") == 0
    told = capfd.readouterr().out

    assert told.count("with_instruction puts none before an empty one") == 1
    assert "\n    app/a.py:4\n    app/b.py:4\n" in told
    rows = [each.split(maxsplit=2) for each in told.splitlines()[3:5]]
    assert rows == [
        ["1", "app/a.py:4", "struct middleware"],
        ["1", "app/b.py:4", "struct middleware"],
    ]
    assert "  struct middleware → handlers: docs/migrating-from-struct.md\n" in told


def test_page_and_sarif_say_what_the_screen_says(tmp_path, capfd, monkeypatch) -> None:
    written(tmp_path / "app", a=STRUCT, b="def broken(:\n", c='"<i>"\n' + STRUCT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)

    assert scanned("app", "--html", "scan.html", "--sarif", "scan.sarif") == 0
    text = Path("scan.html").read_text("utf-8")
    [run] = json.loads(Path("scan.sarif").read_text("utf-8"))["runs"]

    assert "2 of 3 files in an older form" in text
    assert "<code>app/<wbr>a.py:4</code>" in text
    assert "not Python that parses: <code>b.py</code>" in text
    assert "://" not in text
    places = [
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for each in run["results"]
    ]
    assert places == ["app/a.py", "app/c.py"]
    assert {each["ruleId"] for each in run["results"]} == {
        each["id"] for each in run["tool"]["driver"]["rules"]
    }
    assert run["invocations"] == [{"executionSuccessful": False}]
