"""A subject that is a command: what is started, and the words of its source."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from compat.migration.refs import RefError, SubjectLocation, SubjectRef
from compat.migration.session_copy import LEFT_OUT
from compat.migration.words import harvest
from compat.wire.scrubbing.scrubber import output_scrubber

Turns: TypeAlias = Literal["lines", "sessions", "http"]
TURNS: Final = get_args(Turns)
"""How a program reads its turns: one session a start, or any number of them."""
ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=")
"""A word before a command that sets a variable for it."""


class NoCommandError(RefError):
    """A text that is not a command line."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(
            f"{text!r} is not a command ({why}): write one such as 'python agent.py'"
        )


class MissingProgramError(RefError):
    """There is no such program."""

    def __init__(self, text: str, program: str) -> None:
        self.text = text
        self.program = program
        super().__init__(
            f"{text!r}: there is no program {program!r}; install it, or give its path"
        )


@dataclass(frozen=True, slots=True)
class ProgramCommand:
    """A command line, as the user wrote it and in words; ``cwd`` is where he stands.

    ``variables`` are those of the environment that stand before it, as for a shell.
    """

    text: str
    words: tuple[str, ...]
    cwd: Path
    turns: Turns = "lines"
    variables: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    def __str__(self) -> str:
        return self.text

    @property
    def folder(self) -> Path:
        """The folder of the program's own files: that of the first one it names."""
        for word in self.words:
            if (file := self._file(word)) is not None:
                return file.parent
        return self.cwd

    @property
    def subject(self) -> tuple[SubjectRef, SubjectLocation]:
        """The command as what is copied for its sessions."""
        ref = SubjectRef(self.text, "program", self.cwd)
        return ref, SubjectLocation(self.cwd, self.folder, None)

    def words_in(self, location: SubjectLocation) -> Sequence[str]:
        """Return the words, with files of the folder in the copy of it."""
        folder = Path(os.path.realpath(self.folder))
        first, *rest = (
            self._moved(each, folder, location.folder) for each in self.words
        )
        if first == self.words[0] and os.sep in first:
            first = str(self.cwd / first)
        return [first, *rest]

    def _moved(self, word: str, folder: Path, copy: Path) -> str:
        file = self._file(word)
        if file is None or not file.is_relative_to(folder):
            return word
        return str(copy / file.relative_to(folder))

    def _file(self, word: str) -> Path | None:
        """Return the file that a word names, but for a program that is installed."""
        path = self.cwd / word
        is_program = word == self.words[0] and os.access(path, os.X_OK)
        outside = not path.resolve().is_relative_to(self.cwd.resolve())
        if not path.is_file() or (is_program and (outside or _is_installed(path))):
            return None
        return Path(os.path.realpath(path.parent)) / path.name


def _is_installed(path: Path) -> bool:
    return (path.parent.parent / "pyvenv.cfg").exists() or "node_modules" in path.parts


def parse_command(
    text: str, turns: Turns = "lines", cwd: Path | None = None
) -> ProgramCommand:
    """Return the command of a text; raises NoCommandError and MissingProgramError."""
    here = Path.cwd() if cwd is None else cwd
    try:
        written = tuple(shlex.split(text))
    except ValueError as error:
        raise NoCommandError(text, str(error)) from error
    assigned = [*takewhile(ASSIGNED.match, written)]
    words = written[len(assigned) :]
    if not words:
        why = "it only sets variables" if assigned else "it is empty"
        raise NoCommandError(text, why)
    if shutil.which(words[0]) is None and not os.access(here / words[0], os.X_OK):
        raise MissingProgramError(text, words[0])
    pairs = (each.partition("=") for each in assigned)
    variables = {name: value for name, _, value in pairs}
    return ProgramCommand(text, words, here, turns, variables)


SUFFIXES: Final = frozenset(
    f".{name}"
    for name in [
        "py",
        "js",
        "mjs",
        "cjs",
        "ts",
        "mts",
        "jsx",
        "tsx",
        "go",
        "rs",
        "rb",
        "java",
        "kt",
        "cs",
        "php",
        "swift",
        "ex",
        "exs",
    ]
)
"""Files that are taken for source."""
MOST: Final = 200
"""So many files are read at most, those of shorter paths first."""
LONGEST: Final = 80
LITERAL: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"' + r"|'((?:[^'\\\n]|\\.)*)'")
"""A text between quotes, as nearly every language writes it."""


class NoSourceError(RefError):
    """A folder in which no file is source."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(
            f"{folder} holds no source (files of {', '.join(sorted(SUFFIXES))}):"
            " name the folder in which the programs are written"
        )


def words_in(folder: Path) -> tuple[str, ...]:
    """Return the texts of all sources in a folder; raises NoSourceError or OSError.

    A key is not a word: worlds are written into reports.
    """
    sources = dict(_sources(folder))
    if not sources:
        raise NoSourceError(folder)
    python = {name: text for name, text in sources.items() if name.endswith(".py")}
    others = (text for name, text in sources.items() if name not in python)
    texts = [*harvest(python).texts, *(each for text in others for each in _in(text))]
    short = (" ".join(each.split()) for each in texts)
    said = dict.fromkeys(each for each in short if 0 < len(each) <= LONGEST)
    scrubber = output_scrubber()
    return tuple(each for each in said if scrubber.text(each) == each)


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    files = sorted(
        (len(each.parts), each)
        for each in folder.rglob("*")
        if each.suffix in SUFFIXES and not LEFT_OUT.intersection(each.parts)
    )
    for _, file in files[:MOST]:
        yield str(file), file.read_text("utf-8", "replace")


def _in(text: str) -> Iterator[str]:
    for found in LITERAL.finditer(text):
        yield found[1] if found[1] is not None else found[2]
