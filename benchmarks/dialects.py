"""``python -m benchmarks.dialects``: what streams and sessions of our dialects cost.

Each row is a ratio of two ways to do the same, paired: both take turns in one process,
so that what else a machine does falls on both. The number to read is the middle of the
ratios, each of which is of a pair. A row has the most that it may be.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final, TypeAlias

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    Client,
    MemorySessionStore,
    SessionManager,
    SessionState,
    SessionStore,
    SqliteSessionStore,
)
from compat.dialects.stream_loop import (
    LoopProcessor,
    PartsTracker,
    ResponseCallbacks,
    ToolOutput,
)
from refengine.context import Context
from refengine.messages import Message, MessageChunk, ToolCallChunk
from refengine.stream import StreamReader
from refengine.testing.machine import facts
from refengine.tools import Options, ToolInfo

PAIRS: Final = 9
SHORT: Final = 1_000
"""Chunks of a short session; a long one has a hundred times as many."""
PER_CHUNK: Final = 1.3
"""So much more may a chunk of a long session cost than one of a short one."""

Work: TypeAlias = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class DialectRow:
    """Two ways to do the same, and the most that the second may cost of the first.

    ``shares`` is how often each does it in a round, by which its seconds are divided.
    """

    name: str
    first: Work
    second: Work
    shares: tuple[int, int]
    most: float | None = None
    """None for a figure that is only told, and has no bar"""


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """A row, measured: microseconds of each way, and the middle of the ratios."""

    row: DialectRow
    first: float
    second: float
    ratio: float

    @property
    def holds(self) -> bool:
        """Whether it is as cheap as it may be."""
        return self.row.most is None or self.ratio <= self.row.most


class ManyChunks:
    """A model that streams so many chunks in each of its rounds.

    All rounds but the last end in a call, so that another one follows.
    """

    def __init__(self, chunks: int, rounds: int = 1) -> None:
        self._chunks, self._rounds = chunks, rounds
        self._asked = 0

    async def stream(
        self,
        ctx: Context,  # noqa: ARG002  # a model's
        messages: Sequence[Message],  # noqa: ARG002  # a model's
        tools: Sequence[ToolInfo],  # noqa: ARG002  # a model's
        options: Options,  # noqa: ARG002  # a model's
    ) -> StreamReader[MessageChunk]:
        """Answer."""
        self._asked += 1
        return StreamReader(self._answer(last=self._asked % self._rounds == 0))

    async def _answer(self, *, last: bool) -> AsyncIterator[MessageChunk]:
        chunk = MessageChunk("x ")
        for _ in range(self._chunks):
            yield chunk
        if not last:
            yield MessageChunk(tool_calls=(ToolCallChunk(0, "c", "again", "{}"),))


class AgainTool:
    """Asks for another round."""

    info = ToolInfo("again")

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> object:  # noqa: ARG002  # a tool's
        """Ask."""
        return ToolOutput(1, requires_follow_up=True)


def loops(
    chunks: int, rounds: int = 1, callbacks: ResponseCallbacks | None = None
) -> Work:
    """Return what processes so many chunks in so many rounds, a part of text each."""
    given = callbacks or ResponseCallbacks()

    async def work() -> None:
        processor = LoopProcessor(ManyChunks(chunks, rounds))
        await processor.process_input(
            "go", tools=(AgainTool(),), callbacks=given, max_iterations=rounds
        )

    return work


def nothing(*_: object) -> None:
    """Be told."""


HEARS: Final = AgentCallbacks(on_llm_text_delta=nothing)
DEAF: Final = AgentCallbacks(on_error=nothing)
"""What a client has that does not hear of text."""


def sessions(chunks: int, clients: int, callbacks: AgentCallbacks = HEARS) -> Work:
    """Return what runs a session of so many chunks, with so many clients."""

    async def work() -> None:
        manager = SessionManager(CallbackAgent(ManyChunks(chunks)))
        for _ in range(clients):
            manager.set_client(Client(callbacks))
        await manager.agent.run("s", "go")

    return work


def tracked(chunks: int) -> Work:
    """Return what tracks so many chunks of a text."""

    async def work() -> None:
        tracker = PartsTracker()
        tracker.begin_round()
        for _ in range(chunks):
            for _ in tracker.add_text("x "):
                pass

    return work


def saves(store: SessionStore, messages: int, times: int) -> Work:
    """Return what saves a session of so many messages, which grows by one each time."""
    states = [SessionState(f"s{messages}")]
    states[0] = states[0].with_messages(*[Message("user", "x" * 100)] * messages)
    revision = [0]

    async def work() -> None:
        for _ in range(times):
            since = 0 if not revision[0] else len(states[0].messages)
            states[0] = states[0].with_messages(Message("user", "more"))
            revision[0] = await store.save(states[0], since, revision[0])

    return work


def rows(folder: Path, short: int = SHORT) -> Iterator[DialectRow]:
    """Yield every row; stores have their files in the folder.

    ``short`` is how many chunks a short session has.
    """
    long = 100 * short
    snapshots = ResponseCallbacks(on_parts_change=nothing)
    one = ResponseCallbacks(on_chunk=nothing)
    for name, how in (("", None), (", with a listener of snapshots", snapshots)):
        yield DialectRow(
            f"a chunk of {long:,} in one part, of {short:,}{name}",
            loops(short, callbacks=how),
            loops(long, callbacks=how),
            (short, long),
            PER_CHUNK,
        )
        yield DialectRow(
            f"a chunk of {long:,} in 1,000 parts, of {short:,} in 10{name}",
            loops(short // 10, 10, how),
            loops(short // 10, 1_000, how),
            (short, long),
            PER_CHUNK,
        )
    few = 20 * short
    yield DialectRow(
        "a chunk with on_chunk, without", loops(few), loops(few, 1, one), (few, few)
    )
    unused = ResponseCallbacks(on_tool_call=nothing, on_tool_result=nothing)
    yield DialectRow(
        "a chunk with callbacks of tools alone, without any",
        loops(few),
        loops(few, 1, unused),
        (few, few),
        1.1,
    )
    yield DialectRow(
        "a part tracked of 100,000 chunks, of 1,000",
        tracked(short),
        tracked(long),
        (short, long),
        PER_CHUNK,
    )
    yield DialectRow(
        "a chunk to 10 clients, to none",
        sessions(short, 0),
        sessions(short, 10),
        (short, short),
    )
    yield DialectRow(
        "a delivery to 1,000 clients, to 10",
        sessions(short, 10),
        sessions(short // 10, 1_000),
        (short * 10, short * 100),
        PER_CHUNK,
    )
    yield DialectRow(
        "a chunk with clients that do not hear it, without clients",
        sessions(10 * short, 0),
        sessions(10 * short, 1, DEAF),
        (10 * short, 10 * short),
        1.1,
    )
    stores: tuple[tuple[str, SessionStore], ...] = (
        ("in memory", MemorySessionStore()),
        ("in SQLite", SqliteSessionStore(folder / "sessions.db")),
    )
    for name, store in stores:
        yield DialectRow(
            f"a session of 10,000 messages saved {name}, of 100",
            saves(store, 100, 20),
            saves(store, 10_000, 20),
            (20, 20),
            PER_CHUNK,
        )


async def measured(row: DialectRow, pairs: int) -> MeasuredRow:
    """Measure a row; both ways once before it counts."""
    await row.first()
    await row.second()
    found = [
        (
            await _seconds(row.first) / row.shares[0],
            await _seconds(row.second) / row.shares[1],
        )
        for _ in range(pairs)
    ]
    first, second = (median(each) * 1e6 for each in zip(*found, strict=True))
    ratio = median(new / old for old, new in found)
    return MeasuredRow(row, first, second, ratio)


async def _seconds(work: Work) -> float:
    gc.collect()
    began = perf_counter()
    await work()
    return perf_counter() - began


async def measured_all(pairs: int, folder: Path) -> Sequence[MeasuredRow]:
    """Measure every row."""
    return [await measured(row, pairs) for row in rows(folder)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns 1 if a row costs more than it may."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dialects")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as place:
        found = asyncio.run(measured_all(given.pairs, Path(place)))
    print(facts())  # noqa: T201  # its answer
    for each in found:
        bar = "" if each.row.most is None else f", at most {each.row.most}"
        mark = "" if each.holds else "  TOO MUCH"
        print(  # noqa: T201  # its answer
            f"{each.row.name}: {each.ratio:.2f}{bar}"
            f" ({each.second:.2f} and {each.first:.2f} us){mark}"
        )
    return int(not all(each.holds for each in found))


if __name__ == "__main__":
    raise SystemExit(main())
