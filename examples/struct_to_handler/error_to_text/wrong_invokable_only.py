"""Wrong: a tool that streams still ends the run when it fails."""

from __future__ import annotations

from refengine import (
    AgentConfig,
    Context,
    Endpoint,
    ToolCallInput,
    ToolCallResult,
)
from refengine.testing import World


def subject(_: World) -> list[ErrorToText]:
    """Return the handler of one session."""
    return [ErrorToText()]


class ErrorToText:
    """Makes a tool's error its result."""

    name = "error_to_text"

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Return the result, or what went wrong."""
        try:
            return await next(ctx, input)
        except Exception as error:  # noqa: BLE001  # the model is told
            return ToolCallResult(told(error))


def told(error: Exception) -> str:
    """Return what the model is told."""
    return f"The tool failed: {error}"
