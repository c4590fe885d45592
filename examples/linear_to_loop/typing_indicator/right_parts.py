"""The same by part events: an open part of text is an answer being written."""

from compat.dialects.stream_loop import (
    LoopProcessor,
    LoopResult,
    PartEvent,
    ResponseCallbacks,
)
from refengine.testing.world import World


class _TypingIndicator:
    def __init__(self, world: World) -> None:
        self.world, self.shown = world, False

    def part(self, event: PartEvent) -> None:
        if event.kind == "text" and event.state == "streaming" and not self.shown:
            self.shown = True
            self.world.effect("typing", self.shown)

    def end(self, _: LoopResult) -> None:
        if self.shown:
            self.shown = False
            self.world.effect("typing", self.shown)


def subject(world: World) -> object:
    """Return what is played in a world."""
    typing = _TypingIndicator(world)
    callbacks = ResponseCallbacks(on_part_event=typing.part, on_end=typing.end)
    return LoopProcessor(world.model), callbacks
