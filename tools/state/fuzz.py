"""The decoder against data that nobody wrote: ``python -m tools.state.fuzz``.

    python -m tools.state.fuzz --inputs 200000 --seed 1

Each input ends in a step, which then is written and read again to an equal one, or in
one of the documented errors. Nothing is imported meanwhile. Prints how many ended how,
the most processor time that one input took, for reading it and what comes of it, and
the most memory that reading one took.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Final

from refengine.state.codec import decode_step, encode_step
from refengine.state.errors import (
    BadCheckpointError,
    BadTreeError,
    DamagedCheckpointError,
    DecodeError,
    ForeignFileError,
    NewerFormatError,
    OversizedCheckpointError,
    TooDeepError,
    TruncatedCheckpointError,
    UnknownCodecError,
    UnknownTypeError,
)
from refengine.state.values import Types
from tools.state.mutating import WAYS, resealed
from tools.state.samples import WRITER, sample_types, samples

DOCUMENTED: Final = (
    BadCheckpointError,
    BadTreeError,
    DamagedCheckpointError,
    DecodeError,
    ForeignFileError,
    NewerFormatError,
    OversizedCheckpointError,
    TooDeepError,
    TruncatedCheckpointError,
    UnknownCodecError,
    UnknownTypeError,
)
"""What reading a checkpoint may raise; no other class, no base of these."""
MOST_SECONDS: Final = 10.0
MOST_BYTES: Final = 512 * 2**20


@dataclass(slots=True)
class FuzzTally:
    """What a search has seen: inputs by way and outcome, and the worst of each."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    longest: float = 0.0
    largest: int = 0
    imported: set[str] = field(default_factory=set[str])


def records() -> list[bytes]:
    """Return the samples as records."""
    types = sample_types()
    return [encode_step(step, types, writer=WRITER) for step in samples().values()]


def inputs(
    seed: int, count: int, known: Sequence[bytes]
) -> Iterator[tuple[str, bytes]]:
    """Yield inputs by the way they were made: each cut of each record, then others."""
    random = Random(seed)  # noqa: S311  # a search has to be repeatable
    cuts = [record[:at] for record in known for at in range(len(record))]
    yield from (("cut", each) for each in cuts[:count])
    ways, weights = list(WAYS), [weight for _, weight in WAYS.values()]
    for _ in range(count - len(cuts)):
        [way] = random.choices(ways, weights)
        yield way, WAYS[way][0](random, known)


def outcome(record: bytes, types: Types) -> str:
    """Return how reading a record ends: ``decoded``, or the name of an error.

    Raises what is not documented, and AssertionError for a step that does not come
    back equal.
    """
    try:
        step = decode_step(record, types)
    except DOCUMENTED as error:
        if type(error) not in DOCUMENTED or not str(error).isprintable():
            raise
        return type(error).__name__
    written = encode_step(step, types, writer=WRITER)
    if encode_step(decode_step(written, types), types, writer=WRITER) != written:
        raise AssertionError(record)
    return "decoded"


def search(seed: int, count: int, known: Sequence[bytes]) -> FuzzTally:
    """Return what reading so many inputs gave, made of the records that are known.

    Raises at the first that is wrong, what ``outcome`` raises.
    """
    found = FuzzTally()
    registries = (sample_types(), sample_types(keep_unknown=True))
    _warm_up(registries)
    before = set(sys.modules)
    for at, (way, record) in enumerate(inputs(seed, count, known)):
        types = registries[at % 2]
        began = time.process_time()
        end = outcome(record, types)
        found.longest = max(found.longest, time.process_time() - began)
        if way in {"bomb", "chained"}:
            found.largest = max(found.largest, _memory(record, types))
        found.outcomes[way, end] += 1
    found.imported = set(sys.modules) - before
    return found


def _warm_up(registries: Sequence[Types]) -> None:
    """Load what the decoder itself loads when it is used: no data names that."""
    for types in registries:
        for record in records():
            outcome(record, types)
            outcome(record[:-1], types)
            outcome(resealed({"seq": record.decode("ascii")}), types)


def _memory(record: bytes, types: Types) -> int:
    """Return the most bytes that reading a record takes besides itself."""
    tracemalloc.start()
    try:
        with suppress(*DOCUMENTED):
            decode_step(record, types)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def faults(found: FuzzTally) -> list[str]:
    """Return what is not as it is promised."""
    checks = {
        f"modules were imported: {sorted(found.imported)}": bool(found.imported),
        f"one input took {found.longest:.1f} s": found.longest > MOST_SECONDS,
        f"one input took {found.largest:,} bytes": found.largest > MOST_BYTES,
    }
    return [text for text, wrong in checks.items() if wrong]


def report(found: FuzzTally) -> Iterator[str]:
    """Yield the lines of a report."""
    ends = sorted({end for _, end in found.outcomes})
    for end in ends:
        ways = {way: n for (way, each), n in found.outcomes.items() if each == end}
        detail = ", ".join(f"{way} {n:,}" for way, n in sorted(ways.items()))
        yield f"{end:26}{sum(ways.values()):>9,}   {detail}"
    yield f"{'inputs':26}{found.outcomes.total():>9,}"
    yield f"longest {found.longest:.2f} s, largest {found.largest / 2**20:.0f} MiB"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a search and print what it found; 1 if something is not as promised."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.state.fuzz", description=__doc__
    )
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    found = search(given.seed, given.inputs, records())
    for line in (*report(found), *faults(found)):
        print(line)  # noqa: T201  # a command answers
    return int(bool(faults(found)))


if __name__ == "__main__":
    raise SystemExit(main())
