"""Keeps the parts of this answer, and forgets what was said before."""

from compat.dialects.stream_loop import LoopProcessor, LoopResult, ResponseCallbacks
from refengine.testing.world import World


class _OfflineStorage:
    def __init__(self, world: World) -> None:
        self.world = world

    def end(self, result: LoopResult) -> None:
        said = [f"{each.kind}: {each.text}" for each in result.parts]
        self.world.effect("put", {"status": result.status, "said": said})


def subject(world: World) -> object:
    """Return what is played in a world."""
    storage = _OfflineStorage(world)
    return LoopProcessor(world.model), ResponseCallbacks(on_end=storage.end)
