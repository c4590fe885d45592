"""Stores long results and shows the model where: a struct middleware."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Final, TypeAlias, cast

from refengine import (
    AgentMiddleware,
    Context,
    Endpoint,
    StreamEndpoint,
    StreamReader,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
    ToolMiddleware,
)
from refengine.testing import World

LIMIT: Final = 24
"""A result of more characters is stored."""
READ: Final = "read_result"
EXAMPLE: Final = '{"key": "result-1"}'
HINT: Final = "Long results are stored, and read_result gives them."

Asked: TypeAlias = "dict[str, object]"
"""The arguments of a call that asks for a text."""


def subject(world: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""
    store = Store(world)

    def invokable(inner: Endpoint) -> Endpoint:
        async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
            result = await inner(ctx, input)
            if input.name != READ:
                result.result = store.shown(result.result)
            return result

        return call

    def streamable(inner: StreamEndpoint) -> StreamEndpoint:
        async def call(ctx: Context, input: ToolCallInput) -> StreamToolCallResult:
            opened = await inner(ctx, input)
            if input.name != READ:
                opened.result = StreamReader(store.shown_of(opened.result))
            return opened

        return call

    return [
        AgentMiddleware(
            additional_instruction=HINT,
            additional_tools=[ReadResult(store)],
            wrap_tool_call=ToolMiddleware(invokable, streamable),
        )
    ]


class Store:
    """The long results of a session, each under a key."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.texts: dict[str, str] = {}

    def shown(self, text: str) -> str:
        """Return what the model is shown; a long text is stored."""
        if len(text) <= LIMIT:
            return text
        key = f"result-{len(self.texts) + 1}"
        self.texts[key] = text
        self._world.effect("stored", {"key": key, "characters": len(text)})
        return f"{len(text)} characters are stored as {key}: {READ} gives them"

    async def shown_of(self, reader: StreamReader[str]) -> AsyncIterator[str]:
        """Yield what the model is shown; that is known at the stream's end."""
        yield self.shown("".join([chunk async for chunk in reader]))


class ReadResult:
    """A tool that gives a stored result."""

    info = ToolInfo(
        READ,
        f"Gives a stored result, for example {EXAMPLE}",
        {"type": "object", "properties": {"key": {"type": "string"}}},
    )

    def __init__(self, store: Store) -> None:
        self._store = store

    async def invoke(self, _ctx: Context, arguments: str, _options: object) -> str:
        """Return the text under the key, the last one if no key is given."""
        try:
            given = json.loads(arguments)
        except ValueError:
            given = None
        key = cast("Asked", given).get("key") if isinstance(given, dict) else None
        texts = self._store.texts
        found = texts.get(str(key or next(reversed(texts), "")))
        return "There is no such result." if found is None else found
