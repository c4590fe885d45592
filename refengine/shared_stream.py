"""Streams of calls: looked after by layers, shared by the run and the consumer.

Two read one stream: the run, which needs the whole, and the event's consumer. Whoever
comes first pulls; the other finds the chunk kept. The run drains what the consumer
left, so a consumer that looks away holds nothing up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Generic, TypeVar, cast

from refengine.awaiting import STREAM_STRIDE, ended, in_turn, on_shallow_stack
from refengine.chain import SCOPE, CallScope, LayerName
from refengine.errors import (
    HookReturnError,
    RefengineError,
    StreamBrokenOffError,
    StreamConsumedError,
)
from refengine.stream import StreamReader

T = TypeVar("T")


class SharedStream(Generic[T]):
    """Shares one stream; its chunks are kept until the call is over."""

    __slots__ = (
        "_ended",
        "_failed",
        "_lock",
        "_pulling",
        "_source",
        "chunks",
        "scope",
    )

    def __init__(self, source: StreamReader[T], scope: CallScope) -> None:
        self._source = source
        self.scope: CallScope = scope
        self._lock = asyncio.Lock()
        self._pulling: asyncio.Task[None] | None = None
        self._ended = False
        self._failed: Exception | None = None
        self.chunks: list[T] = []

    @property
    def whole(self) -> bool:
        """Whether the stream was read to its end, and without an error."""
        return self._ended and self._failed is None

    def reader(self) -> StreamReader[T]:
        """Return a stream for a consumer, from the first chunk on."""
        return StreamReader(self._read())

    async def drain(self) -> list[T]:
        """Read to the end, close everything the call opened, return all chunks."""
        await on_shallow_stack(self._drain)
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
        """Close what wrappers and tool opened; who still reads is told, not fooled."""
        if not self._ended:
            self._ended = True
            self._failed = StreamBrokenOffError()
        pulling = self._pulling
        if pulling is None or pulling.done():
            await self.scope.close()
        else:
            await in_turn((lambda: ended((pulling,)), self.scope.close))

    async def _read(self) -> AsyncIterator[T]:
        at = 0
        while True:
            while at < len(self.chunks):
                yield self.chunks[at]
                at += 1
            if self._ended:
                break
            await self._pull_apart(at)
        if self._failed is not None:
            raise self._failed

    async def _pull_apart(self, have: int) -> None:
        """Pull for the consumer, in a task of the stream's own.

        A consumer that is cancelled while it waits must not take the source with it,
        one that waits must not keep the run from closing it, and one may read from a
        stack that is deep already.
        """
        if self._pulling is None or self._pulling.done():
            self._pulling = asyncio.ensure_future(self._pull(have))
        await asyncio.wait({self._pulling})

    async def _pull(self, have: int) -> None:
        """Get a chunk more than ``have``, unless somebody just did."""
        if len(self.chunks) > have:
            return  # it is there, and whoever has the lock waits for one after it
        async with self._lock:
            if self._ended or len(self.chunks) > have:
                return
            token = SCOPE.set(self.scope)
            try:
                self.chunks.append(await self._source.__anext__())
            except StopAsyncIteration:
                self._ended = True
            except Exception as error:  # noqa: BLE001  # kept for both readers
                self._ended = True
                self._failed = error
            except BaseException:  # the source went with who waited for it
                self._ended = True
                self._failed = self._failed or StreamBrokenOffError()
                raise
            finally:
                SCOPE.reset(token)


def look_after(reader: StreamReader[Any], at: int) -> None:
    """See that a new stream is closed with the call and its errors find their layer.

    One that a wrapper only passed on keeps who made it.
    """
    if reader._on_error is not None:  # noqa: SLF001  # engine
        return
    scope = SCOPE.get()
    reader._on_error = lambda error, seen: scope.blame(error, at, seen)  # noqa: SLF001  # engine
    # The outermost stream is read by LiveStream, which has looked at the depth itself.
    reader._deep = at > 0 and at % STREAM_STRIDE == 0  # noqa: SLF001  # engine
    scope.readers.append(reader)


def keep_stream(got: object, at: int, name: LayerName) -> None:
    """Look after the stream a layer gave.

    Raises HookReturnError if it is none, StreamConsumedError if it was read already.
    """
    scope = SCOPE.get()
    error: RefengineError
    if not isinstance(got, StreamReader):
        error = HookReturnError(name.owner, name.hook, got, "a StreamReader")
        raise scope.own(error)
    reader = cast("Any", got)  # mypy narrows it to what pyright cannot name
    if reader._spent:  # noqa: SLF001  # engine
        error = StreamConsumedError()
        scope.blame(error, at)
        raise error
    look_after(reader, at)
