"""Calls of the model: the onion around it, and asking it again (contract WRAP, §2).

An attempt is one entry into the onion around the model, with a stream and a model event
of its own. Hooks of a pipeline stand outside of it and run once an iteration, the
wrappers around the model inside of it, once an attempt. What follows after a failure
depends on the policy, the number of the attempt and the error, and on nothing else: a
run that is resumed at its third attempt goes on as it would have (seed 000 §3.4). The
loop makes the attempts one by one; agents without a policy have none of this.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar, cast

from refengine.awaiting import is_async
from refengine.chain import (
    INNERMOST,
    SCOPE,
    Call,
    CallScope,
    KeptCalls,
    Layer,
    LayerName,
    Onion,
)
from refengine.context import Context, RunLocals
from refengine.errors import (
    HookError,
    InterruptInStreamError,
    InterruptOutsideHookError,
    ModelError,
    NotKeepableError,
    RetriesExhaustedError,
    RetryFunctionError,
    RetryPolicyError,
    WillRetryError,
)
from refengine.extensions import Extensions
from refengine.interrupts import Interrupt
from refengine.messages import Message, MessageChunk, join_chunks
from refengine.model import (
    ChatModel,
    MessageStream,
    ModelRequest,
    invoker,
    streamed,
    streamer,
    whole,
)
from refengine.shared_stream import SharedStream, keep_stream, look_after
from refengine.stream import StreamReader
from refengine.tools import Options, ToolInfo

if TYPE_CHECKING:
    from refengine.model import ChatModel


class ModelOnion:
    """The compiled wrappers around a model. Its length is their number.

    Each mode is compiled when it is first run: 10,000 layers that nobody enters would
    only lie between those that are. ``retry`` says when a model is asked again, and the
    models to fall back on have onions of their own. ``raises_again`` is what becomes of
    an interrupt that a wrapper did not let out (posture ``swallowed_interrupt``).
    """

    __slots__ = (
        "_calls",
        "_invoke",
        "_kept",
        "_layers",
        "_names",
        "_others",
        "_stream",
        "raises_again",
        "retry",
    )

    def __init__(
        self,
        model: ChatModel,
        extensions: Extensions,
        *,
        kept: KeptCalls | None = None,
        retry: ModelRetry | None = None,
        raises_again: bool = True,
    ) -> None:
        self.retry: ModelRetry | None = retry
        self.raises_again: bool = raises_again
        self._kept = kept
        others = () if retry is None else retry.fall_back
        self._others = [
            ModelOnion(each, extensions, kept=kept, raises_again=raises_again)
            for each in others
        ]
        self._invoke = invoker(model)
        self._stream = streamer(model)
        wraps = extensions.with_hook("wrap_model_call")
        self._names: Sequence[LayerName] = [name for name, _ in wraps]
        self._layers = [Layer(name, wrap=wrap) for name, wrap in wraps]
        self._calls: dict[bool, Call] = {}

    def __len__(self) -> int:
        return len(self._names)

    def of(self, model: int) -> ModelOnion:
        """Return the onion of one of the models: 0 is this one, then those after it."""
        return self._others[model - 1] if model else self

    def call(self, *, streaming: bool) -> Call:
        """Return the onion of a mode: from a request to a message, or to a stream."""
        if streaming not in self._calls:
            self._calls[streaming] = self._compiled(streaming=streaming)
        return self._calls[streaming]

    def _compiled(self, *, streaming: bool) -> Call:
        call = self._innermost(streaming=streaming)
        onion = Onion(Message, kept=self._kept)
        if streaming:
            onion = Onion(StreamReader, keep_stream, kept=self._kept)
        if self._kept is not None:
            call = self._kept.kept_call("model", call)
        return onion.compile(self._layers, call)

    def leaving(self, error: Exception, scope: CallScope) -> Exception:
        """Return the error as it leaves the onion; the model's own is a ModelError."""
        made = scope.leaving(error, self._names)
        if made is error and error is not scope.made:
            return ModelError(error)
        return made

    async def bare(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        """Invoke the model where nobody wraps it; raises ModelError."""
        try:
            return whole(await self._invoke(ctx, messages, tools, options))
        except Exception as error:
            raise ModelError(error) from error

    def _innermost(self, *, streaming: bool) -> Call:
        """Return the call of the model itself, which all wrappers lead to."""
        ask: Callable[..., Awaitable[object]]
        ask, taken = (self._stream, _opened) if streaming else (self._invoke, whole)

        async def call(ctx: Context, request: ModelRequest) -> Message | MessageStream:
            scope = SCOPE.get()
            if scope.stopped is not None and self.raises_again:
                raise scope.stopped  # a wrapper caught it and went on
            scope.shown = request
            at = scope.innermost(ctx)
            given = request.messages, request.tools, request.options
            try:
                return taken(await ask(at, *given))
            except Exception as error:
                scope.blame(error, INNERMOST)
                raise
            except Interrupt as stop:
                scope.stopped = stop
                raise

        return call


def _opened(answer: object) -> MessageStream:
    """Return what a model answered as a stream, which is closed with the call."""
    reader = streamed(answer)
    look_after(reader, INNERMOST)
    return reader


class ModelCall:
    """One attempt at the model, in one run."""

    __slots__ = ("_onion", "_request", "scope")

    def __init__(
        self,
        onion: ModelOnion,
        request: ModelRequest,
        run_path: tuple[str, ...],
        run_locals: RunLocals,
    ) -> None:
        self._onion = onion
        self._request = request
        self.scope: CallScope = CallScope(run_path, run_locals)

    @property
    def shown(self) -> Sequence[ToolInfo]:
        """The tools the model was told in the end; all, if it was never reached."""
        request = self.scope.shown
        return self._request.tools if request is None else request.tools

    @property
    def reached(self) -> bool:
        """Whether the model itself was called; a resumed call may only be replayed."""
        return self.scope.shown is not None

    def invoke(self, ctx: Context) -> Awaitable[Message]:
        """Return the answer; raises ModelError, HookError or HookReturnError."""
        return self._enter(ctx, streaming=False)

    async def stream(self, ctx: Context) -> SharedStream[MessageChunk]:
        """Return the open answer; raises as ``invoke`` does, draining it too."""
        return SharedStream(await self._enter(ctx, streaming=True), self.scope)

    async def _enter(self, ctx: Context, *, streaming: bool) -> Any:  # noqa: ANN401  # by the mode
        token = SCOPE.set(self.scope)
        try:
            answer = await self._onion.call(streaming=streaming)(ctx, self._request)
            self._refuse_swallowed()
        except Exception as error:  # noqa: BLE001  # raise_as raises it
            await self.scope.close()
            raise_as(error, self.leaving(error))
        except BaseException:  # left or interrupted while a stream was handed on
            await self.scope.close()
            raise
        finally:
            SCOPE.reset(token)
        return answer

    def _refuse_swallowed(self) -> None:
        """Raise an interrupt again that a wrapper did not let out (contract INT)."""
        if self.scope.stopped is not None and self._onion.raises_again:
            raise self.scope.stopped

    def leaving(self, error: Exception) -> Exception:
        """Return an error of the call, or of its stream, as the run reports it."""
        return self._onion.leaving(error, self.scope)


def raise_as(error: Exception, made: Exception) -> NoReturn:
    """Raise what an error became, with it as the cause unless it stayed itself."""
    if made is error:
        raise error
    raise made from error


T = TypeVar("T")


class Attempts:
    """The attempts at the model in one iteration.

    ``number`` is that of the attempt under way, counted from 1: a run that goes on from
    where it was kept may begin with a later one.
    """

    __slots__ = ("_at", "_attempt", "_onion", "_request", "_retry", "number")

    def __init__(
        self,
        onion: ModelOnion,
        request: ModelRequest,
        at: tuple[tuple[str, ...], RunLocals],
        retry: ModelRetry,
        number: int = 1,
    ) -> None:
        self._onion = onion
        self._request = request
        self._at = at
        self._retry = retry
        self.number: int = min(
            number, retry.attempts
        )  # the policy may have changed since
        self._attempt = self._new_attempt()

    @property
    def call(self) -> ModelCall:
        """The call of the attempt under way; once it has answered, of that one."""
        return self._attempt.call

    async def ask(
        self, call: Callable[[Context], Awaitable[T]], ctx: Context
    ) -> T | None:
        """Return what the call gives, None if the model is to be asked again.

        It is ``invoke`` or ``stream`` of the attempt under way. Raises what the run
        ends with.
        """
        try:
            return await call(ctx)
        except Exception as leaving:  # noqa: BLE001  # it is followed or raised below
            verdict = self._attempt.left(leaving)
        await self._follow(verdict)
        return None

    def reader(self, live: SharedStream[MessageChunk]) -> StreamReader[MessageChunk]:
        """Return the open answer for the consumer, who is told if it is asked again."""
        attempt = self._attempt
        return StreamReader(attempt.read(live), error_wrapper=attempt.stream_error)

    async def broke(self, error: Exception) -> None:
        """Go on after an open answer broke; raises what the run ends with."""
        await self._follow(self._attempt.broke(error))

    def leave(self) -> None:
        """Promise nothing more to who reads on when the run is left."""
        self._attempt.left_alone = True

    def _new_attempt(self) -> Attempt:
        onion = self._onion.of(self._retry.model_at(self.number))
        call = ModelCall(onion, self._request, *self._at)
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
        self.call: ModelCall = call
        self._retry = retry
        self._number = number
        self._verdict: Verdict | None = None
        self.left_alone: bool = False

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

    def stream_error(self, error: Exception) -> Exception:
        """Return what the consumer sees where the open stream broke."""
        if self.left_alone and self._verdict is None:
            return error  # of a run that asks nobody any more
        return self.broke(error).reader_error

    async def read(
        self, live: SharedStream[MessageChunk]
    ) -> AsyncIterator[MessageChunk]:
        """Yield the chunks; ones that cannot be joined break the stream at its end."""
        async with aclosing(live.reader()) as chunks:
            async for chunk in chunks:
                yield chunk
        join_chunks(live.chunks)

    def _judged(self, error: Exception, leaving: Exception) -> Verdict:
        self._verdict = self._retry.after(self._number, error, leaving)
        return self._verdict


RetryOn: TypeAlias = Callable[[Exception], bool]
Backoff: TypeAlias = Callable[[int], float]

_AMPLE: Final = 1000
"""From here on a backoff that doubles has long met any cap, and a float its end."""


def every_error(error: Exception) -> bool:  # noqa: ARG001  # as retry_on is called
    """Return True: whatever the model or a wrapper raised, the model is asked again."""
    return True


def exponential(first: float = 0.1, cap: float = 10.0) -> Backoff:
    """Return a backoff of ``first`` seconds, twice as long each time, at most ``cap``.

    Nothing in it is drawn by lot, so that a run can be played again; whoever sends many
    runs at once to one server gives a function that does. Raises RetryPolicyError.
    """
    for name, given in (("first", first), ("cap", cap)):
        if not _is_seconds(given):
            raise RetryPolicyError(f"exponential({name})", given, _SECONDS)

    def seconds(retry: int) -> float:
        doubled: float = first * 2.0 ** min(retry - 1, _AMPLE)
        return min(doubled, cap)

    return seconds


@dataclass(frozen=True, slots=True)
class ModelRetry:
    """How often a model is asked again, and which models are asked after it.

    Each model, that of the agent and then each of ``fall_back``, has one attempt and
    ``max_retries`` more. ``retry_on`` is given what the model or a wrapper raised; an
    error it returns False for ends the run at once, as without a policy, and so does an
    interrupt or a value that comes where it cannot be kept. Before the nth
    retry of a model ``backoff(n)`` seconds are waited, none before another model is
    asked. Raises RetryPolicyError.
    """

    max_retries: int = 2
    retry_on: RetryOn = every_error
    backoff: Backoff = field(default_factory=exponential)
    fall_back: tuple[ChatModel, ...] = ()

    def __post_init__(self) -> None:
        if type(self.max_retries) is not int or self.max_retries < 0:
            wanted = "a whole number of at least 0"
            raise RetryPolicyError("max_retries", self.max_retries, wanted)
        _check_function("retry_on", self.retry_on, "an error", "True or False")
        _check_function("backoff", self.backoff, "the number of the retry", "seconds")
        _check_models(self.fall_back)

    @property
    def attempts(self) -> int:
        """How often the model is asked in one iteration at most."""
        return (1 + self.max_retries) * (1 + len(self.fall_back))

    def model_at(self, attempt: int) -> int:
        """Return who is asked at an attempt, counted from 1: 0 is the agent's model."""
        return (attempt - 1) // (1 + self.max_retries)

    def after(self, attempt: int, error: Exception, leaving: Exception) -> Verdict:
        """Return how it goes on after an attempt, counted from 1, that failed.

        ``error`` is what was raised, ``leaving`` what the run would end with.
        """
        try:
            if not self._is_retried(error):
                return Verdict(None, error, leaving)
            if attempt >= self.attempts:
                last = RetriesExhaustedError(attempt, leaving)
                return Verdict(None, last, last)
            reader_error = WillRetryError(attempt, error)
            return Verdict(self._seconds(attempt, error), reader_error, leaving)
        except RetryFunctionError as failed:
            return Verdict(None, failed, failed)

    def _is_retried(self, error: Exception) -> bool:
        if isinstance(error, (InterruptInStreamError, NotKeepableError)):
            return False  # no failure of an attempt: the next one would end the same
        answer = _called("retry_on", self.retry_on, error, error)
        if answer is True or answer is False:
            return answer
        raise RetryFunctionError("retry_on", answer, "True or False", error)

    def _seconds(self, attempt: int, error: Exception) -> float:
        """Return how long to wait before the next attempt."""
        number = (attempt - 1) % (1 + self.max_retries) + 1
        if number > self.max_retries:  # another model is next
            return 0.0
        seconds = _called("backoff", self.backoff, number, error)
        if not _is_seconds(seconds):
            raise RetryFunctionError("backoff", seconds, _SECONDS, error)
        return float(seconds)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How it goes on after a failed attempt.

    ``wait`` is in seconds, None if the model is not asked again. ``reader_error`` is
    what the reader of a stream that broke gets, ``leaving`` what the run ends with if
    it ends here.
    """

    wait: float | None
    reader_error: Exception
    leaving: Exception


_SECONDS: Final = "a finite number of seconds, 0 or more"


def _is_seconds(value: object) -> bool:
    if type(value) is not int and type(value) is not float:  # a bool is none
        return False
    return 0 <= value < math.inf


def _called(
    name: str,
    function: Callable[[Any], object],
    given: object,
    error: Exception,
) -> Any:  # noqa: ANN401  # whatever it gave, which is looked at next
    try:
        return function(given)
    except Exception as failed:
        raise RetryFunctionError(name, failed, "an answer", error) from failed
    except Interrupt as stop:
        outside = InterruptOutsideHookError(f"{name} of ModelRetry")
        raise RetryFunctionError(name, outside, "an answer", error) from stop


def _check_function(name: str, given: object, of: str, gives: str) -> None:
    if not callable(given) or is_async(given):
        wanted = f"a plain function of {of} that returns {gives}"
        raise RetryPolicyError(name, given, wanted)


def _check_models(given: object) -> None:
    if not isinstance(given, tuple):
        raise RetryPolicyError("fall_back", given, "a tuple of models")
    for at, model in enumerate(cast("tuple[object, ...]", given)):
        if not (hasattr(model, "invoke") or hasattr(model, "stream")):
            wanted = "a model with invoke, stream or both"
            raise RetryPolicyError(f"fall_back[{at}]", model, wanted)
