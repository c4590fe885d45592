"""Goes on from what was said before; rounds are the loop's."""

from compat.dialects.stream_loop import LoopProcessor, LoopResult, ResponseCallbacks
from refengine.testing.world import World


class _Turns:
    def __init__(self, world: World) -> None:
        self.world = world

    def end(self, result: LoopResult) -> None:
        turns = sum(each.role == "user" for each in result.history)
        self.world.effect("turns", turns)


def subject(world: World) -> object:
    """Return what is played in a world."""
    processor = LoopProcessor(world.model, instruction="Go on.")
    return processor, ResponseCallbacks(on_end=_Turns(world).end)
