"""Switches off only where an answer was completed."""

from compat.dialects.stream_loop import LoopProcessor, LoopResult, ResponseCallbacks
from refengine.testing.world import World


class _TypingIndicator:
    def __init__(self, world: World) -> None:
        self.world, self.shown = world, False

    def chunk(self, _: str) -> None:
        self.show(shown=True)

    def end(self, result: LoopResult) -> None:
        if result.status == "completed":
            self.show(shown=False)

    def show(self, *, shown: bool) -> None:
        if shown != self.shown:
            self.shown = shown
            self.world.effect("typing", shown)


def subject(world: World) -> object:
    """Return what is played in a world."""
    typing = _TypingIndicator(world)
    callbacks = ResponseCallbacks(on_chunk=typing.chunk, on_end=typing.end)
    return LoopProcessor(world.model), callbacks
