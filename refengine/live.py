"""A stream that two read: the run, which needs the whole, and the event's consumer.

Whoever comes first pulls; the other finds the chunk kept. The run drains what the
consumer left, so a consumer that looks away holds nothing up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Generic, TypeVar

from refengine.errors import StreamBrokenOffError
from refengine.flat import flat, is_deep
from refengine.scope import SCOPE, Scope
from refengine.stream import StreamReader

T = TypeVar("T")


class LiveStream(Generic[T]):
    """Shares one stream; its chunks are kept until the call is over."""

    __slots__ = ("_ended", "_failed", "_lock", "_scope", "_source", "chunks")

    def __init__(self, source: StreamReader[T], scope: Scope) -> None:
        self._source = source
        self._scope = scope
        self._lock = asyncio.Lock()
        self._ended = False
        self._failed: Exception | None = None
        self.chunks: list[T] = []

    def reader(self) -> StreamReader[T]:
        """Return a stream for a consumer, from the first chunk on."""
        return StreamReader(self._read())

    async def drain(self) -> list[T]:
        """Read to the end, close everything the call opened, return all chunks."""
        await flat(self._drain)
        if self._failed is not None:
            raise self._failed
        return self.chunks

    async def _drain(self) -> None:
        try:
            while not self._ended:
                await self._pull(len(self.chunks))
        finally:
            await self.close()

    async def close(self) -> None:
        """Close what wrappers and tool opened, the outermost first; each once."""
        self._ended = True
        for reader in reversed(self._scope.readers):
            with suppress(Exception):  # a stream that fails to close has no reader left
                await reader.aclose()

    async def _read(self) -> AsyncIterator[T]:
        at = 0
        deep = is_deep()  # asked once: one consumer reads from one depth
        while True:
            while at < len(self.chunks):
                yield self.chunks[at]
                at += 1
            if self._ended:
                break
            pull = self._pull(at)
            await (asyncio.ensure_future(pull) if deep else pull)
        if self._failed is not None:
            raise self._failed

    async def _pull(self, have: int) -> None:
        """Get a chunk more than ``have``, unless somebody just did."""
        async with self._lock:
            if self._ended or len(self.chunks) > have:
                return
            token = SCOPE.set(self._scope)
            try:
                self.chunks.append(await self._source.__anext__())
            except StopAsyncIteration:
                self._ended = True
            except Exception as error:  # noqa: BLE001  # kept for both readers
                self._ended = True
                self._failed = error
            except BaseException:  # the source went with the reader that waited for it
                self._ended = True
                self._failed = StreamBrokenOffError()
                raise
            finally:
                SCOPE.reset(token)
