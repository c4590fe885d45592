"""The page of the pieces of ADK shows what the installed framework does.

It skips where the extra ``adk`` is not installed; CI runs it where it is.
"""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "examples/adk_callbacks_to_plugins/README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

INSTALLED = find_spec("google") is not None and find_spec("google.adk") is not None


@pytest.mark.skipif(not INSTALLED, reason="needs the extra 'adk'")
def test_the_page_shows_what_its_program_prints() -> None:
    found = dict(BLOCK.findall(PAGE.read_text("utf-8")))

    done = subprocess.run(
        [sys.executable, "-P", "-c", found["python"]],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == found["text"]
