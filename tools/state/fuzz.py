"""The decoder against data that nobody wrote: ``python -m tools.state.fuzz``.

    python -m tools.state.fuzz --inputs 200000 --seed 1 [--on WORKERS]

Each input ends in a step, which then is written and read again to an equal one, or in
one of the documented errors. Nothing is imported meanwhile. Prints how many ended how,
the most processor time that one input took, for reading it and what comes of it, and
the most memory that reading one took.

For workers inputs are cut into parts. Each input is made of the random numbers that the
one before it left, so a part has the state in which they are, and who cuts makes all
inputs once more; what is measured, seconds and memory, is the worst of all parts.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from threading import get_ident
from typing import Final

from compat.cli.on import ON, spread_on
from compat.spreading import UnitData
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
from tools.searching import answers, at_least_one, say
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
AT_ONCE: Final = 2_000
"""So many inputs make a part, which takes seconds."""
MOST_SECONDS: Final = 10.0
MOST_BYTES: Final = 512 * 2**20


@dataclass(slots=True)
class FuzzTally:
    """What a search has seen: inputs by way and outcome, and the worst of each."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    longest: float = 0.0
    largest: int = 0
    imported: set[str] = field(default_factory=set[str])
    wrong: str = ""

    def to_json(self) -> UnitData:
        """Return it as JSON values."""
        return {
            "outcomes": [[*each, number] for each, number in self.outcomes.items()],
            "longest": self.longest,
            "largest": self.largest,
            "imported": sorted(self.imported),
            "wrong": self.wrong,
        }

    def join(self, part: UnitData) -> None:
        """Add what a part has seen, as ``to_json`` gave it."""
        for way, end, number in part["outcomes"]:
            self.outcomes[way, end] += number
        self.longest = max(self.longest, part["longest"])
        self.largest = max(self.largest, part["largest"])
        self.imported.update(part["imported"])
        self.wrong = part["wrong"]


def records() -> list[bytes]:
    """Return the samples as records."""
    types = sample_types()
    return [encode_step(step, types, writer=WRITER) for step in samples().values()]


def inputs(
    random: Random, span: range, known: Sequence[bytes]
) -> Iterator[tuple[str, bytes]]:
    """Yield inputs by the way they were made: each cut of each record, then others.

    Of all there are it yields those of a span, with random numbers as they are there.
    """
    cuts = [record[:at] for record in known for at in range(len(record))]
    ways, weights = list(WAYS), [weight for _, weight in WAYS.values()]
    for at in span:
        if at < len(cuts):
            yield "cut", cuts[at]
        else:
            [way] = random.choices(ways, weights)
            yield way, WAYS[way][0](random, known)


def parts(seed: int, count: int, size: int) -> Iterator[UnitData]:
    """Yield a search as parts of so many inputs; without others there is only one."""
    random = Random(seed)  # noqa: S311  # a search has to be repeatable
    known = records()
    for first in range(0, count, size):
        span = range(first, min(first + size, count))
        yield {"random": random.getstate(), "first": first, "count": len(span)}
        if span.stop < count:
            deque(inputs(random, span, known), maxlen=0)


def searched(part: UnitData) -> UnitData:
    """Return what reading the inputs of a part gave; this is what a worker plays."""
    version, internal, following = part["random"]
    random = Random()  # noqa: S311  # a search has to be repeatable
    random.setstate((version, tuple(internal), following))
    span = range(part["first"], part["first"] + part["count"])
    return search(random, span, records()).to_json()


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


def search(random: Random, span: range, known: Sequence[bytes]) -> FuzzTally:
    """Return what reading the inputs of a span gave, up to the first that is wrong."""
    found = FuzzTally()
    registries = (sample_types(), sample_types(keep_unknown=True))
    _warm_up(registries)
    with _imports() as found.imported:
        for at, (way, record) in zip(span, inputs(random, span, known), strict=True):
            types = registries[at % 2]
            began = time.thread_time()
            try:
                end = outcome(record, types)
            except Exception as error:  # noqa: BLE001  # no other may come out
                found.wrong = f"input {at}, {way}: {error!r:.500}\n{record[:500]!r}"
                break
            found.longest = max(found.longest, time.thread_time() - began)
            if way in {"bomb", "chained"}:
                found.largest = max(found.largest, _memory(record, types))
            found.outcomes[way, end] += 1
    return found


class _Imports:
    """Looks for no module, and puts down which ones its thread looks for."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._thread = get_ident()

    def find_spec(self, name: str, *_: object) -> None:
        """Put a name down; who is asked next finds the module."""
        if get_ident() == self._thread:  # others of a worker import when they like
            self._names.add(name)


@contextmanager
def _imports() -> Generator[set[str], None, None]:
    """Yield the names of what this thread imports that was not there before."""
    names: set[str] = set()
    looking = _Imports(names)
    sys.meta_path.insert(0, looking)
    try:
        yield names
    finally:
        sys.meta_path.remove(looking)


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
        found.wrong: bool(found.wrong),
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
    parser.add_argument("--inputs", type=at_least_one, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--on", metavar="WORKERS", help=ON)
    given = parser.parse_args(arguments)
    found = FuzzTally()
    with spread_on("tools.state.fuzz", given.on) as spread:
        size = given.inputs if spread is None else AT_ONCE
        with closing(
            answers("fuzz", parts(given.seed, given.inputs, size), spread)
        ) as told:
            for each in told:
                found.join(each)
                if found.wrong:
                    break
    for line in (*report(found), *faults(found)):
        say(line)
    return int(bool(faults(found)))


if __name__ == "__main__":
    raise SystemExit(main())
