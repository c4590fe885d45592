"""What the skill for coding agents tells is what the commands do."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import yaml

from compat.cli.init import SKILL_FOLDER
from compat.cli.main import COMMANDS
from compat.verdicts.exit_codes import MEANINGS
from tests.commands import refengine


def written(folder: Path) -> str:
    done = refengine("init", "skill", at=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return (folder / SKILL_FOLDER / "SKILL.md").read_text("utf-8")


def test_front_matter_names_the_skill_as_its_folder_is_named(tmp_path: Path) -> None:
    _, front, body = written(tmp_path).split("---\n", 2)
    said = yaml.safe_load(front)

    assert said["name"] == Path(SKILL_FOLDER).name
    assert re.fullmatch(r"[a-z-]{1,64}", said["name"])
    assert 0 < len(said["description"]) <= 1024
    assert body.startswith("\n# ")


def test_commands_and_options_that_it_names_are_there(tmp_path: Path) -> None:
    code = re.findall(r"`([^`]+)`", written(tmp_path))
    lines = [shlex.split(each) for each in code if each.startswith("refengine ")]
    flags = [each for each in code if each.startswith("--")]

    assert len(lines) >= 4
    for _, name, sub, *words in lines:
        command = import_module(COMMANDS[name][0]).app.commands[sub]
        known = {each for of in command.params for each in of.opts}
        assert {each for each in words if each.startswith("--")} <= known
    check = import_module(COMMANDS["migrate"][0]).app.commands["check"]
    assert {*flags} <= {each for of in check.params for each in of.opts}


def test_each_exit_code_of_a_check_has_something_to_do(tmp_path: Path) -> None:
    rows = re.findall(
        r"^ *\| (\d) \| [^|]+ \| [^|]+ \|$", written(tmp_path), re.MULTILINE
    )

    assert [*map(int, rows)] == [each for each in MEANINGS if each < 7]


def test_three_statuses_are_told(tmp_path: Path) -> None:
    rows = re.findall(r"^\| (\w[\w ]+) \|", written(tmp_path), re.MULTILINE)

    assert rows == ["status", "verified", "verified weakly", "unverified"]


def test_skill_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path)

    again = refengine("init", "skill", at=tmp_path)

    assert again.returncode == 2
    assert "SKILL.md is already there: name another folder" in again.stderr
