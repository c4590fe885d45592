"""What runs now, what is left for later, and that everything can be asked for."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CASES = """
import pytest

@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", "abcdefg")
def test_seven(case): pass

def test_once(): pass

@pytest.mark.parametrize("case", "ab")
def test_slow(case): pass
"""
ONE = "def test_one(*_): pass\n"
LONG = """
children = ["test_whole.py", "test_it.py::test_slow"]
worlds = ["test_more.py::TestMore"]
again = ["test_it.py::test_slow[b]", "test_twice.py::test_one"]
"""
LEFT = (
    "tests were left for later: with --all they run, too, and with --later what is"
    " more than another case"
)


@pytest.fixture
def asked(tmp_path):
    """Run pytest with options in a tree with long tests; return its last two lines."""
    shutil.copy(ROOT / "conftest.py", tmp_path)
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "long.toml").write_text(LONG, "utf-8")
    (tests / "test_it.py").write_text(CASES, "utf-8")
    (tests / "test_more.py").write_text(f"class TestMore:\n    {ONE}", "utf-8")
    for name in ("whole", "others", "twice"):
        (tests / f"test_{name}.py").write_text(ONE, "utf-8")

    def ask(*options: str) -> list[str]:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *options],
            cwd=tmp_path,
            env={**os.environ, "PYTEST_ADDOPTS": ""},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return re.sub(r" in [\d.]+s( \(.*\))?$", "", run.stdout.rstrip()).splitlines()[
            -2:
        ]

    return ask


@pytest.mark.parametrize(
    ("options", "ended"),
    [
        ((), [f"9 {LEFT}", "5 passed, 9 deselected"]),
        (("-n", "2"), [f"9 {LEFT}", "5 passed"]),
        (("tests/test_it.py", "-k", "seven and f"), ["1 passed, 9 deselected"]),
        (("tests/test_it.py::test_seven[f]",), ["1 passed"]),
        (("tests/test_it.py::test_slow",), ["2 passed"]),
        (("tests/test_whole.py",), ["1 passed"]),
    ],
)
def test_what_is_long_and_repeats_a_fact_is_left_unless_it_is_named(
    asked, options: tuple[str, ...], ended: list[str]
) -> None:
    assert asked(*options)[-len(ended) :] == ended


def test_all_but_repeated_cases_runs_now_or_later_and_nothing_twice(asked) -> None:
    assert asked("--all")[-1] == "14 passed"
    assert asked("--later")[-1] == "3 passed, 11 deselected"
    assert LEFT not in asked("--later")[0]


def named_in(file: str) -> Iterator[str]:
    """Yield the names of a test file's tests, and of the classes that they are in."""
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
            yield from (f"{node.name}::{each}" for each in functions_among(node.body))
    yield from functions_among(tree.body)


def functions_among(nodes: Iterable[ast.stmt]) -> list[str]:
    """Return the names of the functions that are tests."""
    named = [each.name for each in nodes if isinstance(each, ast.FunctionDef)]
    return [each for each in named if each.startswith("test_")]


def test_what_is_listed_as_long_is_there_once_and_in_order() -> None:
    """A name that is not there is of a test that runs now, unseen."""
    groups = tomllib.loads((ROOT / "tests/long.toml").read_text("utf-8"))
    again = groups.pop("again")
    listed = [*chain.from_iterable(groups.values()), *again]
    files = {each.partition("::")[0] for each in listed}
    there = {f"{file}::{name}" for file in files for name in named_in(file)} | files
    wider = {each.rpartition("::")[0] for each in {*listed} - {*again}}

    assert {each.partition("[")[0] for each in listed} <= there
    assert wider & {*listed} == set()
    assert len(listed) == len({*listed})
    assert all(names == sorted(names) for names in (*groups.values(), again))


def test_ci_runs_now_and_later() -> None:
    """README's command is run word for word, and leaves what the next one runs."""
    run = (ROOT / ".ci/run").read_text("utf-8")

    assert "pytest -q --later)\n" in run
    assert "--all" not in (ROOT / "README.md").read_text("utf-8").split("```")[3]
