"""Asks a person before a dangerous tool runs: a struct middleware."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refengine import (
    AgentMiddleware,
    Context,
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolMiddleware,
    interrupt,
    is_reentry,
)
from refengine.testing import World

DANGEROUS: Final = frozenset(("delete_file", "send_mail"))


def subject(world: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""

    def invokable(inner: Endpoint) -> Endpoint:
        async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
            return await inner(ctx, approved(world, input))

        return call

    def streamable(inner: StreamEndpoint) -> StreamEndpoint:
        async def call(ctx: Context, input: ToolCallInput) -> StreamToolCallResult:
            return await inner(ctx, approved(world, input))

        return call

    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable, streamable))]


def approved(world: World, call: ToolCallInput) -> ToolCallInput:
    """Return the call as it may run, marked for the tool; raises PermissionError."""
    if call.name not in DANGEROUS:
        return call
    question = {"tool": call.name, "arguments": call.arguments}
    if not is_reentry():  # all before the answer is done once more when it is there
        world.effect("asked", {"id": world.new_id(), **question})
    if not interrupt(question):
        raise PermissionError(f"{call.name} was not approved")
    return replace(call, call_options={**call.call_options, "approved": True})
