"""Pages as programs: what stands in their blocks is done, in order, in one folder.

A block of ``sh`` is run, and the ``text`` behind it is what it prints. A block with a
title is a file: ``python``, ``json`` and the like write it, ``py`` shows one that a
command has written. A block of ``python`` without a title is run here.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.commands import refengine

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(
    r'^```(\w*)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL
)
VARYING = re.compile(
    r"\b[0-9a-f]{12}\b|(\d+ of )?\d+ worlds?\b|\(\d+ fixed|\d+ recorded|contract [\d.]+"
)
"""What another clause or another case in the corpus changes."""
SHELL = re.compile(r"[|><&;$`\\]")
"""What a line has that only a shell understands."""
QUIET = " >/dev/null"
"""What a line ends with whose output is not looked at."""
WHOLE = re.compile(r"<<|\\$", re.MULTILINE)
"""What a block has whose lines are not a command each."""


class Block(NamedTuple):
    """A block of a page: its language, the file that it is, and what stands in it."""

    language: str
    title: str
    body: str


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page of the repository."""
    text = (ROOT / page).read_text("utf-8")
    return [Block(each[1], each[2] or "", each[3]) for each in BLOCK.finditer(text)]


def shell(commands: str, folder: Path) -> tuple[str, Path]:
    """Run the commands of a block; return what they printed and where they ended.

    Ours are run in this process, where no other program of theirs stands beside them.
    """
    whole = WHOLE.search(commands)
    said = ""
    for each in [commands] if whole else commands.splitlines():
        line = each.removesuffix(QUIET)
        if line.startswith("refengine ") and not SHELL.search(line):
            done = refengine(*shlex.split(line)[1:], at=folder)
            said += done.stderr if line != each else done.stdout + done.stderr
        else:
            more, folder = _in_a_shell(each, folder)
            said += more
    return said, folder


def _in_a_shell(commands: str, folder: Path) -> tuple[str, Path]:
    said, mark = [], "now in "
    ran = subprocess.run(
        ["/bin/sh", "-c", f"{commands}\necho '{mark}'$PWD"],
        cwd=folder,
        env={
            **os.environ,
            "REFENGINE_CHANGES": "off",
            "COLUMNS": "80",
            "PATH": _path(),
            "TERM": "dumb",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    for line in (ran.stdout + ran.stderr).splitlines(keepends=True):
        if line.startswith(mark):
            folder = Path(line.removeprefix(mark).strip())
        else:
            said.append(line)
    return "".join(said), folder


def _path() -> str:
    """Return the path with this Python's own commands first."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


def python(code: str, names: dict[str, object]) -> str:
    """Run a block of Python with the names of those before; return what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "a page", "exec"), names)  # noqa: S102  # our page
    return printed.getvalue()


def played(text: str, folder: Path) -> str:
    """Return the page with everything in it that is shown made anew.

    Commands behind which nothing is shown are not run, where nobody would look at what
    they print.
    """
    said, names = "", dict[str, object](__name__="page")

    def made(found: re.Match[str]) -> str:
        nonlocal said, folder
        language, title, body = found[1], found[2], found[3]
        if language == "sh":
            if shows(text[found.end() :]):
                said, folder = shell(body, folder)
        elif language == "py":
            body = (folder / title).read_text("utf-8")
        elif title:
            (folder / title).parent.mkdir(parents=True, exist_ok=True)
            (folder / title).write_text(body, "utf-8")
        elif language == "python":
            said = python(body, names)
        elif language in {"", "text"}:
            body = said
        named = f' title="{title}"' if title else ""
        return f"```{language}{named}\n{body}```"

    return BLOCK.sub(made, text)


def shows(rest: str) -> bool:
    """Tell whether what follows commands begins with a block of what they did."""
    after = BLOCK.search(rest)
    return after is not None and after[1] in {"", "text", "py"}


def steady(text: str) -> str:
    """Return the page without what any change of the corpus changes."""
    return VARYING.sub("…", " ".join(text.split()))
