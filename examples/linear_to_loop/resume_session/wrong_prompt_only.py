"""Asks in the next round with the prompt alone, as the sketch does."""

from dataclasses import replace

from compat.dialects.stream_loop import (
    LoopProcessor,
    LoopResult,
    ResponseCallbacks,
    loop_profile,
)
from refengine.testing.world import World

PROFILE = replace(loop_profile("loop-safe"), next_input="prompt_only")


class _Turns:
    def __init__(self, world: World) -> None:
        self.world = world

    def end(self, result: LoopResult) -> None:
        turns = sum(each.role == "user" for each in result.history)
        self.world.effect("turns", turns)


def subject(world: World) -> object:
    """Return what is played in a world."""
    processor = LoopProcessor(world.model, profile=PROFILE, instruction="Go on.")
    return processor, ResponseCallbacks(on_end=_Turns(world).end)
