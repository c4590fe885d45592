"""Pictures of reports for the pages, each taken by a command: ``docs/pictures``.

    python -m tools.screenshots [NAME…]

A report is written as a page, and a browser without a window takes its picture; which
browser is said by ``REFENGINE_BROWSER`` (chromium). No test takes them anew, since no
two browsers draw alike.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PICTURES: Final = ROOT / "docs" / "pictures"
BROWSER: Final = "REFENGINE_BROWSER"


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A command that writes a page with ``--html``, and how much of it is shown."""

    command: Sequence[str]
    width: int
    height: int


SHOTS: Final[Mapping[str, Screenshot]] = MappingProxyType(
    {
        "migration.png": Screenshot(
            ("migrate", "check", "--all", "examples/first_run", "--strict"), 1000, 760
        ),
        "scan.png": Screenshot(("migrate", "scan", "examples"), 1000, 700),
    }
)
"""The pictures by their names."""


def main(names: Sequence[str]) -> int:
    """Take these pictures, or all; return the exit code."""
    for name in names or SHOTS:
        _take(SHOTS[name], PICTURES / name)
        sys.stdout.write(f"{name}: {(PICTURES / name).stat().st_size:,} bytes\n")
    return 0


def _take(shot: Screenshot, picture: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        line = [sys.executable, "-m", "refengine", *shot.command, "--html", str(page)]
        subprocess.run(line, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)  # noqa: S603  # our own command
        browser = os.environ.get(BROWSER, "chromium")
        how = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
        size = f"--window-size={shot.width},{shot.height}"
        taken = [browser, *how, size, f"--screenshot={picture}", page.as_uri()]
        subprocess.run(taken, check=True, stderr=subprocess.DEVNULL)  # noqa: S603  # a browser of the user


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
