"""Sends a call when its part begins, before its arguments are there."""

from compat.dialects.stream_loop import (
    LoopProcessor,
    PartEvent,
    ResponseCallbacks,
    ToolResult,
)
from refengine.testing.world import World


class _AuditLog:
    def __init__(self, world: World) -> None:
        self.world, self.seen = world, set[str]()

    def part(self, event: PartEvent) -> None:
        if event.kind == "tool_call" and event.id not in self.seen:
            self.seen.add(event.id)
            self.send("asked", event.call_id, event.text)

    def result(self, result: ToolResult) -> None:
        self.send("failed" if result.error else "gave", result.call_id, result.text)

    def send(self, what: str, call_id: str, text: str) -> None:
        self.world.effect("audit", [what, call_id, text])


def subject(world: World) -> object:
    """Return what is played in a world."""
    log = _AuditLog(world)
    callbacks = ResponseCallbacks(on_part_event=log.part, on_tool_result=log.result)
    return LoopProcessor(world.model), callbacks
