"""Wrong: what the model said stays as it is until it is asked again."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Final

from refengine import (
    AgentConfig,
    Context,
    Endpoint,
    Message,
    StreamEndpoint,
    StreamReader,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
)
from refengine.testing import World

EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")
REDACTED: Final = "(address)"


def subject(_: World) -> list[Redaction]:
    """Return the handler of one session."""
    return [Redaction()]


class Redaction:
    """Redacts what the model is sent and what tools gave."""

    name = "redaction"

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Redact all messages, and the arguments of calls, whose tools have run."""
        return ctx, [redacted(each) for each in messages]

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Redact a result."""
        result = await next(ctx, input)
        return ToolCallResult(hidden(result.result))

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Redact a result that comes in chunks."""
        opened = await next(ctx, input)
        return StreamToolCallResult(StreamReader(hidden_of(opened.result)))


async def hidden_of(reader: StreamReader[str]) -> AsyncIterator[str]:
    """Yield whole words only: an address may be cut between two chunks."""
    held = ""
    async for chunk in reader:
        *words, held = re.split(r"(?<=\s)", held + chunk)
        if words:
            yield hidden("".join(words))
    if held:
        yield hidden(held)


def redacted(message: Message) -> Message:
    """Return the message without addresses, itself if there is none."""
    calls = [
        replace(call, arguments=hidden(call.arguments)) for call in message.tool_calls
    ]
    changed = replace(message, content=hidden(message.content), tool_calls=tuple(calls))
    return message if changed == message else changed


def hidden(text: str) -> str:
    """Return the text without addresses."""
    return EMAIL.sub(REDACTED, text)
