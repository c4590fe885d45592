"""Keeps e-mail addresses from the model and out of the history: a struct middleware."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

from refengine import (
    AgentMiddleware,
    ChatModelAgentState,
    Context,
    Endpoint,
    Message,
    StreamEndpoint,
    StreamReader,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolMiddleware,
)
from refengine.testing import Trace, World, intends

EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")
REDACTED: Final = "(address)"


@intends("no request holds an e-mail address")
def no_request_holds_an_address(trace: Trace) -> bool:
    """Look at the contents of all messages, and at the arguments of their calls."""
    requests: list[Any] = [seen.data for seen in trace.of("model_request")]
    messages = [message for request in requests for message in request["messages"]]
    texts = [message.get("content", "") for message in messages]
    texts += [c["arguments"] for m in messages for c in m.get("tool_calls", ())]
    return not any(map(EMAIL.search, texts))


def subject(_: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""
    return [
        AgentMiddleware(
            before_chat_model=redact_history,
            after_chat_model=redact_answer,
            wrap_tool_call=ToolMiddleware(invokable, streamable),
        )
    ]


def redact_history(_: Context, state: ChatModelAgentState) -> None:
    """Redact all messages, and the arguments of calls, whose tools have run."""
    state.messages = [redacted(each) for each in state.messages]


def redact_answer(_: Context, state: ChatModelAgentState) -> None:
    """Redact what the model said."""
    state.messages[-1:] = map(said, state.messages[-1:])


def invokable(inner: Endpoint) -> Endpoint:
    """Wrap a tool whose result comes in one piece."""

    async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
        result = await inner(ctx, input)
        return ToolCallResult(hidden(result.result))

    return call


def streamable(inner: StreamEndpoint) -> StreamEndpoint:
    """Wrap a tool whose result comes in chunks."""

    async def call(ctx: Context, input: ToolCallInput) -> StreamToolCallResult:
        opened = await inner(ctx, input)
        return StreamToolCallResult(StreamReader(hidden_of(opened.result)))

    return call


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


def said(answer: Message) -> Message:
    """Return an answer without addresses; the tools it calls get what it wrote."""
    return replace(answer, content=hidden(answer.content))


def hidden(text: str) -> str:
    """Return the text without addresses."""
    return EMAIL.sub(REDACTED, text)
