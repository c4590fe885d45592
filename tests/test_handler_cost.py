"""The fixture ``handler_cost``, in a pytest of its own as a user would run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import fixture
from benchmarks.fixture import HandlerCost
from benchmarks.making import Maker

HANDLERS = '''
class Keeps:
    """A handler that does nothing."""

    name = "keeps"

    async def before_model_rewrite_history(self, ctx, messages):
        return ctx, messages


class Serves:
    """A handler that answers in place of the tool."""

    name = "serves"

    async def wrap_invokable_tool_call(self, ctx, input, next):
        from refengine import ToolCallResult

        return ToolCallResult("from the cache")


'''
TESTS = {
    "told": """def test_told(handler_cost, benchmark):
    cost = handler_cost(lambda world: [Keeps(), Keeps()])
    assert cost.floor == "no handlers"
    assert cost.ratio.low <= cost.ratio.value <= cost.ratio.high
    assert cost.seconds > 0 and cost.per_handler is not None
    assert benchmark.extra_info["ratio"]["value"] == cost.ratio.value
    assert benchmark.extra_info["floor"] == "no handlers"
""",
    "refused": """def test_refused(handler_cost):
    handler_cost(lambda world: [Serves()])
""",
}


ALONE = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
"""The environment without what tells pytest-benchmark that it is beside others."""


PYTEST = ("-m", "pytest", "-q", "-p", "no:langsmith_plugin")


def run(tmp_path: Path, name: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run one test in a folder of its own, with pytest-benchmark as it comes."""
    (tmp_path / f"test_{name}.py").write_text(HANDLERS + TESTS[name], "utf-8")
    return subprocess.run(
        [sys.executable, *PYTEST, "--benchmark-max-time=0.01", *more, "."],
        cwd=tmp_path,
        env=ALONE,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


class Table:
    """What is used of pytest-benchmark's fixture."""

    def __init__(self):
        self.group = None
        self.extra_info = {}

    def __call__(self, function):
        pass


class Keeps:
    name = "keeps"

    async def before_model_rewrite_history(self, ctx, messages):
        return ctx, messages


@pytest.mark.parametrize(("waited", "by_the_wall"), [(0.9, True), (0.0, False)])
def test_handlers_that_wait_are_timed_by_the_wall(monkeypatch, waited, by_the_wall):
    asked = []

    async def admit(self, spec):
        return waited

    async def set_ups(maker, sides, effort, *, waits):
        asked.append(waits)
        return [[(2.0, 1.0)] * 2] * 3

    monkeypatch.setattr(Maker, "admit", admit)
    monkeypatch.setattr(fixture, "set_ups", set_ups)
    HandlerCost(Table())(lambda world: [Keeps()])

    assert asked == [by_the_wall]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give what pytest printed of a test that measures two handlers."""
    ran = run(tmp_path_factory.mktemp("told"), "told")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_it_returns_the_ratio_and_notes_it_in_the_table(told):
    assert "1 passed" in told


def test_it_is_a_row_of_the_table_of_pytest_benchmark(told):
    assert "benchmark 'handler_cost': 1 tests" in told


def test_handlers_that_do_other_work_are_refused_and_not_measured(tmp_path):
    ran = run(tmp_path, "refused")
    assert ran.returncode == 1
    assert "the tool ran 0 times in run 1, and 1 are right" in ran.stdout


def test_without_the_plugin_it_names_the_extra(tmp_path):
    (tmp_path / "test_told.py").write_text(HANDLERS + TESTS["told"], "utf-8")
    ran = subprocess.run(
        [sys.executable, *PYTEST, "-p", "no:benchmark", "."],
        cwd=tmp_path,
        env=ALONE,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 1
    assert "pip install 'matplotlib>=" in ran.stdout
