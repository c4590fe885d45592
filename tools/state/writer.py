"""A writer that is killed: keeps steps as fast as it can, and tells which are safe.

    python -m tools.state.writer FILE KEY NAME SEED

It tells ``ready``, waits for a line, opens the store and writes. Before each step it
tells ``?``, its number and its digest, and the same with ``!`` once ``append`` has
returned. It never ends by itself, except where something else than a kill stops it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from random import Random
from typing import Final

from refengine.messages import Message
from refengine.resume.checkpoint import Point, Splice, Start, Step
from refengine.state import SqliteStore
from refengine.state.codec import encode_step
from refengine.state.store_errors import CheckpointConflictError
from refengine.state.values import Types

_SIZES: Final = (20, 300, 5_000, 150_000)
"""Characters of a message: within a page of the file, and over many."""
_OUT: Final = 1


def texts(name: str, seed: int) -> Iterator[str]:
    """Yield the messages of a writer, each another one, short and long."""
    chance = Random(seed)  # noqa: S311  # no secret
    number = 0
    while True:
        number += 1
        size = chance.choices(_SIZES, (60, 30, 9, 1))[0]
        yield f"{name} {number} {chance.randbytes(size // 2).hex()}"


def step(seq: int, text: str) -> Step:
    """Return a step that keeps all messages before it, and adds one."""
    start = Start("killed", "seed-001", streaming=False, given=1, has_first=False)
    point = Point("tools") if seq % 2 else Point()
    added = Splice(seq, (Message("user", text),))
    return Step(
        seq, seq, added, point, {"last": text[:20]}, start=None if seq else start
    )


def digest(text: str) -> str:
    """Return what is told of a message instead of itself."""
    return sha256(text.encode()).hexdigest()[:16]


def _say(sign: str, seq: int, text: str) -> None:
    # One short write to a pipe is whole or not there, however the process ends.
    os.write(_OUT, f"{sign} {seq} {digest(text)}\n".encode())


async def _write(path: str, key: str, name: str, seed: int) -> None:
    async with SqliteStore(path) as store:
        seq, types = 0, Types()
        for text in texts(name, seed):
            while True:
                record = encode_step(step(seq, text), types)
                _say("?", seq, text)
                try:
                    await store.append(key, seq, record)
                    break
                except CheckpointConflictError as error:
                    seq = error.have
            _say("!", seq, text)
            seq += 1


def main() -> None:
    """Write until killed."""
    path, key, name, seed = sys.argv[1:]
    os.write(_OUT, b"ready\n")
    sys.stdin.readline()
    asyncio.run(_write(path, key, name, int(seed)))


if __name__ == "__main__":
    main()
