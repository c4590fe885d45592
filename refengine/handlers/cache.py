"""A cache of tool results.

The cache of seed 001 §6.3 is written by many runs at once, and that of §5.3 hands one
mutable result to everybody. This one keeps texts, which nobody can change, and lets one
of several equal calls run while the others wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeAlias

from refengine.context import Context
from refengine.errors import HandlerArgumentError
from refengine.handlers.tool_filter import tool_names
from refengine.stream import StreamReader
from refengine.tools import (
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
)

_Chunks: TypeAlias = tuple[str, ...]
_Key: TypeAlias = tuple[str, str, frozenset[object]]


class CacheHandler:
    """Runs a tool once for each text of its arguments, and keeps what it returned.

    It is for tools whose result depends on nothing else: name them in ``only``. Calls
    with other options are other calls; if the options cannot be hashed, the call is
    not cached. A call that fails is not kept, and of those that waited for it the next
    one runs. A stream is collected before its first chunk goes on, and replayed in the
    same chunks.

    Each instance keeps its own results, at most ``limit``: the oldest goes first. One
    instance may serve many runs, but of one event loop at a time.
    """

    __slots__ = ("_limit", "_only", "_results", "_running", "name")

    def __init__(self, *, only: Iterable[str] | None = None, limit: int = 1000) -> None:
        if type(limit) is not int or limit < 1:
            raise HandlerArgumentError("CacheHandler", limit, "a limit of at least 1")
        self.name: str = "cache"
        self._only = None if only is None else tool_names("CacheHandler", only)
        self._limit = limit
        self._results: dict[_Key, _Chunks] = {}
        self._running: dict[_Key, asyncio.Event] = {}

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Return the result that is kept, or call the tool and keep it."""

        async def run() -> _Chunks:
            return ((await next(ctx, input)).result,)

        return ToolCallResult("".join(await self._once(input, run)))

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Replay the chunks that are kept, or call the tool and keep them."""

        async def run() -> _Chunks:
            opened = await next(ctx, input)
            return tuple([chunk async for chunk in opened.result])

        chunks = await self._once(input, run)
        return StreamToolCallResult(StreamReader(_replay(chunks)))

    async def _once(
        self, call: ToolCallInput, run: Callable[[], Awaitable[_Chunks]]
    ) -> _Chunks:
        """Return what is kept; else run, unless an equal call is running already."""
        key = self._key(call)
        if key is None:
            return await run()
        while key not in self._results:
            other = self._running.get(key)
            if other is None:
                await self._run(key, run)
            else:
                await other.wait()
        return self._results[key]

    async def _run(self, key: _Key, run: Callable[[], Awaitable[_Chunks]]) -> None:
        done = self._running[key] = asyncio.Event()
        try:
            chunks = await run()
            if len(self._results) >= self._limit:
                del self._results[next(iter(self._results))]
            self._results[key] = chunks
        finally:
            del self._running[key]
            done.set()

    def _key(self, call: ToolCallInput) -> _Key | None:
        """Return what makes calls equal, None if this one is not to be cached."""
        if self._only is not None and call.name not in self._only:
            return None
        options = call.call_options.items()
        try:
            # 1, 1.0 and True are equal, but may mean different things to a tool.
            told = frozenset((name, type(value), value) for name, value in options)
        except TypeError:
            return None
        return call.name, call.arguments, told


async def _replay(chunks: _Chunks) -> AsyncIterator[str]:
    for chunk in chunks:
        yield chunk
