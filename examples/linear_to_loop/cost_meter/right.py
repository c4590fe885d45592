"""Adds up what the model wrote: text, and arguments of calls."""

from compat.dialects.stream_loop import LoopProcessor, LoopResult, ResponseCallbacks
from refengine import ToolCall
from refengine.testing.world import World


class _CostMeter:
    def __init__(self, world: World) -> None:
        self.world, self.spent = world, 0

    def chunk(self, text: str) -> None:
        self.spent += len(text)

    def call(self, call: ToolCall) -> None:
        self.spent += len(call.arguments)

    def end(self, result: LoopResult) -> None:
        self.world.effect("cost", {"characters": self.spent, "rounds": result.rounds})


def subject(world: World) -> object:
    """Return what is played in a world."""
    meter = _CostMeter(world)
    callbacks = ResponseCallbacks(
        on_chunk=meter.chunk, on_tool_call=meter.call, on_end=meter.end
    )
    return LoopProcessor(world.model), callbacks
