"""Keeps the history on the device after each answer, however it ended."""

from compat.dialects.stream_loop import LinearProcessor, LoopResult, ResponseCallbacks
from refengine.testing.world import World


class _OfflineStorage:
    def __init__(self, world: World) -> None:
        self.world = world

    def end(self, result: LoopResult) -> None:
        said = [f"{each.role}: {each.content}" for each in result.history]
        self.world.effect("put", {"status": result.status, "said": said})


def subject(world: World) -> object:
    """Return what is played in a world."""
    storage = _OfflineStorage(world)
    return LinearProcessor(world.model), ResponseCallbacks(on_end=storage.end)
