"""What it costs to keep a run: a step in a short and in a long history, a whole run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from benchmarks import engine_parts
from benchmarks.gate import Bar
from benchmarks.measure import Pair, Side, Work
from benchmarks.noops import ToolWrapper
from benchmarks.parts import ANSWERS, ASKS, Kit
from benchmarks.whole import runs
from refengine import Message
from refengine.checkpoint import Point, Saved, Start
from refengine.keeping import Keeping
from refengine.messages import History
from refengine.profile import SEED_001
from refengine.state import Checkpoints

HELLO: Final = (Message("user", "Say hello."),)
ADDED: Final = Message("assistant", "Hello.")
ONE_TURN: Final = {"CannedModel.invoke": 2, "EchoTool.invoke": 1}
STEPS: Final = 4
"""Of a run of one turn: its start, the calls, their results, the end."""


class Sink:
    """A store that keeps nothing: what a disk takes is the disk's."""

    async def append(self, key: str, seq: int, record: bytes) -> None:
        """Take a record."""

    async def read(self, key: str) -> list[bytes]:
        """Nothing is kept, so nothing can be read."""
        raise AssertionError(key)

    async def delete(self, key: str) -> None:
        """Nothing is kept, so nothing can be deleted."""
        raise AssertionError(key)

    async def keys(self) -> Sequence[str]:
        """Return no keys."""
        return []


def bars() -> Iterator[Bar]:
    """Yield the bars of kept runs."""
    name = "kept step, 100,000 messages over 10"
    yield Bar(7, name, 1.2, partial(steps, 10, 100_000))
    yield Bar(7, "kept run over one that is not", None, partial(kept_run, 0))
    name = "kept run over one that is not, 100 tool wrappers"
    yield Bar(7, name, None, partial(kept_run, 100))


async def steps(short: int, long: int, kit: Kit) -> Pair:
    """Compare steps that add one message to a short and to a long history."""
    calls = {"Sink.append": 1}
    return Pair(Side(_step(short, kit), calls), Side(_step(long, kit), calls))


def _step(messages: int, kit: Kit) -> Work:
    """Return work that writes one step: its message is all that is new."""
    keeper = Checkpoints(sink_of(kit))
    begun = History(HELLO * messages)
    start = Start(
        "agent", SEED_001.name, streaming=False, given=messages, has_first=False
    )
    saved = Saved(start, 1, 1, (), {}, Point(), (), ())

    async def work() -> None:
        keeping = Keeping(
            *(keeper, keeper.types, "key", ("agent",), SEED_001, ()), streaming=False
        )
        keeping.go_on(saved, None)
        values = keeping.begun(begun, {})
        await keeping.step(1, begun.appended(ADDED), values, Point())

    return work


async def kept_run(wrappers: int, kit: Kit) -> Pair:
    """Compare a run that is kept with one of an agent that keeps none."""
    model, tool = kit.model(ASKS, ANSWERS), kit.tool()
    handlers = kit.handlers(ToolWrapper, wrappers)
    plain = await engine_parts.agent_of(model, [tool], handlers)
    keeps = Checkpoints(sink_of(kit))
    kept = await engine_parts.agent_of(model, [tool], handlers, checkpoints=keeps)
    hooks = {"ToolWrapper.wrap_invokable_tool_call": wrappers} if wrappers else {}
    calls = {**ONE_TURN, **hooks}
    return Pair(
        Side(runs(plain, HELLO), calls),
        Side(runs(kept, HELLO, checkpoint="key"), {**calls, "Sink.append": STEPS}),
    )


def sink_of(kit: Kit) -> Sink:
    """Return a store of the kit's, which is counted where it counts."""
    return kit.handlers(lambda _: Sink(), 1)[0]
