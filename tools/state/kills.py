"""Kills writers of a SQLite store for good, and looks whether what was safe is there.

    python -m tools.state.kills [--kills N] [--seed N]

Real processes write steps as fast as they can, alone or several at once, each under a
key of its own or all under one, and tell of each step when it is safe. They are killed
(SIGKILL) at random moments, before, during and between writes. Then the file is read:
what was told to be safe is there, byte by byte what was written; nothing else is;
SQLite finds the file whole; the next writer goes on. Exit code 1 if not.

The moments come from the seed; where in a write they fall is the machine's.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from compat.verdicts.exit_codes import DIFFERS, OK
from tools.state.rounds import KillTally, Writer, play

KILLS: Final = 200
SEED: Final = 20260007
_FRESH: Final = 8
"""After so many rounds a new file is begun: making one can be killed as well."""
_MOMENTS: Final = (0.002, 0.02, 0.06)
"""Seconds after the start, at most: while the file is opened, soon after, and later."""
_MOST: Final = 4
"""Writers at once."""


def planned(kills: int, seed: int) -> Iterator[tuple[Writer, ...]]:
    """Yield the writers of each round, until there are that many."""
    chance = Random(seed)  # noqa: S311  # no secret
    begun = 0
    while begun < kills:
        count = min(chance.randint(1, _MOST), kills - begun)
        shared = chance.random() < 0.5
        yield tuple(
            Writer(
                key="shared" if shared else f"own {at}",
                name=f"writer{begun + at}",
                seed=chance.getrandbits(32),
                after=chance.uniform(0, chance.choice(_MOMENTS)),
            )
            for at in range(count)
        )
        begun += count


def run(kills: int, seed: int, folder: Path, *, fresh: int = _FRESH) -> KillTally:
    """Play that many kills in the folder; return what they came to."""
    found = KillTally()
    for at, writers in enumerate(planned(kills, seed)):
        play(folder / f"store{at // fresh}.db", writers, found)
    return found


def shown(found: KillTally) -> str:
    """Return the figures as a few lines."""
    met = (
        f"{found.during} during one ({found.kept} of those steps were kept all the"
        f" same, {found.during - found.kept} are not there)"
    )
    before = f"{found.before} before a first write"
    lines = [
        f"{found.kills} kills: {before}, {met}, {found.between} between two",
        f"{found.safe} steps were told to be safe, {found.read} were read back",
        *(f"WRONG: {each}" for each in found.wrong),
    ]
    told = f"{len(found.wrong)} wrong" if found.wrong else "nothing was lost or torn"
    return "\n".join((*lines, told))


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, print the figures, return the exit code."""
    parser = argparse.ArgumentParser(prog="tools.state.kills")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    if options.kills < 1:
        parser.error(f"--kills {options.kills}: give at least 1")
    began = time.monotonic()
    with TemporaryDirectory() as folder:
        found = run(options.kills, options.seed, Path(folder))
    took = time.monotonic() - began
    sys.stdout.write(f"{shown(found)}\nseed {options.seed}, {took:.0f} s\n")
    return DIFFERS if found.wrong else OK


if __name__ == "__main__":
    sys.exit(main())
