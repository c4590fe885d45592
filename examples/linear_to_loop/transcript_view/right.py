"""Shows all that was said and, below it, the answer; rounds are the loop's."""

from compat.dialects.stream_loop import LoopProcessor, LoopResult, ResponseCallbacks
from refengine.testing.world import World


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
    return LoopProcessor(world.model), callbacks
