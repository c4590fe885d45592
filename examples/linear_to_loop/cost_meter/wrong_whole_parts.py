"""Adds up whole parts at each change, with the text that was counted before."""

from compat.dialects.stream_loop import (
    LoopProcessor,
    LoopResult,
    PartsSnapshot,
    ResponseCallbacks,
)
from refengine.testing.world import World


class _CostMeter:
    def __init__(self, world: World) -> None:
        self.world, self.spent = world, 0

    def parts(self, parts: PartsSnapshot) -> None:
        self.spent += sum(len(part.text) for part in parts)

    def end(self, result: LoopResult) -> None:
        self.world.effect("cost", {"characters": self.spent, "rounds": result.rounds})


def subject(world: World) -> object:
    """Return what is played in a world."""
    meter = _CostMeter(world)
    callbacks = ResponseCallbacks(on_parts_change=meter.parts, on_end=meter.end)
    return LoopProcessor(world.model), callbacks
