"""Wrappers of a scenario: what they do when they are made, and when they are called."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Generic, Literal, Protocol, TypeVar

from refengine.context import Context
from refengine.hooks import ModelEndpoint
from refengine.interrupts import Interrupt, is_reentry
from refengine.messages import Message, MessageChunk, chunk_of, join_chunks
from refengine.model import MessageStream, ModelRequest
from refengine.stream import StreamReader, convert_stream
from refengine.testing.notation import parse_message
from refengine.testing.perform import (
    UNSET,
    Extension,
    answered,
    appended,
    local_entry,
)
from refengine.testing.scenario import ModelWrapSpec, ToolWrapSpec
from refengine.testing.scripted import ScriptedError, answer_text, scripted_error
from refengine.tools import (
    Options,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
)

R = TypeVar("R", ToolCallResult, StreamToolCallResult)
Mode = Literal["invoke", "stream"]


class FactoryError(ScriptedError):
    """A wrapper could not be made, as the scenario asked."""


@dataclass(slots=True)
class Made(Generic[R]):
    """A wrapper that was made: a handler's anew for each call, a middleware's not."""

    me: Extension
    spec: ToolWrapSpec
    at: Literal["tool_wrapper", "tool_middleware"]
    mode: Mode
    kind: ToolKind[R]
    entered: int = 0

    async def call(
        self,
        ctx: Context,
        value: ToolCallInput,
        inner: Callable[[Context, ToolCallInput], Awaitable[R]],
    ) -> R:
        """Do what the spec says of calls, in the order of its fields."""
        return await self._called(self.spec, ctx, value, inner)

    async def _called(
        self,
        spec: ToolWrapSpec,
        ctx: Context,
        value: ToolCallInput,
        inner: Callable[[Context, ToolCallInput], Awaitable[R]],
    ) -> R:
        self._enter(spec, ctx, value)
        if self.me.world.recorder.cancelled:
            await self.me.world.recorder.breathe()
        own = spec.by_tool.get(value.name)
        if own is not None:
            return await self._own(spec, own, ctx, value, inner)
        if spec.runlocal_get is not None:
            found = local_entry(ctx, spec.runlocal_get)
            self._note({"runlocal_get": found}, value.call_id)
        ctx = _handed_on(spec, ctx)
        if spec.error is not None:
            raise scripted_error(spec.error)
        if spec.interrupt is not None:
            self.me.stop(spec.interrupt)
        call_id = value.call_id
        spec = self._answered(spec, call_id, after=False)
        if spec.short_circuit is not None:
            return self.kind.of(spec.short_circuit)
        try:
            result = await self._next(spec, ctx, value, inner, call_id)
        except (Exception, Interrupt) as error:  # what is caught is the scenario's
            if spec.catch_error is not None:
                return self._caught(spec, error, call_id)
            if spec.error_instead is None or isinstance(error, Interrupt):
                raise
            raise scripted_error(spec.error_instead) from error
        return self.kind.edited(result, self._answered(spec, call_id, after=True))

    def _caught(self, spec: ToolWrapSpec, error: BaseException, call_id: str) -> R:
        """Return the result that stands for an error, once it was asked about."""
        if not isinstance(error, Interrupt):
            spec = self._answered(spec, call_id, after=True)
        return self.kind.of(str(spec.catch_error).replace("<error>", str(error)))

    def _answered(
        self, spec: ToolWrapSpec, call_id: str, *, after: bool
    ) -> ToolWrapSpec:
        """Ask where the spec says so; return it with the answer in its texts."""
        if spec.ask is None or spec.ask.after != after:
            return spec
        answer, entry = answered(spec.ask.payload)
        self._note(entry, call_id)
        return with_answer(spec, answer_text(answer))

    async def _own(
        self,
        spec: ToolWrapSpec,
        own: ToolWrapSpec,
        ctx: Context,
        value: ToolCallInput,
        inner: Callable[[Context, ToolCallInput], Awaitable[R]],
    ) -> R:
        """Let a tool's own wrap do the rest."""
        entered = replace(value)
        try:
            return await self._called(own, ctx, value, inner)
        finally:
            if spec.record is not None:
                self._phase(spec.record, "exit", ctx, entered)

    def _enter(self, spec: ToolWrapSpec, ctx: Context, value: ToolCallInput) -> None:
        for label in (spec.record, spec.record_enter):
            if label is not None:
                self._phase(label, "enter", ctx, value)
        if spec.closure_counter is not None:
            self.entered += not is_reentry()
            entry = {"by": spec.closure_counter, "closure_count": self.entered}
            self._note(entry, value.call_id)

    def _change(self, spec: ToolWrapSpec, value: ToolCallInput) -> None:
        if spec.rewrite_args is not None:
            value.arguments = spec.rewrite_args
        if spec.set_input_name is not None:
            value.name = spec.set_input_name
        if spec.set_input_call_id is not None:
            value.call_id = spec.set_input_call_id
        if spec.clear_options or spec.set_options is not None:
            value.call_options = _options(spec, value.call_options)

    async def _next(
        self,
        spec: ToolWrapSpec,
        ctx: Context,
        value: ToolCallInput,
        inner: Callable[[Context, ToolCallInput], Awaitable[R]],
        call_id: str,
    ) -> R:
        handed = replace(value) if spec.new_input else value
        self._change(spec, handed)
        # Wrappers further in may change name and id; the call stays the one it was.
        entered = replace(handed, call_id=call_id)
        try:
            for _ in range(spec.call_next - 1):
                # Of several results the last one counts.
                with suppress(Exception, Interrupt):
                    await inner(ctx, handed)
            return await inner(ctx, handed)
        finally:
            value.name, value.call_id = handed.name, handed.call_id
            if spec.record is not None:
                left = replace(entered, arguments=handed.arguments)
                self._phase(spec.record, "exit", ctx, left)

    def _phase(
        self, label: str, phase: str, ctx: Context, value: ToolCallInput
    ) -> None:
        entry = {
            "by": label,
            "phase": phase,
            "mode": self.mode,
            "tool": value.name,
            "args": value.arguments,
            "ctx": ctx.get("h", UNSET),
        }
        self._note(entry, value.call_id)

    def _note(self, entry: Mapping[str, object], call_id: str) -> None:
        seen = {"at": self.at, "by": self.me.label, **entry}
        self.me.world.recorder.note(seen, call_id)


def _handed_on(spec: ToolWrapSpec, ctx: Context) -> Context:
    """Return the context that a wrapper hands on."""
    ctx = Context() if spec.new_ctx else ctx
    more = spec.ctx_append
    return ctx if more is None else appended(ctx, more.key, more.text)


S = TypeVar("S", ToolWrapSpec, ModelWrapSpec)


def with_answer(spec: S, answer: str) -> S:
    """Return a wrapper's spec with the answer where ``<answer>`` stands."""
    texts = ((key, getattr(spec, key)) for key in type(spec).model_fields)
    changed = {
        key: text.replace("<answer>", answer)
        for key, text in texts
        if isinstance(text, str) and "<answer>" in text
    }
    return spec.model_copy(update=changed) if changed else spec


class ToolKind(Protocol[R]):
    """How results of one kind are made and edited."""

    @property
    def mode(self) -> Mode:
        """How calls of this kind are recorded."""
        ...

    def of(self, text: str) -> R:
        """Return a result of that text."""
        ...

    def edited(self, result: R, spec: ToolWrapSpec) -> R:
        """Return the inner result as the spec changes it."""
        ...


class Invoked:
    """Results in one piece."""

    mode: Mode = "invoke"

    def of(self, text: str) -> ToolCallResult:
        return ToolCallResult(text)

    def edited(self, result: ToolCallResult, spec: ToolWrapSpec) -> ToolCallResult:
        text = (spec.prefix_result or "") + result.result
        if spec.map_result is not None:
            text = spec.map_result.replace("<result>", text)
        text = text if spec.set_result is None else spec.set_result
        if not spec.in_place:
            return ToolCallResult(text)
        result.result = text
        return result


class Streamed:
    """Results in chunks: a prefix comes first, a mapping is applied to each chunk."""

    mode: Mode = "stream"

    def of(self, text: str) -> StreamToolCallResult:
        return StreamToolCallResult(stream_of(text))

    def edited(
        self, result: StreamToolCallResult, spec: ToolWrapSpec
    ) -> StreamToolCallResult:
        reader = _edited_stream(result.result, spec)
        if spec.stream_error is not None:
            reader = StreamReader(_failing(reader, spec.stream_error))
        if not spec.in_place:
            return StreamToolCallResult(reader)
        result.result = reader
        return result


def _edited_stream(reader: StreamReader[str], spec: ToolWrapSpec) -> StreamReader[str]:
    fixed = (spec.set_result,) if spec.set_result is not None else spec.set_stream
    if fixed is not None:
        return StreamReader(_instead(reader, fixed))
    if spec.prefix_result is not None:
        reader = StreamReader(_after(spec.prefix_result, reader))
    if spec.map_result is not None:
        template = spec.map_result
        reader = convert_stream(reader, lambda c: template.replace("<result>", c))
    return reader


def stream_of(*chunks: str) -> StreamReader[str]:
    """Return a stream of these chunks."""
    return StreamReader(_all(chunks))


async def _all(chunks: tuple[str, ...]) -> AsyncIterator[str]:
    for chunk in chunks:
        yield chunk


async def _instead(
    reader: StreamReader[str], chunks: tuple[str, ...]
) -> AsyncIterator[str]:
    await reader.aclose()
    for chunk in chunks:
        yield chunk


async def _failing(reader: StreamReader[str], error: str) -> AsyncIterator[str]:
    """Fail behind the last chunk."""
    try:
        async for chunk in reader:
            yield chunk
        raise scripted_error(error)
    finally:
        await reader.aclose()


async def _after(prefix: str, reader: StreamReader[str]) -> AsyncIterator[str]:
    """Put the prefix on the first chunk."""
    try:
        async for chunk in reader:
            yield prefix + chunk
            prefix = ""
        if prefix:
            yield prefix
    finally:
        await reader.aclose()


async def call_model(
    me: Extension,
    spec: ModelWrapSpec,
    ctx: Context,
    request: ModelRequest,
    inner: ModelEndpoint,
) -> Message | MessageStream:
    """Do what a model wrapper's spec says, in the order of its fields."""
    note = me.world.recorder.note
    seen = ctx.get("h", UNSET)
    if spec.record_factory:
        names = [info.name for info in request.tools]
        note({"at": "wrap_model", "by": me.label, "tools": names, "ctx": seen})
    entry: dict[str, object] = {
        "at": "model_wrapper",
        "by": spec.record,
        "mode": "stream" if request.streaming else "invoke",
        "ctx": seen,
    }
    if spec.record is None:
        return await _edited(*await _next_of(me, spec, ctx, request, inner))
    note({**entry, "phase": "enter"})
    failed = True
    try:
        if me.world.recorder.cancelled:
            await me.world.recorder.breathe()
        answer, spec = await _next_of(me, spec, ctx, request, inner)
        failed = False
    finally:
        note({**entry, "phase": "exit", "error": failed})
    return await _edited(answer, spec)


async def _next_of(
    me: Extension,
    spec: ModelWrapSpec,
    ctx: Context,
    request: ModelRequest,
    inner: ModelEndpoint,
) -> tuple[Message | MessageStream, ModelWrapSpec]:
    """Return what came back, and the spec with what was answered."""
    if spec.error is not None:
        raise scripted_error(spec.error)
    if spec.interrupt is not None:
        me.stop(spec.interrupt)
    spec = _answered(me, spec, after=False)
    if not is_reentry():
        me.runs["wrap_model"] += 1
    answer = await inner(ctx, _changed(spec, request, me.runs["wrap_model"]))
    return answer, _answered(me, spec, after=True)


def _answered(me: Extension, spec: ModelWrapSpec, *, after: bool) -> ModelWrapSpec:
    """Ask where the spec says so; return it with the answer in its texts."""
    if spec.ask is None or spec.ask.after != after:
        return spec
    answer, entry = answered(spec.ask.payload)
    me.note("model_wrapper", entry)
    return with_answer(spec, answer_text(answer))


def _changed(spec: ModelWrapSpec, request: ModelRequest, nth: int) -> ModelRequest:
    """Return the request as the spec changes the nth one that it wraps."""
    messages = request.messages
    if spec.prefix_user_input is not None:
        prefix = spec.prefix_user_input
        messages = tuple(
            replace(m, content=prefix + m.content) if m.role == "user" else m
            for m in messages
        )
    if spec.append_input is not None:
        messages = (*messages, parse_message(spec.append_input))
    tools, options = request.tools, request.options
    if spec.hide_tools and spec.hide_on_call in (None, nth):
        tools = [info for info in tools if info.name not in spec.hide_tools]
    if spec.options_on_call in (None, nth):
        options = _options(spec, options)
    return replace(request, messages=messages, tools=tools, options=options)


def _options(spec: ToolWrapSpec | ModelWrapSpec, options: Options) -> Options:
    """Return the options of a call, or a request, as the spec changes them."""
    if spec.set_options is None:
        return {} if spec.clear_options else options
    return {**({} if spec.clear_options else options), **spec.set_options}


async def _edited(
    answer: Message | MessageStream, spec: ModelWrapSpec
) -> Message | MessageStream:
    if isinstance(answer, Message):
        return replace(answer, content=_text(answer.content, spec))
    if spec.concat_stream:
        whole = join_chunks([chunk async for chunk in answer])
        answer = StreamReader(_one(chunk_of(whole)))
    if spec.map_output is None and spec.set_content is None:
        return answer

    def edit(chunk: MessageChunk) -> MessageChunk:
        return replace(chunk, content=_text(chunk.content, spec))

    return convert_stream(answer, edit)


def _text(content: str, spec: ModelWrapSpec) -> str:
    if spec.map_output is not None:
        content = spec.map_output.replace("<content>", content)
    return content if spec.set_content is None else spec.set_content


async def _one(chunk: MessageChunk) -> AsyncIterator[MessageChunk]:
    yield chunk
