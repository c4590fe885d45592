"""``python -m benchmarks.dialects``: what streams and sessions of our dialects cost.

Each row is a ratio of two ways to do the same, paired: both take turns in one process,
so that what else a machine does falls on both. The number to read is the middle of the
ratios, each of which is of a pair. A row has the most that it may be.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from benchmarks.measure import (
    WALL,
    MeasuredPair,
    MeasuredSide,
    Ratio,
    Round,
    Work,
    ratio_of,
    turns,
)
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

BarOfChunks: TypeAlias = tuple[str, MeasuredPair, float | None]
"""What is compared, both ways to do the same, and the most that the second may cost of
the first; None for a figure that is only told."""


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


def bars(folder: Path, short: int = SHORT) -> Iterator[BarOfChunks]:
    """Yield every bar; stores have their files in the folder.

    ``short`` is how many chunks a short session has.
    """
    long, few = 100 * short, 20 * short
    snapshots = ResponseCallbacks(on_parts_change=nothing)
    one = ResponseCallbacks(on_chunk=nothing)
    unused = ResponseCallbacks(on_tool_call=nothing, on_tool_result=nothing)
    for name, how in (("", None), (", with a listener of snapshots", snapshots)):
        yield (
            f"a chunk of {long:,} in one part, of {short:,}{name}",
            _pair(loops(short, callbacks=how), short, loops(long, callbacks=how), long),
            PER_CHUNK,
        )
        parts = loops(short // 10, 10, how), loops(short // 10, 1_000, how)
        yield (
            f"a chunk of {long:,} in 1,000 parts, of {short:,} in 10{name}",
            _pair(parts[0], short, parts[1], long),
            PER_CHUNK,
        )
    bare = loops(few)
    yield (
        "a chunk with on_chunk, without",
        _pair(bare, few, loops(few, 1, one), few),
        None,
    )
    yield (
        "a chunk with callbacks of tools alone, without any",
        _pair(bare, few, loops(few, 1, unused), few),
        1.1,
    )
    yield (
        "a part tracked of 100,000 chunks, of 1,000",
        _pair(tracked(short), short, tracked(long), long),
        PER_CHUNK,
    )
    yield (
        "a chunk to 10 clients, to none",
        _pair(sessions(short, 0), short, sessions(short, 10), short),
        None,
    )
    crowd = sessions(short // 10, 1_000)
    yield (
        "a delivery to 1,000 clients, to 10",
        _pair(sessions(short, 10), short * 10, crowd, short * 100),
        PER_CHUNK,
    )
    many = 10 * short
    yield (
        "a chunk with clients that do not hear it, without clients",
        _pair(sessions(many, 0), many, sessions(many, 1, DEAF), many),
        1.1,
    )
    stores: tuple[tuple[str, SessionStore], ...] = (
        ("in memory", MemorySessionStore()),
        ("in SQLite", SqliteSessionStore(folder / "sessions.db")),
    )
    for name, store in stores:
        yield (
            f"a session of 10,000 messages saved {name}, of 100",
            _pair(saves(store, 100, 20), 20, saves(store, 10_000, 20), 20),
            PER_CHUNK,
        )


def _pair(first: Work, often: int, second: Work, as_often: int) -> MeasuredPair:
    """Return two ways to do the same, and how often each does it."""
    return MeasuredPair(
        MeasuredSide(first, units=often), MeasuredSide(second, units=as_often)
    )


async def measured(bar: BarOfChunks, pairs: int) -> Ratio:
    """Measure a bar; both ways once before it counts."""
    name, pair, most = bar
    taken = await turns((pair.floor, pair.subject), pairs, 0.0, WALL)
    return ratio_of(name, [Round(*times) for times in taken], most)


async def measured_all(pairs: int, folder: Path) -> Sequence[Ratio]:
    """Measure every bar."""
    return [await measured(bar, pairs) for bar in bars(folder)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns 1 if one costs more than it may."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dialects")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as place:
        found = asyncio.run(measured_all(given.pairs, Path(place)))
    print(facts())  # noqa: T201  # its answer
    for each in found:
        bar = "" if each.limit is None else f", at most {each.limit}"
        mark = "" if each.holds else "  TOO MUCH"
        print(  # noqa: T201  # its answer
            f"{each.name}: {each.ratio:.2f}{bar}"
            f" ({each.subject * 1e6:.2f} and {each.floor * 1e6:.2f} us){mark}"
        )
    return int(not all(each.holds for each in found))


if __name__ == "__main__":
    raise SystemExit(main())
