"""The law of INT, searched: worlds are cut at every point, resumed and compared.

    python -m tools.resuming.search --worlds 2000 [--seed N] [--processes N]
                                      [--on WORKERS]

A resumed run, without what was entered again, is the run that was never interrupted:
same-effects. Each world is cut at each point of each hook, wrapper and tool, at two and
at three of them, and at all; steps are kept in memory, and for every tenth world in a
SQLite file. ``--processes`` worlds are cut in one process and go on in another.

The same seed gives the same worlds. Exit code 1 if a world breaks the law: the first
one is printed with its cut and the first divergence.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from compat.cli.on import ON, spread_on
from compat.spreading import UnitData
from compat.verdicts.exit_codes import DIFFERS, NOTHING_RAN, OK, USAGE
from property_tests.corpus import CorpusWorld
from property_tests.generating import HAPPENINGS, generated
from refengine.state import Checkpoints, MemoryStore, SqliteStore
from refengine.testing import Scenario
from refengine.testing.scenario_files import read_scenario
from tools.resuming.halves import in_two_processes
from tools.resuming.judging import (
    CutsJudge,
    Figures,
    Stores,
    builds_again,
    ways,
)
from tools.resuming.points import How
from tools.searching import answers

SEED: Final = 20260007
WORLDS: Final = 2000
PROCESSES: Final = 40
AT_ONCE: Final = 4
"""So many worlds make a part, which takes seconds."""
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


def crosses(scenario: Scenario, number: int, figures: Figures) -> bool:
    """Tell whether a world can be cut in one process and go on in another."""
    if builds_again(scenario):
        figures.skipped[_COUNTED] += 1
        return False
    return bool(_crossing(scenario, number, Figures()).labels)


def across(scenario: Scenario, number: int, folder: Path, figures: Figures) -> None:
    """Cut a world in one process and resume it in another."""
    judge = _crossing(scenario, number, figures)
    cut = Random(number).randint(1, len(judge.labels))  # noqa: S311  # no secret
    figures.count(_FRESH, judge.labels[cut - 1])
    try:
        file = folder / f"halves {number}.db"
        why = judge.same(in_two_processes(scenario, _way(number), cut, file))
    except AssertionError as error:
        why = str(error)
    if why is not None:
        judge.tell({cut}, _way(number), f"across processes: {why}")


def _crossing(scenario: Scenario, number: int, figures: Figures) -> CutsJudge:
    return CutsJudge(scenario, _way(number), _IN_MEMORY, figures)


def _way(number: int) -> How:
    return How(way=("native", "adapted")[number % 2])


class FewWorldsError(ValueError):
    """Too few of the worlds can be cut in one process and go on in another."""

    def __init__(self, left: int) -> None:
        super().__init__(
            f"{left} of the worlds for two processes were not found: give more --worlds"
        )


def parts(options: argparse.Namespace, figures: Figures) -> Iterator[UnitData]:
    """Yield a few worlds at a time, and which of them go through two processes.

    Those are the first that can, of every third one. Raises FewWorldsError.
    """
    left = options.processes
    drawn = generated(options.worlds, seed=options.seed)
    worlds = enumerate(each.scenario for each in drawn if _goes_through(each))
    while some := list(islice(worlds, AT_ONCE)):
        given: list[UnitData] = []
        for number, scenario in some:
            every_third = left > 0 and number % 3 == 0
            two = every_third and crosses(scenario, number, figures)
            left -= two
            world = scenario.model_dump(mode="json", exclude_defaults=True)
            given.append({"number": number, "world": world, "across": two})
        yield {"seed": options.seed, "worlds": given}
    if left:
        raise FewWorldsError(left)


def searched(part: UnitData) -> UnitData:
    """Return the figures of a few worlds; this is what a worker plays."""
    figures = Figures()
    with TemporaryDirectory() as name:
        for each in part["worlds"]:
            scenario = read_scenario(each["world"], "a world of a part")
            judged(scenario, each["number"], part["seed"], Path(name), figures)
            if each["across"]:
                across(scenario, each["number"], Path(name), figures)
    return figures.to_json()


def _goes_through(world: CorpusWorld) -> bool:
    """Tell whether a world neither asks nor is cancelled by itself: the search cuts."""
    happens = world.only or world.family in HAPPENINGS
    return not happens and not world.scenario.keeps


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
    with spread_on("tools.resuming.search", options.on) as spread:
        try:
            for each in answers("resuming", parts(options, figures), spread):
                figures.join(each)
        except FewWorldsError as error:
            sys.stderr.write(f"tools.resuming.search: {error}\n")
            return USAGE
    took = time.monotonic() - began
    sys.stdout.write(f"{shown(figures)}\nseed {options.seed}, {took:.0f} s\n")
    if not figures.cuts:
        return NOTHING_RAN
    return DIFFERS if figures.broken else OK


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools.resuming.search")
    parser.add_argument("--worlds", type=int, default=WORLDS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--on", metavar="WORKERS", help=ON)
    options = parser.parse_args(arguments)
    for name, least in (("worlds", 1), ("processes", 0)):
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
