"""The words of a program's source, in whatever language it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compat.migration.refs import RefError
from compat.migration.session_copy import LEFT_OUT
from compat.migration.words import harvest
from compat.wire.scrubbing.outputs import output_scrubber

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
