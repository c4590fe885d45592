"""Sends what tools were asked, and gave, to an external system."""

from compat.dialects.stream_loop import LinearProcessor, ResponseCallbacks, ToolResult
from refengine import ToolCall
from refengine.testing.world import World


class _AuditLog:
    def __init__(self, world: World) -> None:
        self.world = world

    def call(self, call: ToolCall) -> None:
        self.send("asked", call.id, call.arguments)

    def result(self, result: ToolResult) -> None:
        self.send("failed" if result.error else "gave", result.call_id, result.text)

    def send(self, what: str, call_id: str, text: str) -> None:
        self.world.effect("audit", [what, call_id, text])


def subject(world: World) -> object:
    """Return what is played in a world."""
    log = _AuditLog(world)
    callbacks = ResponseCallbacks(on_tool_call=log.call, on_tool_result=log.result)
    return LinearProcessor(world.model), callbacks
