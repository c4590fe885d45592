"""``python -m tools.needed``: which small changes of the code only some tests find."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT

MINE = """
from refengine.context import Context

def test_a_value_is_read():
    assert Context().with_value("a", 1).get("a") == 1

def test_a_context_is_made():
    assert Context().with_value("a", 1) is not None

def test_what_is_missing_is_none():
    assert Context().get("a") is None
"""
BESIDE = """
from refengine.context import Context

def test_a_default_is_given():
    assert Context().get("a", 2) == 2
"""


def needed(folder: Path, mine: str, *more: str) -> tuple[int, str]:
    """Return how the command ends over these tests and one beside, and what it says."""
    (folder / "test_mine.py").write_text(mine, "utf-8")
    (folder / "test_beside.py").write_text(BESIDE, "utf-8")
    words = ("test_mine.py", "--of", "refengine.context", "--beside", "test_beside.py")
    done = subprocess.run(
        [sys.executable, "-m", "tools.needed", *words, *more],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
        stdout=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.parametrize("test", ["test_a_value_is_read", "test_a_context_is_made"])
def test_a_test_is_needed_for_what_it_finds_alone(tmp_path, test) -> None:
    code, told = needed(tmp_path, MINE, "--without", test)
    is_needed = test == "test_a_value_is_read"

    assert code == 1
    assert (" LOST  context" in told) is is_needed
    assert (f"    -  test_mine.py::{test}\n" in told) is not is_needed
    assert "    -  test_mine.py::test_what_is_missing_is_none\n" in told


def test_what_fails_by_itself_shows_nothing(tmp_path) -> None:
    code, told = needed(tmp_path, MINE.replace("== 1", "== 2"))

    assert code == 3
    assert "fails without any change: ['test_mine.py::test_a_value_is_read']" in told
