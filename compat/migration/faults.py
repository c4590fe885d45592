"""Why a side could not be played: who, in which world, what, and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ADVICE: Final[Mapping[str, str]] = {
    "syntax": "correct the file",
    "import": "make it importable on its own",
    "missing-file": "give a file, or a module that can be imported from here",
    "missing-name": "give the name of a function subject(world)",
    "not-callable": "give the name of a function subject(world)",
    "exit": "a subject must not end the process",
    "ended": "a subject must not end the process",
    "killed": "see what it calls that is not Python",
    "fork": "start processes with subprocess, or multiprocessing with 'spawn'",
    "timeout": "make it end, or allow it more time",
    "intent": "correct the predicate",
    "harness": "please report it",
}
"""What to do about each kind of fault; the others say it themselves."""


class SideFault(Exception):
    """A side could not be played: who, in which world, what, and what to do.

    Kinds before any world: missing-file, missing-name, not-callable, syntax, import.
    In a world: raised, wrong-result, effect, endless, exit, intent, harness. With
    these, in a world or before, the side is over: fork, timeout, ended, killed, closed.
    """

    def __init__(
        self, kind: str, label: str, reference: str, text: str, world: int | None = None
    ) -> None:
        self.kind = kind
        self.label = label
        self.reference = reference
        self.text = text
        self.world = world
        where = "" if world is None else f", world {world}"
        helped = kind not in ADVICE or text.endswith("?")
        advice = "" if helped else f"; {ADVICE[kind]}"
        super().__init__(f"{label} ({reference}){where}: {text}{advice}")


def line_in(text: bytes, folder: Path) -> str:
    """Return the innermost line in that folder of a traceback of faulthandler's."""
    pattern = r'  File "(.+)", line (\d+) in '
    for file, line in re.findall(pattern, text.decode(errors="replace")):
        if Path(file).is_relative_to(folder):
            return f" ({Path(file).relative_to(folder)}, line {line})"
    return ""
