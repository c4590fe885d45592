"""The terminal that commands print their lines on."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.text import Text

from compat.report.plain_text import visible


class SteadyConsole(Console):
    """A console whose reader may leave, as ``| head`` does: the work goes on.

    What was asked for beside the lines, files and an exit code, is still to come. rich
    would end the program there.
    """

    def __init__(self, shown: Callable[[str], str], **how: Any) -> None:  # noqa: ANN401  # rich's
        super().__init__(**how)
        self._shown = shown

    def print(self, *objects: Any, **how: Any) -> None:  # noqa: ANN401  # rich's
        """Print lines, each as it is to be shown."""
        super().print(*map(self._line, objects), **how)

    def _line(self, line: object) -> object:
        if isinstance(line, str):
            return visible(self._shown(line))
        if not isinstance(line, Text):
            return line
        found = visible(self._shown(line.plain))
        return line if found == line.plain else Text(found, line.style)

    def on_broken_pipe(self) -> None:
        """Print no more."""
        self.quiet = True
        with suppress(io.UnsupportedOperation):  # a stream of some test's own
            # Python flushes once more at its end, and would tell of the pipe then.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def console(shown: Callable[[str], str] = str) -> Console:
    """Return a console that shows text as it is, and styles only where a Text has them.

    ``shown`` takes out of a line what is not to be shown, such as a program's secrets.

    What the terminal's encoding has no letters for, and what would move its cursor or
    turn the direction of writing, stands there as an escape: in names of files, too.
    Brackets and colons are the caller's data: read as markup they would be gone, or a
    traceback.
    """
    stdout: object = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):  # a test may have put something else
        stdout.reconfigure(errors="backslashreplace")
    return SteadyConsole(
        shown, highlight=False, soft_wrap=True, markup=False, emoji=False
    )
