"""The bars: what a handler may cost, each as a pair of sides and a limit.

Every set-up hands the same parts to both sides. A row without a limit is told beside
the one it explains, and judged by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from benchmarks import engine_parts, floors, kept_bars
from benchmarks.gate import Bar
from benchmarks.measure import Pair, Side
from benchmarks.noops import (
    ModelWrapper,
    Preparer,
    Rewriter,
    StreamWrapper,
    ToolWrapper,
)
from benchmarks.parts import ANSWERS, ASKS, CALL, INSTRUCTION, EchoTool, Kit
from benchmarks.whole import runs
from refengine import Context, Endpoint, Message, ModelRequest, ToolCallInput
from refengine.tools import NO_OPTIONS

HELLO: Final = (Message("user", "Say hello."),)
ONE_TURN: Final = {"CannedModel.invoke": 2, "EchoTool.invoke": 1}
TOOL_HOOK: Final = "ToolWrapper.wrap_invokable_tool_call"
MODEL_HOOK: Final = "ModelWrapper.wrap_model_call"
SIZES: Final = (10, 100, 300)


async def unused_handlers(kind: Callable[[int], object], number: int, kit: Kit) -> Pair:
    """Compare a run without handlers with one whose handlers have no part in it."""
    model, tool = kit.model(ASKS, ANSWERS), kit.tool()
    plain = await engine_parts.agent_of(model, [tool])
    agent = await engine_parts.agent_of(model, [tool], kit.handlers(kind, number))
    engine_parts.refuse_any_chain(agent)
    return Pair(
        Side(runs(plain, HELLO), ONE_TURN),
        Side(runs(agent, HELLO), ONE_TURN),
    )


async def pipeline(number: int, kit: Kit) -> Pair:
    """Compare a pipeline of async hooks with a bare loop of awaits."""
    handlers = kit.handlers(Rewriter, number)
    agent = await engine_parts.agent_of(kit.model(ANSWERS), handlers=handlers)
    ctx, calls = Context(), {"Rewriter.before_model_rewrite_history": number}
    return Pair(
        Side(partial(floors.await_hooks, handlers, ctx, HELLO), calls, number),
        Side(engine_parts.before_model(agent, ctx, HELLO), calls, number),
    )


async def tool_onion(
    nest: Callable[[Sequence[ToolWrapper], EchoTool], Endpoint],
    number: int,
    kit: Kit,
) -> Pair:
    """Compare a call through the tool onion with one through a nest made by hand."""
    handlers, tool = kit.handlers(ToolWrapper, number), kit.tool()
    agent = await engine_parts.agent_of(kit.model(ANSWERS), [tool], handlers)
    call, ctx = nest(handlers, tool), Context()

    async def by_hand() -> str:
        value = ToolCallInput(CALL.name, CALL.arguments, CALL.id, NO_OPTIONS)
        return (await call(ctx, value)).result

    calls = {TOOL_HOOK: number, "EchoTool.invoke": 1}
    return Pair(
        Side(by_hand, calls, number),
        Side(await engine_parts.tool_call(agent), calls, number),
    )


async def model_onion(number: int, kit: Kit) -> Pair:
    """Compare a call through the model onion with one through a nest made by hand."""
    handlers, model = kit.handlers(ModelWrapper, number), kit.model(ANSWERS)
    agent = await engine_parts.agent_of(model, handlers=handlers)
    request = ModelRequest(HELLO, ())
    call, ctx = floors.model_onion(handlers, model), Context()
    calls = {MODEL_HOOK: number, "CannedModel.invoke": 1}
    return Pair(
        Side(partial(call, ctx, request), calls, number),
        Side(engine_parts.model_call(agent, request), calls, number),
    )


async def deep_tool_onion(short: int, deep: int, kit: Kit) -> Pair:
    """Compare a layer of a deep tool onion with one of an onion that fits the stack."""

    async def side(number: int) -> Side:
        handlers, tool = kit.handlers(ToolWrapper, number), kit.tool()
        agent = await engine_parts.agent_of(kit.model(ANSWERS), [tool], handlers)
        calls = {TOOL_HOOK: number, "EchoTool.invoke": 1}
        return Side(await engine_parts.tool_call(agent), calls, number)

    return Pair(await side(short), await side(deep))


async def deep_model_onion(short: int, deep: int, kit: Kit) -> Pair:
    """Compare a layer of a deep model onion with one that fits the stack."""

    async def side(number: int) -> Side:
        handlers, model = kit.handlers(ModelWrapper, number), kit.model(ANSWERS)
        agent = await engine_parts.agent_of(model, handlers=handlers)
        calls = {MODEL_HOOK: number, "CannedModel.invoke": 1}
        work = engine_parts.model_call(agent, ModelRequest(HELLO, ()))
        return Side(work, calls, number)

    return Pair(await side(short), await side(deep))


async def history(short: Sequence[Message], long: Sequence[Message], kit: Kit) -> Pair:
    """Compare runs of one agent over two histories that no handler touches."""
    agent = await engine_parts.agent_of(kit.model(ASKS, ANSWERS), [kit.tool()])
    return Pair(
        Side(runs(agent, short), ONE_TURN),
        Side(runs(agent, long), ONE_TURN),
    )


async def base_run(kit: Kit) -> Pair:
    """Compare a run without handlers with a loop written by hand."""
    model, tool = kit.model(ASKS, ANSWERS), kit.tool()
    agent = await engine_parts.agent_of(model, [tool])
    by_hand = partial(
        floors.run_by_hand, model, {CALL.name: tool}, INSTRUCTION, HELLO, NO_OPTIONS
    )
    return Pair(
        Side(by_hand, ONE_TURN),
        Side(runs(agent, HELLO), ONE_TURN),
    )


def _bars() -> Iterator[Bar]:
    for kind in (Preparer, StreamWrapper):
        name = f"run, 1,000 unused handlers: {kind.__name__}"
        yield Bar(1, name, 1.02, partial(unused_handlers, kind, 1000))
    for number in (100, 1000):
        name = f"pipeline of {number:,}, a hook"
        yield Bar(2, name, 1.5, partial(pipeline, number))
    for number in SIZES:
        hand, thin = floors.tool_onion, floors.thin_tool_onion
        name = f"tool onion of {number}, a layer"
        yield Bar(3, name, 2.5, partial(tool_onion, hand, number))
        yield Bar(3, f"{name}: over closures", None, partial(tool_onion, thin, number))
    for number in SIZES:
        name = f"model onion of {number}, a layer"
        yield Bar(3, name, 2.5, partial(model_onion, number))
    for what, deep in (("tool", deep_tool_onion), ("model", deep_model_onion)):
        name = f"{what} onion of 10,000 over 300, a layer"
        yield Bar(4, name, 3.0, partial(deep, 300, 10_000))
    short, long = HELLO * 10, HELLO * 10_000
    name = "run, history of 10,000 over 10"
    yield Bar(5, f"{name}: tuples", 1.1, partial(history, short, long))
    yield Bar(5, f"{name}: lists", None, partial(history, list(short), list(long)))
    yield Bar(6, "run: two model calls, one tool", 8.0, base_run)
    yield from kept_bars.bars()


BARS: Final = tuple(_bars())
