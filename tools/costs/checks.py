"""What a check of a migration costs, beside another checkout of this project.

    python -m tools.costs.checks ../old --python ../old/.venv/bin/python --pairs 3

Both play the same migrations in turns, the first one to go changing, each once before
that, so that bytecode is there. What is measured is the processor time of the whole
command, its children with it; a machine that does other things meanwhile changes that
little. ``--write`` puts the ratios into docs/performance.md. Nothing is remembered from
an earlier check, unless a row says so. Linux only: whoever outlives a command has to
be waited for, too.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from refengine.testing.machine import facts
from tools.pages.blocks import between

ROOT: Final = Path(__file__).parents[2]
PERFORMANCE: Final = ROOT / "docs" / "performance.md"
COMMAND: Final = "tools.costs.checks"
WHAT: Final = "checks"
PARENT_OF_ORPHANS: Final = 36
"""Linux' PR_SET_CHILD_SUBREAPER."""


@dataclass(frozen=True, slots=True)
class MeasuredKind:
    """Migrations of one kind, and the ratio to the other checkout that is the aim."""

    name: str
    folder: str
    aim: float


KINDS: Final = (
    MeasuredKind("structs", "struct_to_handler/logging", 0.25),
    MeasuredKind("LangGraph → LangChain", "langgraph_to_langchain/tool_errors", 0.5),
    MeasuredKind("LangGraph → LangChain", "langgraph_to_langchain/trim_history", 0.5),
    MeasuredKind(
        "ADK callbacks → plugins", "adk_callbacks_to_plugins/refund_limit", 0.5
    ),
)


@dataclass(frozen=True, slots=True)
class MeasuredCheckout:
    """A checkout, the Python that has it installed, and options for its checks."""

    folder: Path
    python: Path
    options: Sequence[str] = ()

    def seconds(self, pack: str, env: Mapping[str, str]) -> float:
        """Return the processor time of one check, in seconds.

        Raises CalledProcessError where it does not hold.
        """
        sides = [f"examples/{pack}/{name}.py" for name in ("old", "right")]
        command = [self.python, "-m", "refengine", "migrate", "check", *sides]
        command += self.options
        return processor_seconds(list(map(str, command)), self.folder, env)


def processor_seconds(
    command: Sequence[str], folder: Path, env: Mapping[str, str]
) -> float:
    """Return the processor time of a command and of all that it started.

    Raises CalledProcessError where it fails.
    """
    done = subprocess.run(  # noqa: S603  # our own command
        [sys.executable, "-P", __file__, "--count", *command],
        cwd=folder,
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(f"python -m {COMMAND}")
    parser.add_argument("other", type=Path, help="the other checkout")
    parser.add_argument("--python", type=Path, required=True, help="which has it")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument(
        "--only", action="append", help="kinds with this in their names; repeatable"
    )
    parser.add_argument("--write", action="store_true", help="docs/performance.md")
    given = parser.parse_args(arguments)
    other = MeasuredCheckout(given.other.resolve(), given.python.absolute())
    wanted: Sequence[str] = given.only or [""]
    chosen = [
        each
        for each in KINDS
        if any(one in f"{each.name} {each.folder}" for one in wanted)
    ]
    if not chosen:
        parser.error(f"no kind has one of {wanted} in its name")
    rows = [measured(each, other, given.pairs) for each in chosen]
    text = table(rows)
    sys.stdout.write(text)
    if given.write:
        page = PERFORMANCE.read_text("utf-8")
        PERFORMANCE.write_text(between(page, WHAT, text, COMMAND), "utf-8")
    return 0


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """Seconds of each pair, the other checkout's first, and of a second check here."""

    kind: MeasuredKind
    pairs: Sequence[tuple[float, float]]
    remembered: float | None = None
    absent: str | None = None

    @property
    def ratio(self) -> float:
        """The median of the pairs' ratios."""
        return median(ours / theirs for theirs, ours in self.pairs)


def measured(kind: MeasuredKind, other: MeasuredCheckout, pairs: int) -> MeasuredRow:
    """Measure one kind in turns; a kind that cannot be played here is told."""
    here = MeasuredCheckout(ROOT, Path(sys.executable))
    with tempfile.TemporaryDirectory() as folder:
        env = caches_in(folder)
        try:
            found = in_turns(other, here, kind.folder, env, pairs)
        except subprocess.CalledProcessError as error:
            return MeasuredRow(kind, (), absent=error.stderr.strip().splitlines()[-1])
        env["REFENGINE_CHANGES"] = f"{folder}/changes"
        here.seconds(kind.folder, env)
        return MeasuredRow(kind, found, here.seconds(kind.folder, env))


def caches_in(folder: str) -> dict[str, str]:
    """Return an environment that has its bytecode there, and remembers nothing."""
    return {
        "PYTHONPYCACHEPREFIX": folder,
        "REFENGINE_CHANGES": "off",
        "PYTHONDONTWRITEBYTECODE": "",
    }


def in_turns(
    other: MeasuredCheckout,
    here: MeasuredCheckout,
    pack: str,
    env: Mapping[str, str],
    pairs: int,
) -> list[tuple[float, float]]:
    """Return the seconds of both in so many pairs, the first one to go changing.

    Each goes once before that. Raises CalledProcessError where a check does not hold.
    """
    for each in (other, here):
        each.seconds(pack, env)
    found: list[tuple[float, float]] = []
    for turn in range(pairs):
        order = [other, here][:: -1 if turn % 2 else 1]
        took = {id(each): each.seconds(pack, env) for each in order}
        found.append((took[id(other)], took[id(here)]))
    return found


def table(rows: Sequence[MeasuredRow]) -> str:
    """Return the rows as a table of a page, with what they were measured on."""
    lines = [
        "| a check of | there | here | ratio | of a second check | aim |",
        "|---|--:|--:|--:|--:|--:|",
        *map(_line, rows),
    ]
    pairs = max((len(each.pairs) for each in rows), default=0)
    return "\n".join((*lines, "", medians_of(pairs), ""))


def medians_of(pairs: int) -> str:
    """Return the sentence under a table: what the figures are, and of what machine."""
    said = facts()
    on = f"{said['cpu']}, {said['cores']} cores, {said['os']}, {said['python']}"
    return f"Medians of {pairs} pairs on {on}."


def _line(row: MeasuredRow) -> str:
    name = f"{row.kind.name}: `{row.kind.folder.rpartition('/')[2]}`"
    aim = f"≤ {row.kind.aim:g}"
    if row.absent is not None or row.remembered is None:
        return f"| {name} | | | not measured: {row.absent} | | {aim} |"
    there, here = (median(some) for some in zip(*row.pairs, strict=True))
    again = row.remembered / there
    figures = f"{there:.1f} s | {here:.1f} s | {row.ratio:.2f} | {again:.2f}"
    return f"| {name} | {figures} | {aim} |"


def count(command: Sequence[str]) -> int:
    """Run a command, and print the processor time of all that it started."""
    ctypes.CDLL(None).prctl(PARENT_OF_ORPHANS, 1, 0, 0, 0)
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  # our own command, no shell
    while _waited():
        pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stderr.write(done.stdout + done.stderr)
    sys.stdout.write(f"{used.ru_utime + used.ru_stime}\n")
    return done.returncode


def _waited() -> bool:
    """Wait for one that is left; tell whether there was any."""
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        return False
    return True


if __name__ == "__main__":
    if sys.argv[1:2] == ["--count"]:
        sys.exit(count(sys.argv[2:]))
    sys.exit(main())
