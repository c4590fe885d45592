"""Shows a banner where something fails, one's own callbacks among it."""

import json

from compat.dialects.stream_loop import LinearProcessor, ResponseCallbacks, ToolResult
from refengine.testing.world import World


class _Banner:
    def __init__(self, world: World) -> None:
        self.world = world

    def result(self, result: ToolResult) -> None:
        json.loads(result.text)  # cards are made of JSON; any other text is a mistake

    def error(self, error: Exception, where: str) -> None:
        whose = "ours" if isinstance(error, ValueError) else "theirs"
        self.world.effect("banner", [whose, where])


def subject(world: World) -> object:
    """Return what is played in a world."""
    banner = _Banner(world)
    callbacks = ResponseCallbacks(on_tool_result=banner.result, on_error=banner.error)
    return LinearProcessor(world.model), callbacks
