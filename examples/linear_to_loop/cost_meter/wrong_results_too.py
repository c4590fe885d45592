"""Counts the text of each part event: results of tools, too."""

from compat.dialects.stream_loop import (
    LoopProcessor,
    LoopResult,
    PartEvent,
    ResponseCallbacks,
)
from refengine.testing.world import World


class _CostMeter:
    def __init__(self, world: World) -> None:
        self.world, self.spent = world, 0

    def part(self, event: PartEvent) -> None:
        self.spent += len(event.text)

    def end(self, result: LoopResult) -> None:
        self.world.effect("cost", {"characters": self.spent, "rounds": result.rounds})


def subject(world: World) -> object:
    """Return what is played in a world."""
    meter = _CostMeter(world)
    callbacks = ResponseCallbacks(on_part_event=meter.part, on_end=meter.end)
    return LoopProcessor(world.model), callbacks
