"""The bars: what a handler may cost, each as a pair of sides and a limit.

Every set-up hands the same parts to both sides. A row without a limit is shown beside
the one it explains, and judged by nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Final

from benchmarks import byhand, engine_runs
from benchmarks.byhand import HELLO as SAYS_HELLO
from benchmarks.byhand import Layer, awaiting, handing
from benchmarks.engine_runs import runs
from benchmarks.measure import MeasuredBar, MeasuredPair, MeasuredSide, Work
from benchmarks.noops import (
    ModelWrapper,
    Preparer,
    Rewriter,
    StreamWrapper,
    ToolWrapper,
)
from benchmarks.parts import ANSWERS, ASKS, CALL, SharedParts
from benchmarks.specs import Setting
from refengine import Context, Message, ModelRequest, ToolCallInput
from refengine.messages import History
from refengine.profile import SEED_001
from refengine.resume.checkpoint import Point, Saved, Start
from refengine.resume.steps import StepWriter
from refengine.state import Checkpoints
from refengine.tools import NO_OPTIONS

ADDED: Final = Message("assistant", "Hello.")
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


def kept_bars() -> Iterator[MeasuredBar]:
    """Yield the bars of kept runs."""
    name = "kept step, 100,000 messages over 10"
    yield MeasuredBar(7, name, 1.2, partial(steps, 10, 100_000))
    yield MeasuredBar(7, "kept run over one that is not", None, partial(kept_run, 0))
    name = "kept run over one that is not, 100 tool wrappers"
    yield MeasuredBar(7, name, None, partial(kept_run, 100))


async def steps(short: int, long: int, kit: SharedParts) -> MeasuredPair:
    """Compare steps that add one message to a short and to a long history."""
    calls = {"Sink.append": 1}
    return MeasuredPair(
        MeasuredSide(_step(short, kit), calls), MeasuredSide(_step(long, kit), calls)
    )


def _step(messages: int, kit: SharedParts) -> Work:
    """Return work that writes one step: its message is all that is new."""
    keeper = Checkpoints(sink_of(kit))
    begun = History(HELLO * messages)
    start = Start(
        "agent", SEED_001.name, streaming=False, given=messages, has_first=False
    )
    saved = Saved(start, 1, 1, (), {}, Point(), (), ())

    async def work() -> None:
        writer = StepWriter(
            *(keeper, keeper.types, "key", ("agent",), SEED_001, ()), streaming=False
        )
        writer.go_on(saved, None)
        values = writer.begun(begun, {})
        await writer.step(1, begun.appended(ADDED), values, Point())

    return work


async def kept_run(wrappers: int, kit: SharedParts) -> MeasuredPair:
    """Compare a run that is kept with one of an agent that keeps none."""
    model, tool = kit.model(ASKS, ANSWERS), kit.tool()
    handlers = kit.handlers(ToolWrapper, wrappers)
    plain = await engine_runs.agent_of(model, [tool], handlers)
    keeps = Checkpoints(sink_of(kit))
    kept = await engine_runs.agent_of(model, [tool], handlers, checkpoints=keeps)
    hooks = {"ToolWrapper.wrap_invokable_tool_call": wrappers} if wrappers else {}
    calls = {**ONE_TURN, **hooks}
    return MeasuredPair(
        MeasuredSide(runs(plain, HELLO), calls),
        MeasuredSide(
            runs(kept, HELLO, checkpoint="key"), {**calls, "Sink.append": STEPS}
        ),
    )


def sink_of(kit: SharedParts) -> Sink:
    """Return a store of the kit's, which is counted where it counts."""
    return kit.handlers(lambda _: Sink(), 1)[0]


HELLO: Final = (SAYS_HELLO,)
ONE_TURN: Final = {"CannedModel.invoke": 2, "EchoTool.invoke": 1}
TOOL_HOOK: Final = "ToolWrapper.wrap_invokable_tool_call"
MODEL_HOOK: Final = "ModelWrapper.wrap_model_call"
SIZES: Final = (10, 100, 300)


async def unused_handlers(
    kind: Callable[[int], object], number: int, kit: SharedParts
) -> MeasuredPair:
    """Compare a run without handlers with one whose handlers have no part in it."""
    model, tool = kit.model(ASKS, ANSWERS), kit.tool()
    plain = await engine_runs.agent_of(model, [tool])
    agent = await engine_runs.agent_of(model, [tool], kit.handlers(kind, number))
    engine_runs.refuse_any_chain(agent)
    return MeasuredPair(
        MeasuredSide(runs(plain, HELLO), ONE_TURN),
        MeasuredSide(runs(agent, HELLO), ONE_TURN),
    )


async def pipeline(number: int, kit: SharedParts) -> MeasuredPair:
    """Compare a pipeline of async hooks with a bare loop of awaits."""
    handlers = kit.handlers(Rewriter, number)
    agent = await engine_runs.agent_of(kit.model(ANSWERS), handlers=handlers)
    ctx, calls = Context(), {"Rewriter.before_model_rewrite_history": number}
    return MeasuredPair(
        MeasuredSide(partial(byhand.await_hooks, handlers, ctx, HELLO), calls, number),
        MeasuredSide(engine_runs.before_model(agent, ctx, HELLO), calls, number),
    )


async def tool_onion(layer: Layer, number: int, kit: SharedParts) -> MeasuredPair:
    """Compare a call through the tool onion with one through a nest made by hand."""
    handlers, tool = kit.handlers(ToolWrapper, number), kit.tool()
    agent = await engine_runs.agent_of(kit.model(ANSWERS), [tool], handlers)
    around = [each.wrap_invokable_tool_call for each in handlers]
    call, ctx = byhand.tool_onion(around, tool.invoke, layer), Context()

    async def by_hand() -> object:
        value = ToolCallInput(CALL.name, CALL.arguments, CALL.id, NO_OPTIONS)
        return await call(ctx, value)

    calls = {TOOL_HOOK: number, "EchoTool.invoke": 1}
    return MeasuredPair(
        MeasuredSide(by_hand, calls, number),
        MeasuredSide(await engine_runs.tool_call(agent), calls, number),
    )


async def model_onion(number: int, kit: SharedParts) -> MeasuredPair:
    """Compare a call through the model onion with one through a nest made by hand."""
    handlers, model = kit.handlers(ModelWrapper, number), kit.model(ANSWERS)
    agent = await engine_runs.agent_of(model, handlers=handlers)
    request = ModelRequest(HELLO, ())
    around = [each.wrap_model_call for each in handlers]
    call = byhand.model_onion(around, model.invoke, byhand.awaiting)
    calls = {MODEL_HOOK: number, "CannedModel.invoke": 1}
    return MeasuredPair(
        MeasuredSide(partial(call, Context(), request), calls, number),
        MeasuredSide(engine_runs.model_call(agent, request), calls, number),
    )


async def deep_onion(
    onion: Callable[[int, SharedParts], Awaitable[MeasuredPair]],
    short: int,
    deep: int,
    kit: SharedParts,
) -> MeasuredPair:
    """Compare a layer of a deep onion with one of an onion that fits the stack."""
    return MeasuredPair(
        (await onion(short, kit)).subject, (await onion(deep, kit)).subject
    )


async def history(
    short: Sequence[Message], long: Sequence[Message], kit: SharedParts
) -> MeasuredPair:
    """Compare runs of one agent over two histories that no handler touches."""
    agent = await engine_runs.agent_of(kit.model(ASKS, ANSWERS), [kit.tool()])
    return MeasuredPair(
        MeasuredSide(runs(agent, short), ONE_TURN),
        MeasuredSide(runs(agent, long), ONE_TURN),
    )


async def base_run(kit: SharedParts) -> MeasuredPair:
    """Compare a run without handlers with a loop written by hand."""
    model, tool = kit.model(ASKS, ANSWERS), kit.tool()
    agent = await engine_runs.agent_of(model, [tool])
    by_hand = byhand.run(Setting("after_agent", n=0, history=1), kit, ())
    return MeasuredPair(
        MeasuredSide(by_hand, ONE_TURN),
        MeasuredSide(runs(agent, HELLO), ONE_TURN),
    )


def _bars() -> Iterator[MeasuredBar]:
    for kind in (Preparer, StreamWrapper):
        name = f"run, 1,000 unused handlers: {kind.__name__}"
        yield MeasuredBar(1, name, 1.02, partial(unused_handlers, kind, 1000))
    for number in (100, 1000):
        name = f"pipeline of {number:,}, a hook"
        yield MeasuredBar(2, name, 1.5, partial(pipeline, number))
    for number in SIZES:
        name = f"tool onion of {number}, a layer"
        yield MeasuredBar(3, name, 2.5, partial(tool_onion, awaiting, number))
        yield MeasuredBar(
            3, f"{name}: over closures", None, partial(tool_onion, handing, number)
        )
    for number in SIZES:
        name = f"model onion of {number}, a layer"
        yield MeasuredBar(3, name, 2.5, partial(model_onion, number))
    for what, onion in (("tool", partial(tool_onion, handing)), ("model", model_onion)):
        name = f"{what} onion of 10,000 over 300, a layer"
        yield MeasuredBar(4, name, 3.0, partial(deep_onion, onion, 300, 10_000))
    short, long = HELLO * 10, HELLO * 10_000
    name = "run, history of 10,000 over 10"
    yield MeasuredBar(5, f"{name}: tuples", 1.1, partial(history, short, long))
    yield MeasuredBar(
        5, f"{name}: lists", None, partial(history, list(short), list(long))
    )
    yield MeasuredBar(6, "run: two model calls, one tool", 8.0, base_run)
    yield from kept_bars()


BARS: Final = tuple(_bars())
