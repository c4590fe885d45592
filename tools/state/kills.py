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
import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from compat.verdicts.exit_codes import DIFFERS, OK
from refengine.errors import RefengineError
from refengine.resume.checkpoint import Saved
from refengine.state import Checkpoints, SqliteStore
from tools.state.writer import digest, step

_LINE: Final = 3
"""Words of a line that tells of a step: sign, number and digest."""


@dataclass(frozen=True, slots=True)
class Killed:
    """What a writer had told when it was killed: of each step its number and digest."""

    key: str
    safe: tuple[tuple[int, str], ...]
    begun: tuple[int, str] | None = None
    """The step in the middle of which it was killed; None between two of them."""
    said: str = ""
    """What it complained of before: nothing, unless something is wrong."""


@dataclass(slots=True)
class KillTally:
    """What the rounds came to so far, and what is wrong with them."""

    kills: int = 0
    before: int = 0
    during: int = 0
    between: int = 0
    kept: int = 0
    """Of the steps that a kill met, so many were kept all the same."""
    safe: int = 0
    read: int = 0
    told: set[str] = field(default_factory=set[str])
    """The digests of all steps that somebody wrote, or began to."""
    wrong: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer of a round: its key, its name and seed, and when it is killed.

    The moment is counted in steps first: on a machine with other work, no number of
    seconds is surely enough for a first step.
    """

    key: str
    name: str
    seed: int
    after: int
    """So many of its steps are safe before."""
    seconds: float
    """So long it goes on then."""


def play(path: Path, writers: Sequence[Writer], found: KillTally) -> None:
    """Start the writers, have each killed at its moment, and look at the file."""
    there = [_Child(path, each) for each in writers]
    for each in there:
        each.wait_ready()
    for each in there:
        each.begin()
    killed = [each.told() for each in there]
    for one in killed:
        _count(one, found)
    rows = asyncio.run(_looked(path, found))
    found.wrong.extend(lost(killed, rows))
    found.wrong.extend(strange(found.told, rows))
    found.kept += sum(_is_kept(one, rows) for one in killed)


class _Child:
    """A writer in a process of its own, killed by who reads what it tells."""

    def __init__(self, path: Path, writer: Writer) -> None:
        self._writer = writer
        words = (str(path), writer.key, writer.name, str(writer.seed))
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # noqa: S603  # our own module
            [sys.executable, "-m", "tools.state.writer", *words],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )
        self._out = b""
        self._reader = threading.Thread(target=self._read)

    def wait_ready(self) -> None:
        """Wait until it could begin, so that those of a round begin together."""
        assert self._process.stdout is not None  # noqa: S101  # a pipe was asked for
        self._process.stdout.readline()

    def begin(self) -> None:
        """Let it write."""
        assert self._process.stdin is not None  # noqa: S101  # a pipe was asked for
        self._reader.start()  # a full pipe would stop it where no kill was meant
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        """Read all that it tells; kill it, as ``kill -9`` does, at its moment."""
        assert self._process.stdout is not None  # noqa: S101  # a pipe was asked for
        kill = threading.Timer(self._writer.seconds, self._process.kill)
        left = self._writer.after
        if not left:
            kill.start()
        for line in self._process.stdout:
            self._out += line
            if line.startswith(b"!"):
                left -= 1
                if not left:
                    kill.start()

    def told(self) -> Killed:
        """Return what it had told."""
        self._reader.join()
        said = self._process.communicate()[1].decode()
        lines = [each.split() for each in self._out.decode().splitlines()]
        whole = [each for each in lines if len(each) == _LINE]
        safe = tuple((int(seq), of) for sign, seq, of in whole if sign == "!")
        begun = None
        if whole and whole[-1][0] == "?":
            begun = int(whole[-1][1]), whole[-1][2]
        return Killed(self._writer.key, safe, begun, said)


Row = tuple[str, ...]
"""The digests of the messages of a key, in order."""


def lost(killed: Sequence[Killed], rows: dict[str, Row]) -> Iterator[str]:
    """Yield what was told to be safe and is not there, or is something else."""
    for each in killed:
        if each.said:
            yield f"{each.key}: a writer failed: {each.said.splitlines()[-1]}"
        row = rows.get(each.key, ())
        for seq, told in each.safe:
            have = row[seq] if seq < len(row) else "nothing"
            if have != told:
                yield f"{each.key}: step {seq} was safe as {told}, and {have} is there"


def strange(told: AbstractSet[str], rows: dict[str, Row]) -> Iterator[str]:
    """Yield what is there and was written by nobody."""
    for key, row in rows.items():
        for seq, each in enumerate(row):
            if each not in told:
                yield f"{key}: step {seq} is {each}, which nobody wrote"


def _is_kept(killed: Killed, rows: dict[str, Row]) -> bool:
    if killed.begun is None:
        return False
    seq, told = killed.begun
    return rows.get(killed.key, ())[seq : seq + 1] == (told,)


def _count(killed: Killed, found: KillTally) -> None:
    begun = () if killed.begun is None else (killed.begun,)
    found.told.update(of for _, of in (*killed.safe, *begun))
    found.kills += 1
    found.safe += len(killed.safe)
    found.before += not killed.safe and killed.begun is None
    found.during += killed.begun is not None
    found.between += bool(killed.safe) and killed.begun is None


async def _looked(path: Path, found: KillTally) -> dict[str, Row]:
    """Read all there is, and write one step more under each key."""
    rows: dict[str, Row] = {}
    async with SqliteStore(path) as store:
        found.wrong.extend(await store.damage())
        kept = Checkpoints(store)
        for key in await kept.keys():
            try:
                rows[key] = _row(await kept.read(key))
                found.told.add(await _go_on(kept, key, rows[key]))
            except RefengineError as error:
                found.wrong.append(f"{key}: {error}")
    found.read += sum(map(len, rows.values()))
    return rows


def _row(saved: Saved) -> Row:
    return tuple(digest(each.content) for each in saved.messages)


async def _go_on(kept: Checkpoints, key: str, row: Row) -> str:
    """Write one more step, as who resumes the run would; return its digest."""
    text = f"after {len(row)} of {key}"
    await kept.write(key, step(len(row), text))
    return digest(text)


KILLS: Final = 200
SEED: Final = 20260007
_FRESH: Final = 8
"""After so many rounds a new file is begun: making one can be killed as well."""
_STEPS: Final = (0, 1, 3, 10)
"""Steps of which one number are safe before a kill: none, while the file is opened."""
_SECONDS: Final = 0.004
"""At most so long after the start, or after the last of those steps, the kill comes."""
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
            _planned(f"writer{begun + at}", "shared" if shared else f"own {at}", chance)
            for at in range(count)
        )
        begun += count


def _planned(name: str, key: str, chance: Random) -> Writer:
    after = chance.choice(_STEPS)
    seconds = chance.uniform(0, _SECONDS)
    return Writer(key, name, chance.getrandbits(32), after, seconds)


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
