"""``python -m benchmarks.checks REV OLD NEW``: how fast checks are, beside a commit.

Both trees judge the same pair in turn, so that what else a machine does falls on both.
The number to read is the ratio: its middle, and its middle half. Small changes of NEW
and the search for more worlds are left out, which an earlier commit may not have.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from refengine.testing.machine import facts

ROOT: Final = Path(__file__).resolve().parent.parent
ROUNDS: Final = 7
BARE: Final = ("--sharpness-plays", "--search-plays")
"""Options of what is not measured; 0 leaves it out, where a tree has it."""
WORLDS: Final = re.compile(r"Rests on ([\d,]+) worlds?\b")


@dataclass(frozen=True, slots=True)
class TimedCheck:
    """One check: the seconds that the whole command took, and its worlds."""

    seconds: float
    worlds: int


class CheckFailedError(RuntimeError):
    """A check of one of the trees told nothing that could be timed."""

    def __init__(self, tree: Path, printed: str) -> None:
        self.tree = tree
        super().__init__(f"{tree}: the check gave no report:\n{printed}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    given = _parser().parse_args(arguments)
    pair = [str(Path(each).resolve()) for each in (given.old, given.new)]
    with TemporaryDirectory() as place:
        tree = Path(place)
        _unpack(given.revision, tree)
        sides = [(each, _bare(each)) for each in (tree, ROOT)]
        for side in sides:  # what is read once a machine, and compiled once a tree
            timed(*side, pair)
        rounds = [[timed(*side, pair) for side in sides] for _ in range(given.rounds)]
    for line in told(given.revision, rounds):
        print(line)  # noqa: T201  # a command
    print(", ".join(f"{name}: {value}" for name, value in facts().items()))  # noqa: T201  # a command
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.checks", description=__doc__)
    parser.add_argument("revision", metavar="REV", help="the commit to compare with")
    parser.add_argument("old", metavar="OLD", help="a subject's file")
    parser.add_argument("new", metavar="NEW", help="its port")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="checks of each")
    return parser


def timed(tree: Path, bare: Sequence[str], pair: Sequence[str]) -> TimedCheck:
    """Judge a pair with the code of a tree; raises CheckFailedError."""
    begun = perf_counter()
    done = _run(tree, "migrate", "check", *pair, *bare)
    seconds = perf_counter() - begun
    found = WORLDS.search(done.stdout)
    if found is None:
        raise CheckFailedError(tree, done.stdout + done.stderr)
    return TimedCheck(seconds, int(found[1].replace(",", "")))


def told(revision: str, rounds: Sequence[Sequence[TimedCheck]]) -> list[str]:
    """Return the lines of the report: of each tree, and of the pairs."""
    names = (revision, "here")
    lines: list[str] = []
    for name, checks in zip(names, zip(*rounds, strict=True), strict=True):
        seconds = median(each.seconds for each in checks)
        rate = median(each.worlds / each.seconds for each in checks)
        lines.append(f"{name}: {seconds:.2f} s a check, {rate:.0f} worlds a second")
    ratios = [here.seconds / there.seconds for there, here in rounds]
    middle = quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
    lines.append(
        f"here takes {middle[1]:.2f} of the time ({middle[0]:.2f} to {middle[2]:.2f},"
        f" {len(ratios)} pairs)"
    )
    return lines


def _bare(tree: Path) -> list[str]:
    """Return the options that leave out what is not measured, as far as there are."""
    known = _run(tree, "migrate", "check", "--help").stdout
    return [part for each in BARE if each in known for part in (each, "0")]


def _run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  # our own Python, no shell
        [sys.executable, "-m", "refengine", *arguments],
        cwd=tree,
        env=_environment(tree),
        check=False,
        capture_output=True,
        text=True,
    )


def _environment(tree: Path) -> Mapping[str, str]:
    """Return an environment in which that tree stands before what is installed."""
    return {**os.environ, "PYTHONPATH": str(tree)}


def _unpack(revision: str, place: Path) -> None:
    """Write the tree of a commit into a folder; raises CalledProcessError."""
    done = subprocess.run(  # noqa: S603  # as above
        ["git", "archive", "--format=tar", revision],  # noqa: S607  # the user's git
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(place, filter="data")


if __name__ == "__main__":
    sys.exit(main())
