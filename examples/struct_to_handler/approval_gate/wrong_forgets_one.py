"""Wrong: nobody is asked before mail is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from refengine import (
    AgentConfig,
    Context,
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    interrupt,
    is_reentry,
)
from refengine.testing import World

DANGEROUS: Final = frozenset(("delete_file",))


def subject(world: World) -> list[ApprovalGate]:
    """Return the handler of one session."""
    return [ApprovalGate(world)]


class ApprovalGate:
    """Asks before a dangerous tool runs; a refusal ends the run."""

    name = "approval_gate"

    def __init__(self, world: World) -> None:
        self._world = world

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Ask, then call."""
        return await next(ctx, self._approved(input))

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Ask, then call."""
        return await next(ctx, self._approved(input))

    def _approved(self, call: ToolCallInput) -> ToolCallInput:
        if call.name not in DANGEROUS:
            return call
        question = {"tool": call.name, "arguments": call.arguments}
        if not is_reentry():  # all before the answer is done once more when it is there
            self._world.effect("asked", {"id": self._world.new_id(), **question})
        if not interrupt(question):
            raise PermissionError(f"{call.name} was not approved")
        return replace(call, call_options={**call.call_options, "approved": True})
