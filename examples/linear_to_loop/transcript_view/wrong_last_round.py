"""Takes the sketch at its word: no answer where the rounds are used up."""

from dataclasses import replace

from compat.dialects.stream_loop import (
    LoopProcessor,
    LoopResult,
    ResponseCallbacks,
    loop_profile,
)
from refengine.testing.world import World

PROFILE = replace(loop_profile("loop-safe"), exhausted_text="limit_text")


class _Transcript:
    def __init__(self, world: World) -> None:
        self.world, self.lines = world, list[str]()

    def chunk(self, text: str) -> None:
        self.lines.append(text)

    def end(self, result: LoopResult) -> None:
        said, self.lines = "".join(self.lines), list[str]()
        self.world.effect("transcript", {"said": said, "answer": result.text})


def subject(world: World) -> object:
    """Return what is played in a world."""
    view = _Transcript(world)
    callbacks = ResponseCallbacks(on_chunk=view.chunk, on_end=view.end)
    return LoopProcessor(world.model, profile=PROFILE), callbacks
