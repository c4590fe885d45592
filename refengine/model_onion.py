"""The onion around the model, for both modes (contract WRAP; ``wrap_model_call``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from refengine.chain import Call, Layer, Onion
from refengine.context import Context, RunLocals
from refengine.errors import ModelError
from refengine.extensions import Extensions
from refengine.interrupts import Interrupt
from refengine.live import LiveStream
from refengine.messages import Message, MessageChunk
from refengine.model import (
    ChatModel,
    MessageStream,
    ModelRequest,
    invoker,
    streamed,
    streamer,
    whole,
)
from refengine.retry import ModelRetry
from refengine.scope import INNERMOST, SCOPE, LayerName, Scope, keep_stream, look_after
from refengine.stream import StreamReader
from refengine.tools import Options, ToolInfo


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
        kept: bool = False,
        retry: ModelRetry | None = None,
        raises_again: bool = True,
    ) -> None:
        self.retry = retry
        self.raises_again = raises_again
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
        call: Call = self._innermost_open if streaming else self._innermost_call
        onion = Onion(Message, kept=self._kept)
        if streaming:
            onion = Onion(StreamReader, keep_stream, kept=self._kept)
        if self._kept:
            from refengine.kept_layers import kept_call  # noqa: PLC0415  # most are not

            call = kept_call("model", call)
        return onion.compile(self._layers, call)

    def leaving(self, error: Exception, scope: Scope) -> Exception:
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

    async def _innermost_call(self, ctx: Context, request: ModelRequest) -> Message:
        scope = SCOPE.get()
        if scope.stopped is not None and self.raises_again:
            raise scope.stopped  # a wrapper caught it and went on
        scope.shown = request
        at = scope.innermost(ctx)
        asked = request.messages, request.tools, request.options
        try:
            return whole(await self._invoke(at, *asked))
        except Exception as error:
            scope.blame(error, INNERMOST)
            raise
        except Interrupt as stop:
            scope.stopped = stop
            raise

    async def _innermost_open(
        self, ctx: Context, request: ModelRequest
    ) -> MessageStream:
        scope = SCOPE.get()
        if scope.stopped is not None and self.raises_again:
            raise scope.stopped  # a wrapper caught it and went on
        scope.shown = request
        at = scope.innermost(ctx)
        asked = request.messages, request.tools, request.options
        try:
            reader = streamed(await self._stream(at, *asked))
        except Exception as error:
            scope.blame(error, INNERMOST)
            raise
        except Interrupt as stop:
            scope.stopped = stop
            raise
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
        self.scope = Scope(run_path, run_locals)

    @property
    def shown(self) -> Sequence[ToolInfo]:
        """The tools the model was told in the end; all, if it was never reached."""
        request = self.scope.shown
        return self._request.tools if request is None else request.tools

    @property
    def reached(self) -> bool:
        """Whether the model itself was called; a resumed call may only be replayed."""
        return self.scope.shown is not None

    async def invoke(self, ctx: Context) -> Message:
        """Return the answer; raises ModelError, HookError or HookReturnError."""
        token = SCOPE.set(self.scope)
        try:
            answer: Message = await self._onion.call(streaming=False)(
                ctx, self._request
            )
            self._refuse_swallowed()
        except Exception as error:  # noqa: BLE001  # raise_as raises it
            raise_as(error, self.leaving(error))
        finally:
            SCOPE.reset(token)
        return answer

    async def stream(self, ctx: Context) -> LiveStream[MessageChunk]:
        """Return the open answer; raises as ``invoke`` does, draining it too."""
        token = SCOPE.set(self.scope)
        try:
            reader: MessageStream = await self._onion.call(streaming=True)(
                ctx, self._request
            )
            self._refuse_swallowed()
        except Exception as error:  # noqa: BLE001  # raise_as raises it
            await self.scope.close()
            raise_as(error, self.leaving(error))
        except BaseException:  # left or interrupted while a stream was handed on
            await self.scope.close()
            raise
        finally:
            SCOPE.reset(token)
        return LiveStream(reader, self.scope)

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
