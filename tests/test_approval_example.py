"""The example of an approval: one process asks, and another one goes on."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "examples" / "approval" / "approve.py"


def told(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("answer", "came"),
    [
        ("yes", "tool: deleted\nassistant: It is deleted.\n"),
        ("no", "was not approved\n"),
    ],
)
def test_one_process_asks_and_another_goes_on(tmp_path, answer, came) -> None:
    asked = told(tmp_path, str(SCRIPT), "ask")
    shown = told(tmp_path, "-m", "refengine", "checkpoint", "show", "runs.db", "run 7")
    rest = told(tmp_path, str(SCRIPT), answer)

    assert asked.startswith("assistant: (calls)\nasks: {'tool': 'delete_file'")
    assert "waits for: 1 answer" in shown
    assert rest.endswith(came)
