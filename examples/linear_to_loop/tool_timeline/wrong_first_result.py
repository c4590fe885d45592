"""Reads from the first result alone whether to go on."""

from dataclasses import replace

from compat.dialects.stream_loop import (
    LoopProcessor,
    ResponseCallbacks,
    ToolResult,
    loop_profile,
)
from refengine import ToolCall
from refengine.testing.world import World

PROFILE = replace(loop_profile("loop-safe"), follow_up="first_only")


class _Timeline:
    def __init__(self, world: World) -> None:
        self.world = world

    def call(self, call: ToolCall) -> None:
        self.world.effect("timeline", [call.name, "started"])

    def result(self, result: ToolResult) -> None:
        state = "done" if result.error is None else "failed"
        self.world.effect("timeline", [result.name, state])


def subject(world: World) -> object:
    """Return what is played in a world."""
    line = _Timeline(world)
    callbacks = ResponseCallbacks(on_tool_call=line.call, on_tool_result=line.result)
    return LoopProcessor(world.model, profile=PROFILE), callbacks
