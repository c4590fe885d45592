"""``python -m tools.costs.replay``: what a replayed request costs, vcrpy beside ours.

A session of 10, 100 and 1,000 interactions of 2 kB is replayed three ways: by vcrpy as
it comes, told to compare bodies; by ``strict_cassette``, which is vcrpy with our judge;
and by ``ReplayTransport``. Reading the file is not counted. Exit 1 if vcrpy as it comes
takes less than 50 times as long as the transport at 1,000 interactions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx2
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.measure import CLOCK, Ratio, Round, ratio_of
from compat.wire.cassette_text import library
from compat.wire.exchanges import Exchange, Request, Response
from compat.wire.matching import Recording, recording_of
from compat.wire.scrubbing import Scrubber
from compat.wire.strict import strict_cassette
from compat.wire.transport import ReplayTransport
from compat.wire.writing import write_cassette
from refengine.testing.machine import facts

SIZES: Final = (10, 100, 1000)
ROUNDS: Final = 5
BAR: Final = 50
URL: Final = "https://api.example/v1/chat/completions"
JSON: Final = {"content-type": "application/json"}
MATCH_ON: Final = ("method", "scheme", "host", "port", "path", "query", "body")
SPREAD: Final = 10
"""So many requests of a session are sent through vcrpy as it comes, evenly spread: it
keeps no order, and all of 1,000 would take minutes."""
WIDTH: Final = 120  # of the table; a file or pipe has none of its own


@dataclass(frozen=True, slots=True)
class Way:
    """One way to replay: a session, entered anew for each sample, and what it sends."""

    name: str
    session: Callable[[], AbstractContextManager[httpx2.Client]]
    bodies: Sequence[bytes]

    def sample(self) -> float:
        """Return the seconds that one request of a new session takes."""
        with self.session() as client:
            start = CLOCK()
            for body in self.bodies:
                client.post(URL, content=body, headers=JSON)
            return (CLOCK() - start) / len(self.bodies)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        "python -m tools.costs.replay", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="a size")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    given = parser.parse_args(arguments)
    found = {size: measured(size, given.rounds) for size in given.sizes}
    console = Console(width=WIDTH)
    console.print(_table(found))
    console.print(", ".join(f"{name}: {value}" for name, value in facts().items()))
    judged = found[max(found)][0]
    holds = max(found) < max(SIZES) or judged.ratio >= BAR
    console.print(
        f"bar: {judged.name} at least {BAR} times at {max(SIZES):,} interactions"
    )
    return 0 if holds else 1


def measured(size: int, rounds: int) -> list[Ratio]:
    """Return how many times longer vcrpy takes than ours, as it comes and strict."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "session.json")
        write_cassette(path, exchanges(size), Scrubber())
        with httpx2.Client() as client:
            ours, *theirs = ways(path, client, size)
            return [_ratio(ours, each, rounds) for each in theirs]


def ways(path: Path, client: httpx2.Client, size: int) -> list[Way]:
    """Return our transport and both uses of vcrpy; the client is made before."""
    bodies = [each.request.body for each in exchanges(size)]
    recording = recording_of(path)
    vcr = library("vcr").VCR(match_on=MATCH_ON, serializer="json", record_mode="none")
    plain = bodies[:: max(size // SPREAD, 1)]
    return [
        Way("ReplayTransport", lambda: _transport(recording), bodies),
        Way(
            "vcrpy as it comes",
            lambda: _open(vcr.use_cassette(str(path)), client),
            plain,
        ),
        Way("strict_cassette", lambda: _open(strict_cassette(path), client), bodies),
    ]


def exchanges(size: int) -> list[Exchange]:
    """Return a session of so many requests of 2 kB, each with an answer of 2 kB."""
    return [_exchange(number) for number in range(size)]


def _exchange(number: int) -> Exchange:
    text = f"{number} " + "word " * 380
    options = {"model": "m", "messages": [{"role": "user", "content": text}]}
    answer = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    headers = {name: (value,) for name, value in JSON.items()}
    request = Request("POST", URL, headers, json.dumps(options).encode())
    return Exchange(request, Response(200, "OK", headers, json.dumps(answer).encode()))


@contextmanager
def _transport(recording: Recording) -> Generator[httpx2.Client]:
    with httpx2.Client(transport=ReplayTransport(recording)) as client:
        yield client


@contextmanager
def _open(
    session: AbstractContextManager[Any], client: httpx2.Client
) -> Generator[httpx2.Client]:
    with session:
        yield client


def _ratio(ours: Way, theirs: Way, rounds: int) -> Ratio:
    """Return the ratio over rounds in which the ways take turns in going first."""
    taken: list[Round] = []
    for turn in range(rounds):
        if turn % 2:
            floor = ours.sample()
            taken.append(Round(floor, theirs.sample()))
        else:
            subject = theirs.sample()
            taken.append(Round(ours.sample(), subject))
    return ratio_of(f"{theirs.name} over {ours.name}", taken)


def _table(found: dict[int, list[Ratio]]) -> Table:
    """Return the table in Markdown's own notation, so that a page can quote it."""
    table = Table(box=box.MARKDOWN)
    table.add_column("interactions", justify="right", no_wrap=True)
    table.add_column("a replayed request", no_wrap=True)
    for name in ("ratio", "middle half", "vcrpy µs", "transport µs"):
        table.add_column(name, justify="right", no_wrap=True)
    for size, ratios in found.items():
        for ratio in ratios:
            table.add_row(f"{size:,}", ratio.name, *_cells(ratio))
    return table


def _cells(ratio: Ratio) -> tuple[str, ...]:
    return (
        f"{ratio.ratio:.0f}",
        f"{ratio.low:.0f} to {ratio.high:.0f}",
        f"{ratio.subject * 1e6:.0f}",
        f"{ratio.floor * 1e6:.0f}",
    )


if __name__ == "__main__":
    sys.exit(main())
