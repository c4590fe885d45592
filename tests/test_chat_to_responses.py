"""The programs of ``examples/chat_to_responses`` are judged as they are declared."""

import json
import os
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from compat.cli.main import main
from tests.program_support import PACKAGES, needs_node

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "chat_to_responses"
DECLARED = tomllib.loads((FOLDER / "programs.toml").read_text("utf-8"))
CASES: dict[str, dict[str, str]] = DECLARED["cases"]


def case(command: str) -> object:
    """Return a case; one of Node is skipped where its client is not installed."""
    marks = [needs_node("openai")] if command.startswith("node") else []
    return pytest.param(command, marks=marks)


@pytest.mark.parametrize("command", [case(command) for command in CASES])
def test_program_is_judged_as_declared(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "programs"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules"))
    if PACKAGES.is_dir():
        (folder / "node_modules").symlink_to(PACKAGES)
    monkeypatch.chdir(folder)
    own = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([own, os.environ["PATH"]]))
    file = tmp_path / "report.json"
    sides = ["--old-cmd", DECLARED["old"], "--new-cmd", command]
    how = ["--turns", "sessions", "--settings", "programs.toml", "--examples", "3"]

    with pytest.raises(SystemExit) as left:
        main(["migrate", "check", *sides, *how, "--json", str(file)])

    report = json.loads(file.read_text())
    expected = CASES[command].get("diverges")
    assert left.value.code == (0 if expected is None else 1), report
    assert report["header"]["interfaces"] == {
        "old": ["OpenAI chat completions"],
        "new": ["OpenAI Responses"],
    }
    if expected is not None:
        assert report["divergence"]["code"] == expected


def test_each_program_of_the_folder_is_a_case() -> None:
    files = {each.name for each in FOLDER.iterdir() if each.suffix in {".py", ".mjs"}}
    shared = {"shop.py", "shop.mjs"}

    assert {command.split()[-1] for command in CASES} == files - shared - {"old.py"}
