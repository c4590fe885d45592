"""``refengine migrate check`` alone says what could be checked in a folder."""

from io import StringIO
from pathlib import Path

import pytest

from compat.cli.command import run
from compat.cli.init import app as init
from compat.cli.migrate_here import lines
from compat.migration.here import MOST, FoundHere
from compat.migration.settings import load_settings

SUBJECT = "def subject(world):\n    return []\n"
STRUCT = f"from refengine import AgentMiddleware\n{SUBJECT}"
GRAPH = f"from langgraph.prebuilt import create_react_agent\n{SUBJECT}"
AGENT = f"import langgraph.types\nfrom langchain.agents import create_agent\n{SUBJECT}"
GO = 'package a\nimport "github.com/cloudwego/eino/adk"\nfunc Subject() {}\n'
TYPESCRIPT = 'import { world } from "refengine/world";\nexport function subject() {}\n'
APP = "from langchain.agents import create_agent\nagent = create_agent('m')\n"


def told(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return "\n".join(lines(FoundHere.read(folder)))


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"old.py": GRAPH, "new.py": AGENT}, "old.py new.py"),
        ({"a/pii_old.py": STRUCT, "a/pii_new.py": STRUCT}, "a/pii_old.py a/pii_new.py"),
        ({"v1.py": STRUCT, "v2.py": STRUCT, "a.py": STRUCT}, "v1.py v2.py"),
        ({"one.py": STRUCT, "two.py": STRUCT}, "one.py two.py"),
        ({"a b/old.py": STRUCT, "a b/new.py": STRUCT}, "'a b/old.py' 'a b/new.py'"),
        ({"old.go": GO, "new.go": GO}, "old.go new.go"),
        ({"old.ts": TYPESCRIPT, "new.ts": TYPESCRIPT}, "old.ts new.ts"),
        ({"old.go": "package a\n", "new.go": GO}, None),
        ({"old.py": STRUCT, "x/new.py": STRUCT, "z.py": STRUCT}, None),
        ({"old.py": STRUCT, "new.py": APP}, None),
    ],
)
def test_sides_are_proposed_by_their_names(tmp_path: Path, files, line):
    text = told(tmp_path, files)

    assert (f"\n  refengine migrate check {line}\n" in text) == (line is not None)
    assert ("Does the new one do" in text) == (line is not None)


def test_upgrade_is_proposed_for_what_a_framework_made(tmp_path: Path):
    text = told(tmp_path, {"agent.py": AGENT})

    assert "migrate check agent.py --old-with 'langchain==" in text
    assert text.endswith(" All options: --help.")
    assert "--old-with" not in told(tmp_path, {"agent.py": STRUCT})


def test_code_that_is_no_subject_is_told_how_to_become_one(tmp_path: Path):
    text = told(tmp_path, {"src/app.py": APP})

    assert "  src/app.py  langchain\n" in text
    assert "    def subject(world: World):\n" in text
    assert "world.as_langchain()" in text


def test_what_is_declared_is_judged_and_not_written_anew(tmp_path: Path):
    sides = {"old.py": STRUCT, "new.py": STRUCT}

    assert "--sides old.py new.py" in told(tmp_path, sides)
    text = told(tmp_path, {"migration.toml": ""})
    assert "refengine migrate check --all ." in text
    assert "--sides" not in text


def test_door_to_an_engine_is_proposed_to_be_judged(tmp_path: Path):
    build = "    async def build(self, config, on_notice): ...\n"
    other = "class Other:\n    async def build(self): ...\n"
    text = told(tmp_path, {"conformance/door.py": f"class Door:\n{build}{other}"})

    [line] = (each for each in text.splitlines() if "refengine conform" in each)
    assert line == "  refengine conform conformance/door.py:Door"
    assert "no subject" not in text


@pytest.mark.parametrize(
    ("line", "package"),
    [
        ("import pydantic_ai.models", "pydantic-ai"),
        ("from google.adk.agents import LlmAgent", "google-adk"),
        ("from google import adk", "google-adk"),
        ("from google import genai", ""),
        ("from .langchain import agent", ""),
    ],
)
def test_framework_is_that_of_any_way_to_import_it(
    tmp_path: Path, line: str, package: str
):
    text = told(tmp_path, {"agent.py": f"{line}\n{SUBJECT}"})

    assert f"  agent.py  {package}".rstrip() in text.splitlines()


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"a.py": "def subject(): ...\n"},
        {"a.py": "class A:\n    def subject(world): ...\n"},
        {"a.py": "def subject(world:\n"},
        {"a.py": "from langchain.agents import other\n"},
        {"node_modules/a.py": STRUCT, ".git/b.py": STRUCT},
    ],
)
def test_folder_without_any_is_told_where_to_start(tmp_path: Path, files):
    assert "refengine init migration" in told(tmp_path, files)


def test_files_are_read_up_to_a_number_and_those_on_top_first(tmp_path: Path):
    deep = {f"deep/{at:03}.py": STRUCT for at in range(MOST)}
    told(tmp_path, {**deep, "top.py": STRUCT})

    found = FoundHere.read(tmp_path).subjects

    assert len(found) == MOST
    assert found[0].path == Path("top.py")


def test_subject_in_another_language_names_its_engine_and_no_upgrade(tmp_path: Path):
    text = told(tmp_path, {"agent.go": GO})

    assert "  agent.go  eino" in text.splitlines()
    assert "--old-with" not in text


def test_pair_that_is_there_gets_a_file_of_settings(tmp_path: Path, monkeypatch):
    told(tmp_path, {"a/old.py": STRUCT, "b/new.py": STRUCT})
    monkeypatch.chdir(tmp_path)

    assert run(init, "init", ["migration", "--sides", "a/old.py", "b/new.py"]) == 0

    found = load_settings(tmp_path / "a/migration.toml")
    assert (found.old, [*found.cases]) == ("old.py", ["../b/new.py"])
    with pytest.raises(SystemExit) as left:
        run(init, "init", ["migration", "--sides", "a/old.py", "b/none.py"])
    assert left.value.code == 2


def test_init_alone_asks_and_shows_the_line_that_would_not_have(
    tmp_path: Path, monkeypatch, capsys
):
    answers = StringIO("engine\ndoor\nloop\n")
    monkeypatch.setattr(answers, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", answers)
    monkeypatch.chdir(tmp_path)

    assert run(init, "init", []) == 0

    assert "without questions: refengine init engine door --for=loop\n" in (
        capsys.readouterr().out
    )
    assert (tmp_path / "door/streams.py").is_file()
