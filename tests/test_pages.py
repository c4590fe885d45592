"""Pages show what their commands print, in order, in one folder.

Commands after which nothing is shown are not run here, where nobody would look at what
they print; ``UNSHOWN`` says who runs them.

    python -m tests.test_pages

writes these pages anew with what they print now.
"""

import re
import sys
import tempfile
from pathlib import Path

import pytest

from compat.cli.skeletons import ENGINES
from tests.pages import ROOT, played, steady

PAGES = [
    "docs/checked-checks.md",
    "docs/ci.md",
    "docs/conform.md",
    "docs/first-migration.md",
    "docs/new-door.md",
    "docs/new-driver.md",
    "docs/own-store.md",
    "docs/own-worlds.md",
    "docs/why-order.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(page: str, tmp_path) -> None:
    text = (ROOT / page).read_text("utf-8")

    assert steady(played(text, tmp_path)) == steady(text)


def test_the_door_of_the_tutorial_has_about_two_dozen_lines() -> None:
    door = ENGINES["async"]["door.py"]
    code = re.sub(r'""".*?"""', "", door, flags=re.DOTALL).splitlines()
    lines = [line for line in code if line.strip() and "import " not in line]

    assert len(lines) <= 28


if __name__ == "__main__":
    for each in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory() as top:
            made = played((ROOT / each).read_text("utf-8"), Path(top))
        (ROOT / each).write_text(made, "utf-8")
