"""How long a check of two programs takes: ``python -m tools.costs.programs``.

A program of Python beside one of Node in 100 worlds, with many sessions a start and
with one; it exits with 1 where a check took longer than its bar. Needs node, and its
official clients in the folder that ``REFENGINE_NODE_MODULES`` names or in
``tests/programs``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
CLIENTS: Final = Path(
    os.environ.get(
        "REFENGINE_NODE_MODULES", ROOT / "tests" / "programs" / "node_modules"
    )
)


@dataclass(frozen=True, slots=True)
class MeasuredCheck:
    """A check, and the seconds that it may take."""

    about: str
    folder: Path
    old: str
    new: str
    turns: str
    examples: int
    bar: float


CHECKS: Final = (
    MeasuredCheck(
        "many sessions a start, by official clients",
        ROOT / "examples" / "chat_to_responses",
        "python old.py",
        "node right.mjs",
        "sessions",
        85,
        60,
    ),
    MeasuredCheck(
        "a start for each session",
        ROOT / "tests" / "programs",
        "python plain.py",
        "node plain.mjs",
        "lines",
        98,
        240,
    ),
)
"""Both have 100 worlds at least, fixed and generated ones together."""


def measured(check: MeasuredCheck) -> tuple[float, int, int]:
    """Return seconds, worlds and the exit code of a check."""
    with tempfile.TemporaryDirectory() as place:
        folder, report = Path(place, "programs"), Path(place, "report.json")
        ignored = shutil.ignore_patterns("node_modules")
        shutil.copytree(check.folder, folder, ignore=ignored)
        (folder / "node_modules").symlink_to(CLIENTS)
        begun = time.perf_counter()
        done = subprocess.run(  # noqa: S603  # our own command
            [*_command(check), "--json", str(report)],
            cwd=folder,
            env={**os.environ, "PATH": _path()},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        seconds = time.perf_counter() - begun
        return seconds, json.loads(report.read_text())["worlds"], done.returncode


def _command(check: MeasuredCheck) -> Sequence[str]:
    sides = ["--old-cmd", check.old, "--new-cmd", check.new, "--turns", check.turns]
    start = [sys.executable, "-m", "refengine", "migrate", "check"]
    return [*start, *sides, "--examples", str(check.examples)]


def _path() -> str:
    """Return a PATH on which ``python`` is the one that runs this."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def main() -> int:
    """Measure and print; returns the exit code."""
    if shutil.which("node") is None or not (CLIENTS / "openai").is_dir():
        sys.stderr.write(f"no node, or no package openai in {CLIENTS}\n")
        return 4
    late = False
    for check in CHECKS:
        seconds, worlds, code = measured(check)
        late = late or seconds > check.bar or code != 0
        said = f"{worlds} worlds in {seconds:.0f} s, at most {check.bar:g} s"
        sys.stdout.write(f"{check.about}: {said}, exit code {code}\n")
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
