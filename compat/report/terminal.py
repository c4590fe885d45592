"""The terminal that commands print their lines on."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from rich.console import Console


class SteadyConsole(Console):
    """A console whose reader may leave, as ``| head`` does: the work goes on.

    What was asked for beside the lines, files and an exit code, is still to come. rich
    would end the program there.
    """

    def on_broken_pipe(self) -> None:
        """Print no more."""
        self.quiet = True
        with suppress(io.UnsupportedOperation):  # a stream of some test's own
            # Python flushes once more at its end, and would tell of the pipe then.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def console() -> Console:
    """Return a console that shows text as it is, and styles only where a Text has them.

    What the terminal's encoding has no letters for stands there as an escape. Brackets
    and colons are the caller's data: read as markup they would be gone, or a traceback.
    """
    stdout: object = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):  # a test may have put something else
        stdout.reconfigure(errors="backslashreplace")
    return SteadyConsole(highlight=False, soft_wrap=True, markup=False, emoji=False)
