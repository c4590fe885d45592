"""Cases that show one fact many times: some run by default, all by one command."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SEVEN = """
import pytest

@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", "abcdefg")
def test_seven(case): pass

def test_once(): pass
"""


@pytest.mark.parametrize(
    ("asked", "ended"),
    [
        ((), "4 passed, 4 deselected"),
        (("--all-cases",), "8 passed"),
        (("-k", "seven and f"), "1 passed, 7 deselected"),
        (("test_it.py::test_seven[f]",), "1 passed"),
    ],
)
def test_one_in_so_many_cases_runs_unless_all_are_asked(
    asked: tuple[str, ...], ended: str, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(SEVEN, "utf-8")

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *asked],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.rstrip().rpartition("\n")[2].startswith(f"{ended} in ")


def test_the_long_check_runs_all_cases() -> None:
    assert "pytest -q --all-cases\n" in (ROOT / ".ci/long").read_text("utf-8")
