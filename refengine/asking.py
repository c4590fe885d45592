"""Asking the model again in one iteration, where the policy says so.

An attempt is one entry into the onion around the model, with a stream and a model event
of its own. The loop makes them one by one; here it is known which one it is, and is
decided once for each how it goes on after a failure. Agents without a policy have none
of this.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

from refengine.context import Context, RunLocals
from refengine.errors import HookError, ModelError
from refengine.live import LiveStream
from refengine.messages import Message, MessageChunk, join_chunks
from refengine.model import ModelRequest
from refengine.model_onion import ModelCall, ModelOnion
from refengine.retry import ModelRetry, Verdict
from refengine.stream import StreamReader

T = TypeVar("T")


async def until(ask: Callable[[Context], Awaitable[T | None]], ctx: Context) -> T:
    """Ask again until something comes; it is ``ask`` that raises in the end."""
    while (came := await ask(ctx)) is None:
        pass
    return came


class Asking:
    """The attempts at the model in one iteration.

    ``number`` is that of the attempt under way, counted from 1: a run that goes on from
    where it was kept may begin with a later one.
    """

    __slots__ = ("_attempt", "_onion", "_place", "_request", "_retry", "number")

    def __init__(
        self,
        onion: ModelOnion,
        request: ModelRequest,
        place: tuple[tuple[str, ...], RunLocals],
        retry: ModelRetry,
        number: int = 1,
    ) -> None:
        self._onion = onion
        self._request = request
        self._place = place
        self._retry = retry
        self.number = min(number, retry.attempts)  # the policy may have changed since
        self._attempt = self._new_attempt()

    @property
    def call(self) -> ModelCall:
        """The call of the attempt under way; once it has answered, of that one."""
        return self._attempt.call

    async def answer(self, ctx: Context) -> Message | None:
        """Return the answer, None if the model is to be asked again.

        Raises what the run ends with.
        """
        try:
            return await self.call.invoke(ctx)
        except Exception as leaving:  # noqa: BLE001  # it is followed or raised below
            verdict = self._attempt.left(leaving)
        await self._follow(verdict)
        return None

    async def open(self, ctx: Context) -> LiveStream[MessageChunk] | None:
        """Return the open answer, None if the model is to be asked again.

        Raises what the run ends with.
        """
        try:
            return await self.call.stream(ctx)
        except Exception as leaving:  # noqa: BLE001  # it is followed or raised below
            verdict = self._attempt.left(leaving)
        await self._follow(verdict)
        return None

    def reader(self, live: LiveStream[MessageChunk]) -> StreamReader[MessageChunk]:
        """Return the open answer for the consumer, who is told if it is asked again."""
        attempt = self._attempt
        return StreamReader(attempt.read(live), error_wrapper=attempt.told)

    async def broke(self, error: Exception) -> None:
        """Go on after an open answer broke; raises what the run ends with."""
        await self._follow(self._attempt.broke(error))

    def leave(self) -> None:
        """Promise nothing more to who reads on when the run is left."""
        self._attempt.left_alone = True

    def _new_attempt(self) -> Attempt:
        onion = self._onion.of(self._retry.model_at(self.number))
        call = ModelCall(onion, self._request, *self._place)
        return Attempt(call, self._retry, self.number)

    async def _follow(self, verdict: Verdict) -> None:
        if verdict.wait is None:
            raise verdict.leaving
        await asyncio.sleep(verdict.wait)
        self.number += 1
        self._attempt = self._new_attempt()


class Attempt:
    """One attempt: its call, and how it goes on once that has failed."""

    __slots__ = ("_number", "_retry", "_verdict", "call", "left_alone")

    def __init__(self, call: ModelCall, retry: ModelRetry, number: int) -> None:
        self.call = call
        self._retry = retry
        self._number = number
        self._verdict: Verdict | None = None
        self.left_alone = False

    def left(self, leaving: Exception) -> Verdict:
        """Return how it goes on after an error that left the call."""
        if isinstance(leaving, (ModelError, HookError)):
            return self._judged(leaving.cause, leaving)
        return self._judged(leaving, leaving)

    def broke(self, error: Exception) -> Verdict:
        """Return how it goes on after an error that broke the open stream.

        It is decided once, whether the run or the consumer comes upon it first.
        """
        if self._verdict is not None:
            return self._verdict
        leaving = self.call.leaving(error)
        if leaving is not error:
            leaving.__cause__ = error
        return self._judged(error, leaving)

    def told(self, error: Exception) -> Exception:
        """Return what the consumer sees where the open stream broke."""
        if self.left_alone and self._verdict is None:
            return error  # of a run that asks nobody any more
        return self.broke(error).told

    async def read(self, live: LiveStream[MessageChunk]) -> AsyncIterator[MessageChunk]:
        """Yield the chunks; ones that cannot be joined break the stream at its end."""
        async with aclosing(live.reader()) as chunks:
            async for chunk in chunks:
                yield chunk
        join_chunks(live.chunks)

    def _judged(self, error: Exception, leaving: Exception) -> Verdict:
        self._verdict = self._retry.after(self._number, error, leaving)
        return self._verdict
