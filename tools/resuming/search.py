"""The law of INT, searched: worlds are cut at every point, resumed and compared.

    python -m tools.resuming.search --worlds 2000 [--seed N] [--jobs N]
                                      [--processes N]

A resumed run, without what was entered again, is the run that was never interrupted:
same-effects. Each world is cut at each point of each hook, wrapper and tool, at two and
at three of them, and at all; steps are kept in memory, and for every tenth world in a
SQLite file. ``--processes`` worlds are cut in one process and go on in another.

The same seed gives the same worlds. Exit code 1 if a world breaks the law: the first
one is printed with its cut and the first divergence.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from compat.verdicts.exit_codes import DIFFERS, FAULT, NOTHING_RAN, OK, USAGE
from property_tests.corpus import CorpusWorld
from property_tests.generating import HAPPENINGS, generated
from refengine.state import Checkpoints, MemoryStore, SqliteStore
from refengine.testing import Scenario
from tools.resuming.halves import in_two_processes
from tools.resuming.judging import (
    CutsJudge,
    Figures,
    Stores,
    builds_again,
    ways,
)
from tools.resuming.points import How

SEED: Final = 20260007
WORLDS: Final = 2000
PROCESSES: Final = 40
_IN_A_FILE: Final = 10
"""One world in so many is kept in a SQLite file, the others in memory."""
_IN_MEMORY: Final = Stores("memory", lambda: Checkpoints(MemoryStore()))
_FRESH: Final = "process boundary"
_COUNTED: Final = (
    "worlds left out of the sample in two processes: their operations count how often"
    " they ran, in objects that no process hands on"
)


def judged(
    scenario: Scenario, number: int, seed: int, folder: Path, figures: Figures
) -> None:
    """Judge one world in every way it is played."""
    for how in ways(scenario, number):
        chance = Random(f"{seed} {number} {how.way}")  # noqa: S311  # no secret
        file = folder / f"{number} {how.profile.name} {how.way}.db"
        with closing(SqliteStore(file)) as store:  # it is opened at its first use
            in_a_file = Stores("sqlite", partial(Checkpoints, store))
            stores = _IN_MEMORY if number % _IN_A_FILE else in_a_file
            CutsJudge(scenario, how, stores, figures).every(chance)


def across(scenario: Scenario, number: int, folder: Path, figures: Figures) -> bool:
    """Cut a world in one process and resume it in another; False if it has no cut."""
    if builds_again(scenario):
        figures.skipped[_COUNTED] += 1
        return False
    how = How(way=("native", "adapted")[number % 2])
    judge = CutsJudge(scenario, how, _IN_MEMORY, figures)
    if not judge.labels:
        return False
    cut = Random(number).randint(1, len(judge.labels))  # noqa: S311  # no secret
    figures.count(_FRESH, judge.labels[cut - 1])
    try:
        file = folder / f"halves {number}.db"
        why = judge.same(in_two_processes(scenario, how, cut, file))
    except AssertionError as error:
        why = str(error)
    if why is not None:
        judge.tell({cut}, how, f"across processes: {why}")
    return True


def search(options: argparse.Namespace, figures: Figures) -> None:
    """Judge a part of the worlds."""
    left = options.processes
    with TemporaryDirectory() as name:
        folder = Path(name)
        drawn = generated(options.worlds, seed=options.seed)
        worlds = [each.scenario for each in drawn if _goes_through(each)]
        for number, scenario in _part(worlds, options):
            judged(scenario, number, options.seed, folder, figures)
            if left and number % 3 == 0:
                left -= across(scenario, number, folder, figures)
    if left:
        raise ValueError(f"{left} of the worlds for two processes were not found")


def _goes_through(world: CorpusWorld) -> bool:
    """Tell whether a world neither asks nor is cancelled by itself: the search cuts."""
    happens = world.only or world.family in HAPPENINGS
    return not happens and not world.scenario.keeps


def _part(
    worlds: Sequence[Scenario], options: argparse.Namespace
) -> Iterator[tuple[int, Scenario]]:
    for number, scenario in enumerate(worlds):
        if number % options.jobs == options.part:
            yield number, scenario


def in_jobs(options: argparse.Namespace, figures: Figures) -> int:
    """Let each job judge its part; return the highest exit code of a job that broke."""
    jobs = [
        subprocess.Popen(  # noqa: S603  # our own module
            [
                *(sys.executable, "-m", "tools.resuming.search"),
                *("--worlds", str(options.worlds), "--seed", str(options.seed)),
                *("--jobs", str(options.jobs), "--part", str(part)),
                *("--processes", str(_share(options, part))),
            ],
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for part in range(options.jobs)
    ]
    broke = 0
    for job in jobs:
        lines, _ = job.communicate()
        if job.returncode not in {OK, DIFFERS}:
            broke = FAULT
        else:
            figures.join(json.loads(lines))
    return broke


def _share(options: argparse.Namespace, part: int) -> int:
    share, more = divmod(options.processes, options.jobs)
    return int(share + (part < more))


def shown(figures: Figures) -> str:
    """Return the figures as a few lines, and the first world that breaks the law."""
    lines = [
        (
            f"{figures.worlds} times a world was played whole and then cut:"
            f" {figures.cuts} cuts alone, {figures.several} at several points"
        ),
        (
            f"{figures.interrupts} interrupts were answered; {figures.reentered} times"
            f" a hook, wrapper or tool was entered again; {figures.waited} interrupts"
            " waited while another one was answered"
        ),
    ]
    for what, counts in sorted(figures.by.items()):
        lines.append(f"by {what}:")
        lines += [f"  {count:>8}  {name}" for name, count in sorted(counts.items())]
    lines.append("skipped:" if figures.skipped else "skipped: nothing")
    lines += [f"  {count:>8}  {why}" for why, count in sorted(figures.skipped.items())]
    if figures.broken:
        first = min(figures.broken, key=lambda each: len(each.scenario))
        lines += [
            f"{len(figures.broken)} BROKEN, of which the smallest world:",
            str(first),
        ]
    else:
        lines.append("the law held everywhere")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, print the figures, return the exit code."""
    options = _options(arguments)
    figures, began = Figures(), time.monotonic()
    broke = 0
    if options.part is None and options.jobs > 1:
        broke = in_jobs(options, figures)
    else:
        one = options.part is None
        options.part = options.part or 0
        try:
            search(options, figures)
        except ValueError as error:
            sys.stderr.write(f"tools.resuming.search: {error}\n")
            return USAGE
        if not one:
            sys.stdout.write(json.dumps(figures.to_json()))
            return DIFFERS if figures.broken else OK
    took = time.monotonic() - began
    sys.stdout.write(f"{shown(figures)}\nseed {options.seed}, {took:.0f} s\n")
    if broke:
        return broke
    if not figures.cuts:
        return NOTHING_RAN
    return DIFFERS if figures.broken else OK


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools.resuming.search")
    parser.add_argument("--worlds", type=int, default=WORLDS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for name, least in (("worlds", 1), ("jobs", 1), ("processes", 0)):
        given = getattr(options, name)
        if given < least:
            parser.error(f"--{name} {given}: give at least {least}")
    if options.processes * 6 > options.worlds * 1 and options.processes:
        parser.error(
            f"--processes {options.processes}: at most a sixth of the"
            f" {options.worlds} worlds is played so"
        )
    return options


if __name__ == "__main__":
    sys.exit(main())
