"""Records of what the code does now, to be compared byte by byte after a change.

    python -m tools.net record before            # of this checkout
    ... change the code ...
    python -m tools.net record after
    python -m tools.net compare before after

A record is a folder with one file for each probe. ``--root`` and ``--python`` record
another checkout by its own environment, so that one net serves both sides; ``--only``
takes a few probes, because all of them take about ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from refengine import Json

DOORS: Final = (
    "reference",
    "reference-legacy",
    "reference-adapted",
    "langchain",
    "langgraph",
)
EXAMPLES: Final = ("struct_to_handler", "langgraph_to_langchain")
VOLATILE: Final = frozenset(("command", "started", "took", "seconds", "python"))
"""Keys of reports that differ from run to run."""
SHOWN: Final = 40
"""How many lines of a difference are printed."""


class NetError(Exception):
    """A record that cannot be made or compared; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The tree that is recorded, and the Python that it is installed in."""

    root: Path
    python: Path

    def run(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run Python there and return what it printed; any exit code is part of it."""
        done = subprocess.run(  # noqa: S603  # the Python that was asked for
            [str(self.python), *arguments],
            cwd=cwd or self.root,
            env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        tail = done.stderr if done.returncode else ""
        return f"{done.stdout}{tail}exit code {done.returncode}\n"

    def refengine(self, *arguments: str) -> str:
        """Run a command of refengine and return what it printed."""
        return self.run("-m", "refengine", *arguments)


Probe: TypeAlias = Callable[[Checkout, Path], str]
"""Records one thing of a checkout, given a folder of its own to write to."""


def conform(door: str, checkout: Checkout, folder: Path) -> str:
    """Return every event of a judgement, a line each."""
    events = folder / "events.jsonl"
    checkout.refengine("conform", door, "--examples", "100", "--events", str(events))
    return "".join(map(_stable_line, events.read_text("utf-8").splitlines()))


def mutants(checkout: Checkout, folder: Path) -> str:
    """Return which clauses kill which mutant."""
    matrix = folder / "matrix.json"
    checkout.refengine("mutant", "matrix", "--json", str(matrix))
    return _stable(matrix)


def migrations(example: str, checkout: Checkout, folder: Path) -> str:
    """Return the whole report about a folder of migrations."""
    report = folder / "report.json"
    examples = f"examples/{example}"
    checkout.refengine("migrate", "check", "--all", examples, "--json", str(report))
    return _stable(report)


def observations(checkout: Checkout, folder: Path) -> str:
    """Return what became of each recorded row."""
    report = folder / "report.json"
    rows = sorted((checkout.root / "compat/observe/rows").glob("*.json"))
    checkout.refengine("observe", *map(str, rows), "--json", str(report))
    return _stable(report)


def checkpoints(checkout: Checkout, folder: Path) -> str:
    """Return the bytes of a kept run's steps, and what is shown of them."""
    approve = str(checkout.root / "examples/approval/approve.py")
    asked = checkout.run(approve, "ask", cwd=folder)
    store = str(folder / "runs.db")
    shown = checkout.refengine("checkpoint", "show", store, "run 7")
    answered = checkout.run(approve, "yes", cwd=folder)
    steps = checkout.run("-c", _STEPS, store)
    return asked + shown + answered + steps


def public_names(checkout: Checkout, folder: Path) -> str:
    """Return the public names with their signatures, and those of their members."""
    return checkout.run("-c", _NAMES, cwd=folder)


def helps(checkout: Checkout, folder: Path) -> str:
    """Return the help of refengine, of each command and of each command within."""
    del folder
    return "\n".join(_helps(checkout, ()))


def _helps(checkout: Checkout, path: tuple[str, ...]) -> Iterator[str]:
    text = checkout.refengine(*path, "--help")
    yield f"$ refengine {' '.join(path)} --help\n{text}"
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.MULTILINE)
    rows = listed[1] if listed else "" if path else text
    for name in re.findall(r"^  ([a-z]+) {2,}\S", rows, re.MULTILINE):
        yield from _helps(checkout, (*path, name))


PROBES: Final[dict[str, Probe]] = {
    "names": public_names,
    "help": helps,
    "checkpoints": checkpoints,
    "observe": observations,
    **{f"conform-{door}": partial(conform, door) for door in DOORS},
    **{f"migrate-{each}": partial(migrations, each) for each in EXAMPLES},
    "mutants": mutants,
}


def _stable(path: Path) -> str:
    """Return a JSON document without what differs from run to run, a value a line."""
    document = json.loads(path.read_text("utf-8"))
    return json.dumps(_without(document), indent=1, ensure_ascii=False) + "\n"


def _stable_line(line: str) -> str:
    return json.dumps(_without(json.loads(line)), ensure_ascii=False) + "\n"


def _without(value: Json) -> Json:
    if isinstance(value, dict):
        return {k: _without(each) for k, each in value.items() if k not in VOLATILE}
    if isinstance(value, list):
        return [_without(each) for each in value]
    return value


_STEPS: Final = """
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1])
tables = sorted(row[0] for row in rows.execute("select name from sqlite_master"))
for table in tables:
    for row in rows.execute(f"select * from [{table}]") if "index" not in table else ():
        print(table, *[v.hex() if isinstance(v, bytes) else v for v in row])
"""

_NAMES: Final = """
import importlib, inspect, re

def shown(value):
    try:
        text = str(inspect.signature(value)).replace(chr(39), "")
        return re.sub(" at 0x[0-9a-f]+", "", text)
    except (TypeError, ValueError):
        return type(value).__name__

for package in "refengine", "refengine.testing", "refengine.state":
    module = importlib.import_module(package)
    for name in sorted(module.__all__):
        value = getattr(module, name)
        print(f"{package}.{name}", shown(value) if callable(value) else type(value))
        members = vars(value).items() if inspect.isclass(value) else ()
        for member, inner in sorted(members, key=lambda pair: pair[0]):
            if not member.startswith("_") and inspect.isfunction(inner):
                print(f"{package}.{name}.{member}", shown(inner))
"""


def record(checkout: Checkout, out: Path, only: Sequence[str]) -> None:
    """Write one file a probe into ``out``; raises NetError for an unknown probe."""
    unknown = sorted({*only} - {*PROBES})
    if unknown:
        raise NetError(f"no probe {unknown[0]!r}; there are {', '.join(PROBES)}")
    out.mkdir(parents=True, exist_ok=True)
    for name in only or PROBES:
        with tempfile.TemporaryDirectory() as folder:
            text = PROBES[name](checkout, Path(folder).resolve())
            text = text.replace(str(Path(folder).resolve()), "<folder>")
            text = text.replace(str(checkout.root), "<root>")
        (out / f"{name}.txt").write_text(text, "utf-8")
        print(f"{name}: {len(text)} characters")  # noqa: T201  # a command answers


def compare(old: Path, new: Path) -> bool:
    """Print the first lines in which records differ; return whether none does.

    Raises NetError where a record is missing on one side, or there is none.
    """
    names = {each.name for folder in (old, new) for each in folder.glob("*.txt")}
    if not names:
        raise NetError(f"no records in {old} and {new}: make them with 'record'")
    equal = True
    for name in sorted(names):
        sides = [folder / name for folder in (old, new)]
        for each in sides:
            if not each.is_file():
                raise NetError(
                    f"{each} is missing: record it, or compare other folders"
                )
        before, after = (each.read_text("utf-8").splitlines() for each in sides)
        print(f"{'equal  ' if before == after else 'DIFFERS'} {name}")  # noqa: T201  # as above
        equal = equal and before == after
        lines = difflib.unified_diff(before, after, "before", "after", "", "", 1, "")
        for _, line in zip(range(SHOWN), lines, strict=False):
            print(f"    {line[:300]}")  # noqa: T201  # as above
    return equal


def main(arguments: Sequence[str] | None = None) -> None:
    """Record or compare; exits with 1 where records differ, 2 for a mistake."""
    parser = argparse.ArgumentParser(prog="python -m tools.net", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("out", type=Path)
    recorder.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    recorder.add_argument("--python", type=Path, default=Path(sys.executable))
    recorder.add_argument("--only", nargs="+", default=[], metavar="PROBE")
    comparer = commands.add_parser("compare")
    comparer.add_argument("old", type=Path)
    comparer.add_argument("new", type=Path)
    given = parser.parse_args(arguments)
    try:
        if given.command == "record":
            checkout = Checkout(given.root.resolve(), given.python.absolute())
            record(checkout, given.out, given.only)
        elif not compare(given.old, given.new):
            sys.exit(1)
    except NetError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
