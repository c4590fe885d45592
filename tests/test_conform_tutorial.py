"""docs/conform.md shows what its commands print, in order, in one folder.

Commands after which nothing is shown are not run here, where nobody would look at what
they print: CI judges the doors that they name.

    python tests/test_conform_tutorial.py

writes the page anew with what they print now.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from compat.cli.skeletons import ENGINES

PAGE = Path(__file__).parent.parent / "docs/conform.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
VARYING = re.compile(
    r"\b[0-9a-f]{12}\b|(\d+ of )?\d+ worlds?\b|\(\d+ fixed|contract [\d.]+"
)
"""What another clause or another case in the corpus changes."""


def shell(commands: str, folder: Path) -> tuple[str, Path]:
    """Run the commands of a block; return what they printed and where they ended."""
    said, mark = [], "now in "
    done = subprocess.run(
        ["/bin/sh", "-c", f"{commands}\necho '{mark}'$PWD"],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", "PATH": _path(), "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
    )
    for line in (done.stdout + done.stderr).splitlines(keepends=True):
        if line.startswith(mark):
            folder = Path(line.removeprefix(mark).strip())
        else:
            said.append(line)
    return "".join(said), folder


def _path() -> str:
    """Return the path with this Python's own commands first."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


def python(code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {"__name__": "page"})  # noqa: S102  # our page
    return printed.getvalue()


def played(text: str, folder: Path) -> str:
    """Return the page with everything in it that is shown made anew."""
    said = ""
    files: Iterator[str] = iter(ENGINES["async"].values())

    def made(found: re.Match[str]) -> str:
        nonlocal said, folder
        language, body = found[1], found[2]
        if language == "sh":
            if shows(text[found.end() :]):
                said, folder = shell(body, folder)
        elif language == "python":
            said = python(body)
        else:
            body = next(files) if language == "py" else said
        return f"```{language}\n{body}```"

    return BLOCK.sub(made, text)


def shows(rest: str) -> bool:
    """Tell whether what follows commands begins with a block of what they did."""
    after = BLOCK.search(rest)
    return after is not None and after[1] != "sh"


def steady(text: str) -> str:
    """Return the page without what any change of the corpus changes."""
    return VARYING.sub("…", " ".join(text.split()))


def test_the_tutorial_shows_what_its_commands_print(tmp_path) -> None:
    text = PAGE.read_text("utf-8")

    assert steady(played(text, tmp_path)) == steady(text)


def test_the_door_of_the_tutorial_has_about_two_dozen_lines() -> None:
    door = ENGINES["async"]["door.py"]
    code = re.sub(r'""".*?"""', "", door, flags=re.DOTALL).splitlines()
    lines = [line for line in code if line.strip() and "import " not in line]

    assert len(lines) <= 28


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as top:
        PAGE.write_text(played(PAGE.read_text("utf-8"), Path(top)), "utf-8")
