"""Commands of refengine in processes of their own: how long they take, and how much."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from refengine.errors import RefengineError

Words: TypeAlias = Sequence[object]


class StepFailedError(RefengineError):
    """A command that did not end as it should."""

    def __init__(self, words: Words, code: int, said: str) -> None:
        line = " ".join(map(str, words))
        super().__init__(f"refengine {line} ended with code {code}: {said.strip()}")


@dataclass(frozen=True, slots=True)
class RanCommands:
    """What commands that ran side by side took.

    ``megabytes`` are the most that any one process of theirs held at any time. Linux
    counts what this process held when it started them, too, so they are no less.
    """

    seconds: float
    megabytes: float
    said: tuple[str, ...]


def ran(folder: Path, *commands: Words) -> RanCommands:
    """Run commands side by side in a folder; raises StepFailedError."""
    began = time.perf_counter()
    children = [
        subprocess.Popen(  # noqa: S603  # our own command
            [sys.executable, "-m", "refengine", *map(str, words)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        for words in commands
    ]
    said: list[str] = []
    most = 0
    for words, child in zip(commands, children, strict=True):
        if child.stdout is None:
            raise AssertionError(words)  # it is a pipe
        with child.stdout as out:
            said.append(out.read())
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise StepFailedError(words, child.returncode, said[-1])
        most = max(most, used.ru_maxrss)  # its own, or that of a child it waited for
    return RanCommands(time.perf_counter() - began, most / 1024, tuple(said))
