"""The terminal that commands print their lines on."""

from __future__ import annotations

import io
import sys

from rich.console import Console


def console() -> Console:
    """Return a console that shows text as it is, and styles only where a Text has them.

    What the terminal's encoding has no letters for stands there as an escape. Brackets
    and colons are the caller's data: read as markup they would be gone, or a traceback.
    """
    stdout: object = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):  # a test may have put something else
        stdout.reconfigure(errors="backslashreplace")
    return Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
