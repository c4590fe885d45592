"""Naming subjects: files, modules, and files of earlier commits."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compat.migration.refs import RefError, located, parse_ref
from compat.migration.subject_process import SubjectProcess
from refengine.testing import Scenario

SUBJECT = """
from refengine import AgentMiddleware
from helper import TEXT

def subject(world):
    return [AgentMiddleware(additional_instruction=TEXT)]
"""
WORLD = Scenario.model_validate(
    {"agent": {}, "model_script": ("assistant:ok",), "runs": ({"input": ("user:a",)},)}
)


def git(folder: Path, *arguments: str) -> None:
    who = {
        f"GIT_{a}_{b}": "x" for a in ("AUTHOR", "COMMITTER") for b in ("NAME", "EMAIL")
    }
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(
        ["git", "-C", str(folder), *arguments],  # noqa: S607  # the user's git
        env={**os.environ, **who, **alone},
        check=True,
        capture_output=True,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout whose files are no longer what was committed as ``v1``."""
    top = tmp_path / "repo"
    (top / "src").mkdir(parents=True)
    (top / "src" / "old.py").write_text(SUBJECT, "utf-8")
    (top / "src" / "helper.py").write_text("TEXT = 'then'\n", "utf-8")
    (top / ".gitattributes").write_text("helper.py export-ignore\n", "utf-8")
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "then")
    git(top, "tag", "v1")
    (top / "src" / "helper.py").write_text("TEXT = 'now'\n", "utf-8")
    (top / "src" / "old.py").unlink()
    (top / "new.py").write_text(SUBJECT, "utf-8")
    return top


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the content of every file below, and when it was changed."""
    return {
        str(each): (each.stat().st_mtime_ns, each.read_bytes())
        for each in folder.rglob("*")
        if each.is_file()
    }


def instruction_of(side: SubjectProcess) -> str:
    request: Any = side.play(WORLD).trace.of("model_request")[0].data
    return request["messages"][0]["content"].strip()


@pytest.mark.parametrize(
    ("text", "module", "file", "name"),
    [
        ("pack.mod:make", "pack.mod", None, "make"),
        ("mw.py:make", None, "mw.py", "make"),
        ("mw.py", None, "mw.py", "subject"),
        ("./mw.py", None, "mw.py", "subject"),
    ],
)
def test_forms_are_read(tmp_path, text, module, file, name):
    (tmp_path / "mw.py").touch()
    ref = parse_ref(text, cwd=tmp_path)

    assert (ref.module, ref.name, str(ref)) == (module, name, text)
    assert ref.file == (None if file is None else tmp_path / file)


@pytest.mark.parametrize(
    "text",
    ["", "mod", ":x", "mod:", "mod:a-b", "a:b:c", "dir/mw:x", "mw.py:a:b", "a b:c"],
)
def test_other_texts_are_refused(text):
    with pytest.raises(RefError, match=r"names no subject: .*(write|name)"):
        parse_ref(text, revisions=True)


def test_a_folder_is_refused_as_one(tmp_path):
    (tmp_path / "my-agents").mkdir()

    with pytest.raises(RefError, match="it is a folder; name a file in it"):
        parse_ref("my-agents", cwd=tmp_path)
    with pytest.raises(RefError, match="it is a folder; name a file in it"):
        parse_ref("./my-agents/", cwd=tmp_path)


def test_missing_file_is_told_with_its_neighbour(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine.py").touch()
    with pytest.raises(RefError, match=r"no file sub/mind\.py; did you mean sub/mine"):
        parse_ref("sub/mind.py:x", cwd=tmp_path)


@pytest.mark.parametrize("text", ["v1:src/old.py:subject", "v1:src/old.py"])
def test_earlier_commit_is_played_with_its_own_neighbours(checkout, text):
    ref = parse_ref(text, revisions=True, cwd=checkout)
    with SubjectProcess(ref, "old").waited() as side:
        copy = side.loaded.folder

        assert instruction_of(side) == "then"
        assert side.loaded.files == ("old.py", "helper.py")
    assert not copy.exists()


def test_installed_checkout_is_that_of_the_commit_too(checkout, monkeypatch):
    (checkout / "src" / "inner").mkdir()
    (checkout / "src" / "inner" / "old.py").write_text(SUBJECT, "utf-8")
    git(checkout, "add", "src/inner")
    git(checkout, "checkout", "-q", "v1", "--", "src/helper.py")
    git(checkout, "commit", "-q", "-m", "deeper")
    (checkout / "src" / "helper.py").write_text("TEXT = 'now'\n", "utf-8")
    monkeypatch.setenv(
        "PYTHONPATH", f"{checkout / 'src'}:{os.environ.get('PYTHONPATH', '')}"
    )
    ref = parse_ref("main:src/inner/old.py", revisions=True, cwd=checkout)
    with SubjectProcess(ref, "old").waited() as side:
        assert instruction_of(side) == "then"


def test_earlier_commit_is_run_where_the_user_stands(checkout):
    ref = parse_ref("v1:old.py", revisions=True, cwd=checkout / "src")
    with located(ref) as place:
        assert place.cwd == place.folder
        assert (place.cwd / "helper.py").exists()
    assert not place.cwd.exists()


def test_checkout_is_only_read(checkout):
    before = state_of(checkout)
    with located(parse_ref("v1:src/old.py", revisions=True, cwd=checkout)):
        assert state_of(checkout) == before
    assert state_of(checkout) == before


def test_new_has_no_revision(checkout):
    with pytest.raises(RefError, match=r"give src/old.py:subject"):
        parse_ref("v1:src/old.py", cwd=checkout)


@pytest.mark.parametrize(
    ("name", "hint"), [("mian", "mean 'main'"), ("-x", "a commit")]
)
def test_unknown_revision_is_told(checkout, name, hint):
    with pytest.raises(RefError, match=f"no revision '{name}'.*{hint}"):
        parse_ref(f"{name}:src/old.py", revisions=True, cwd=checkout)


def test_file_that_was_not_there_is_told(checkout):
    with pytest.raises(RefError, match=r"src/odd.py is not in.*src/old.py\?"):
        parse_ref("v1:src/odd.py", revisions=True, cwd=checkout)


def test_folder_without_repository_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(RefError, match="not a git repository"):
        parse_ref("v1:old.py", revisions=True, cwd=tmp_path)


def test_missing_git_is_told(checkout, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RefError, match="install it"):
        parse_ref("v1:src/old.py", revisions=True, cwd=checkout)


@pytest.mark.parametrize(
    "text",
    [r"C:\ports\old.py", r"C:\ports\old.py:subject", "c:/ports/old.py:subject"],
)
def test_the_letter_of_a_drive_is_no_revision(tmp_path: Path, text: str) -> None:
    with pytest.raises(RefError, match="there is no file"):
        parse_ref(text, cwd=tmp_path, revisions=True)


def test_a_revision_may_come_before_a_drive(tmp_path: Path) -> None:
    with pytest.raises(RefError) as caught:
        parse_ref(r"v1:C:\ports\old.py", cwd=tmp_path)

    assert str(caught.value).endswith(r"give C:\ports\old.py:subject")
