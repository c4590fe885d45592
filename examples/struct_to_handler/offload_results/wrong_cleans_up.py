"""Wrong: empties the store after a run, though the next one may ask for it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Final, TypeAlias, cast

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
    ToolInfo,
    ToolMeta,
)
from refengine.testing import World

LIMIT: Final = 24
"""A result of more characters is stored."""
READ: Final = "read_result"
EXAMPLE: Final = '{"key": "result-1"}'
HINT: Final = "Long results are stored, and read_result gives them."

Asked: TypeAlias = "dict[str, object]"
"""The arguments of a call that asks for a text."""


def subject(world: World) -> list[OffloadResults]:
    """Return the handler of one session."""
    return [OffloadResults(world)]


class OffloadResults:
    """Keeps the long results of a session, each under a key."""

    name = "offload_results"

    def __init__(self, world: World) -> None:
        self._world = world
        self.texts: dict[str, str] = {}

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Add the tool that gives them, and tell of it as a struct does."""
        config.instruction += f"\n{HINT}"
        config.tools.append(ToolMeta(ReadResult(self)))
        return ctx

    def after_agent(self, ctx: Context, _: Sequence[Message]) -> Context:
        """Empty the store."""
        self.texts.clear()
        return ctx

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Store a long result."""
        result = await next(ctx, input)
        if input.name != READ:
            result.result = self._shown(result.result)
        return result

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Store a long result, when its stream ends."""
        opened = await next(ctx, input)
        if input.name != READ:
            opened.result = StreamReader(self._shown_of(opened.result))
        return opened

    def _shown(self, text: str) -> str:
        if len(text) <= LIMIT:
            return text
        key = f"result-{len(self.texts) + 1}"
        self.texts[key] = text
        self._world.effect("stored", {"key": key, "characters": len(text)})
        return f"{len(text)} characters are stored as {key}: {READ} gives them"

    async def _shown_of(self, reader: StreamReader[str]) -> AsyncIterator[str]:
        yield self._shown("".join([chunk async for chunk in reader]))


class ReadResult:
    """A tool that gives a stored result."""

    info = ToolInfo(
        READ,
        f"Gives a stored result, for example {EXAMPLE}",
        {"type": "object", "properties": {"key": {"type": "string"}}},
    )

    def __init__(self, store: OffloadResults) -> None:
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
