"""Asks a person before a dangerous tool runs: two helpers, one for each kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refengine import (
    Context,
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    interrupt,
    is_reentry,
    with_instruction_func,
    with_invokable_tool_wrapper,
    with_streamable_tool_wrapper,
)
from refengine.testing import World

DANGEROUS: Final = frozenset(("delete_file", "send_mail"))


def subject(world: World) -> list[object]:
    """Return the handlers of one session."""

    def ask(call: ToolCallInput) -> ToolCallInput:
        question = {"tool": call.name, "arguments": call.arguments}
        if not is_reentry():  # all before the answer is done once more when it is there
            world.effect("asked", {"id": world.new_id(), **question})
        if not interrupt(question):
            raise PermissionError(f"{call.name} was not approved")
        return replace(call, call_options={**call.call_options, "approved": True})

    async def invoke(
        ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        return await next(ctx, ask(input) if input.name in DANGEROUS else input)

    async def stream(
        ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        return await next(ctx, ask(input) if input.name in DANGEROUS else input)

    return [
        with_instruction_func(newline),
        with_invokable_tool_wrapper(invoke),
        with_streamable_tool_wrapper(stream),
    ]


def newline(ctx: Context, instruction: str) -> tuple[Context, str]:
    """Leave the newline that a struct without an instruction leaves."""
    return ctx, f"{instruction}\n"
