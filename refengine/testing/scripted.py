"""A scripted model and recording tools: the real protocols, known answers."""

from __future__ import annotations

import asyncio
import builtins
import json
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Mapping,
    Sequence,
)
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from refengine.chain import attach_action
from refengine.context import Context
from refengine.events import AgentAction
from refengine.interrupts import Interrupt, interrupt, is_reentry
from refengine.messages import Json, Message, MessageChunk, join_chunks
from refengine.stream import StreamReader
from refengine.testing.notation import (
    decoded,
    parse_chunk,
    parse_message,
    pieces_of,
)
from refengine.testing.ops import ToolSpec
from refengine.testing.own_tools import with_own_tools
from refengine.testing.recorder import Recorder, kept, messages_seen, snapshot
from refengine.testing.scenario import ModelChunks, ModelFailure, ScriptEntry
from refengine.tools import Options, ToolInfo

AtEnd: TypeAlias = Literal["fail", "exhausted", "repeat_last"]
Body: TypeAlias = Callable[[Context], Awaitable[str | None]]
Invoking: TypeAlias = Callable[[Context, str, Options], Coroutine[Any, Any, str]]
Streaming: TypeAlias = Callable[
    [Context, str, Options], Coroutine[Any, Any, StreamReader[str]]
]
"""What a tool does before its result; returns what it was answered, if it asked."""


class ScriptedError(Exception):
    """An error that a scenario asked for; its text is what the scenario calls it."""


def scripted_error(name: str) -> ScriptedError:
    """Return the error that a scenario asked for.

    One named like an exception of Python's own, such as ``TimeoutError``, is of that
    class too: what a subject retries or answers is told by class.
    """
    kind: object = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        # The class is made here, since which ones a world has need of is its own data.
        made = type(name, (ScriptedError, kind), {"__module__": "builtins"})
        with suppress(TypeError):  # a few are made of more than a text
            error: ScriptedError = made(name)
            return error
    return ScriptedError(name)


class UnexpectedCallError(AssertionError):
    """The model was called more often than its script has answers."""

    def __init__(self, call: int, script: int) -> None:
        self.call = call
        super().__init__(f"model call {call}, but the script has {script} answers")


class UnplayedError(AssertionError):
    """The run ended with answers left in the script."""

    def __init__(self, left: Sequence[object]) -> None:
        self.left: tuple[object, ...] = tuple(left)
        super().__init__(f"{len(left)} answers were not played: {list(left)!r}")


class ScriptedModel:
    """Answers call by call from a script.

    An entry is a message in the notation, a failure or chunks. ``at_end`` says what
    comes after the last one; by default the call fails. In a streaming run a plain
    message comes in pieces cut after every space. A call takes ``seconds``, which cost
    nothing on a virtual clock. With ``timed`` it is put down when calls are made and
    fail. Where its ``own_tools`` are known, with what they take, the calls of a
    subject's own tools are calls of these.
    """

    def __init__(
        self,
        script: Sequence[ScriptEntry],
        *,
        at_end: AtEnd = "fail",
        recorder: Recorder | None = None,
        seconds: float = 0,
        timed: bool = False,
    ) -> None:
        self._script = tuple(script)
        self._at_end: AtEnd = at_end
        self._recorder = recorder or Recorder()
        self.seconds = seconds
        self._timed = timed
        if any(isinstance(each, ModelChunks) and each.chunk_ms for each in script):
            self._recorder.timed = True
        self.calls: int = 0
        self.own_tools: Sequence[Mapping[str, Any]] | None = None

    @property
    def unplayed(self) -> tuple[ScriptEntry, ...]:
        """The answers that no call has asked for yet."""
        return self._script[self.calls :]

    def assert_played(self) -> None:
        """Raise UnplayedError if answers are left."""
        if self.unplayed:
            raise UnplayedError(self.unplayed)

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
        name: str = "",
    ) -> Message:
        """Return the next answer in one piece; ``name`` is who is asked for it."""
        chunks, failure = await self._begin(ctx, messages, tools, options, name)
        if failure is not None:
            raise self._failed(failure)
        answer = chunks if isinstance(chunks, Message) else join_chunks(chunks)
        self._recorder.add("model_response", {"message": answer})
        return answer

    async def stream(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
        name: str = "",
    ) -> StreamReader[MessageChunk]:
        """Return the next answer in its chunks; ``name`` is who is asked for it."""
        answer, failure = await self._begin(ctx, messages, tools, options, name)
        if isinstance(answer, Message):
            if failure is not None:
                raise self._failed(failure)
            return StreamReader(self._chunks(pieces_of(answer), None))
        entry = self._entry()
        pause = entry.chunk_ms if isinstance(entry, ModelChunks) else 0
        return StreamReader(self._chunks(answer, failure, pause))

    async def _begin(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
        name: str,
    ) -> tuple[Message | Sequence[MessageChunk], str | None]:
        """Count and record a call; return its answer and how it fails, if it does."""
        self.begin_call(
            {
                "messages": messages_seen(messages),
                "tools": kept(tools),
                "options": snapshot(options),
                "ctx": ctx.get("h", "-"),
                **({"model": name} if name else {}),
                **self._when(),
            }
        )
        if self._recorder.cancelled:
            await self._recorder.breathe()
        if self.seconds:
            await asyncio.sleep(self.seconds)
        return self.next_answer()

    def begin_call(self, request: Mapping[str, object]) -> None:
        """Count and record a call, for a face of this model in another framework."""
        self.calls += 1
        self._recorder.add("model_request", {"n": self.calls, **request})

    def next_answer(self) -> tuple[Message | Sequence[MessageChunk], str | None]:
        """Return what the script says to the last call, and how it fails if it does.

        Raises UnexpectedCallError past the end of a script that ends so.
        """
        entry = self._entry()
        if isinstance(entry, ModelFailure):
            return Message("assistant"), entry.error
        if isinstance(entry, ModelChunks):
            chunks = [parse_chunk(text) for text in entry.chunks]
            return chunks, entry.stream_error
        answer = parse_message(entry)
        if self.own_tools is not None:
            answer = with_own_tools(answer, self.own_tools, ())
        return answer, None

    def _entry(self) -> ScriptEntry:
        if self.calls <= len(self._script):
            return self._script[self.calls - 1]
        if self._at_end == "exhausted":
            return "assistant:EXHAUSTED"
        if self._at_end == "repeat_last" and self._script:
            return self._script[-1]
        raise UnexpectedCallError(self.calls, len(self._script))

    def _failed(self, name: str) -> ScriptedError:
        self._recorder.add("model_error", {"error": name, **self._when()})
        return scripted_error(name)

    def _when(self) -> dict[str, float]:
        return {"time": self._recorder.time()} if self._timed else {}

    async def _chunks(
        self, chunks: Sequence[MessageChunk], failure: str | None, pause: int = 0
    ) -> AsyncIterator[MessageChunk]:
        try:
            for at, chunk in enumerate(chunks):
                if pause and at:
                    await self._recorder.pause(pause)
                when = {"time": self._recorder.now()} if pause else {}
                self._recorder.add("model_chunk", {"chunk": chunk, **when})
                if self._recorder.cancelled:
                    await self._recorder.breathe()
                yield chunk
            if failure is not None:
                raise self._failed(failure)
            self._recorder.add("model_response", {"message": join_chunks(chunks)})
        finally:
            self._recorder.add("stream_close", {"of": "model"})


class LaterModel:
    """A model to fall back on: it goes on with another one's script, under its name."""

    def __init__(self, first: ScriptedModel, name: str) -> None:
        self._first = first
        self.name = name

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        """Return the next answer in one piece."""
        return await self._first.invoke(ctx, messages, tools, options, self.name)

    async def stream(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> StreamReader[MessageChunk]:
        """Return the next answer in its chunks."""
        return await self._first.stream(ctx, messages, tools, options, self.name)


def answer_text(answer: Json) -> str:
    """Return what stands for ``<answer>``: a text as it is, else its JSON."""
    return answer if isinstance(answer, str) else json.dumps(answer, sort_keys=True)


def _with_answer(text: str, answer: str | None) -> str:
    if answer is None:
        return text
    return text.replace("<answer>", answer).replace("<resume_data>", answer)


def _spoil(options: Any) -> None:  # noqa: ANN401  # whatever an engine hands on
    """Write into the options of a call, unless nobody can."""
    with suppress(TypeError):
        options["spoiled"] = True


def _wrapped(text: str, error: Exception) -> Exception:
    """Return what an error wrapper of that text makes of an error."""
    return scripted_error(text.replace("<error>", str(error)))


class RecordingTool:
    """A tool that gives what its spec says and records each execution.

    It has ``invoke``, ``stream`` or both as attributes, as its kind says, because an
    engine looks for the methods.
    """

    def __init__(
        self,
        spec: ToolSpec,
        *,
        recorder: Recorder | None = None,
        body: Body | None = None,
    ) -> None:
        told = spec.description or f"tool {spec.name}"
        self.info: ToolInfo = ToolInfo(spec.name, told, spec.parameters or {})
        self._spec = spec
        self.recorder: Recorder = recorder or Recorder()
        if spec.chunk_ms:
            self.recorder.timed = True
        self._body = body
        self.executions: int = 0
        self._given: Counter[str] = Counter()
        self._stops: Counter[str] = Counter()
        if spec.kind != "streamable":
            self.invoke: Invoking = self._invoke
        if spec.kind != "invokable":
            self.stream: Streaming = self._stream

    async def _invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        answer = await self._begin("invoke", ctx, arguments, options)
        result = _with_answer(self._result(ctx, arguments), answer)
        self.recorder.add("tool_end", {"result": result}, ctx.tool_call_id)
        return cast("str", json.loads(result)) if self._spec.as_json else result

    async def _stream(
        self, ctx: Context, arguments: str, options: Options
    ) -> StreamReader[str]:
        answer = await self._begin("stream", ctx, arguments, options)
        cut = self._spec.chunks
        whole = (self._result(ctx, arguments),)
        chunks = whole if cut is None else tuple(map(decoded, cut))
        chunks = tuple(_with_answer(chunk, answer) for chunk in chunks)
        wraps = self._spec.wraps_errors
        wrapper = None if wraps is None else partial(_wrapped, wraps)
        return StreamReader(self._chunks(chunks, ctx), error_wrapper=wrapper)

    def _result(self, ctx: Context, arguments: str) -> str:
        call_id = ctx.tool_call_id or ""
        recorded = self._spec.by_call.get(call_id)
        if recorded is None:
            return decoded(self._spec.result).replace("<args>", arguments)
        self._given[call_id] += 1
        return decoded(recorded[min(self._given[call_id], len(recorded)) - 1])

    async def _begin(
        self, mode: str, ctx: Context, arguments: str, options: Options
    ) -> str | None:
        """Count, record and do what comes before the result; return the last answer."""
        again = is_reentry()
        self.executions += not again
        self._start(mode, ctx, arguments, options)
        if self._spec.spoils_options:
            _spoil(options)
        if self._spec.action is not None:
            attach_action(AgentAction(**cast("Any", self._spec.action)))
        if self._spec.delay_ms:
            await asyncio.sleep(self._spec.delay_ms / 1000)
        if self.recorder.cancelled:
            await self.recorder.breathe()
        answer = None if self._body is None else await self._body(ctx)
        answer = self._answer(ctx) or answer
        if self._spec.at_most_once and self.executions > 1:
            raise self._failed(f"{self.info.name} was executed twice", ctx)
        if self._spec.error is not None:
            raise self._failed(self._spec.error, ctx)
        return answer

    def _start(self, mode: str, ctx: Context, arguments: str, options: Options) -> None:
        data: dict[str, Any] = {
            "name": self.info.name,
            "arguments": arguments,
            "implementation": self._spec.implementation,
            "mode": mode,
            "options": snapshot(options),
            "ctx": ctx.get("h", "-"),
            "run_path": list(ctx.run_path),
        }
        if is_reentry():
            data["reentry"] = True
        self.recorder.add("tool_start", data, ctx.tool_call_id)

    def _answer(self, ctx: Context) -> str | None:
        """Interrupt as the spec says; return what the last one was answered."""
        spec, call_id = self._spec.interrupt, ctx.tool_call_id or ""
        if spec is None:
            return None
        stops = self._stops[call_id]
        if spec.times == "always" or self._stops.total() < spec.times:
            self._stops[call_id] += 1
            raise Interrupt(spec.info)
        answers = [interrupt(spec.info) for _ in range(stops)] if is_reentry() else []
        return answer_text(answers[-1]) if answers else None

    def _failed(self, text: str, ctx: Context) -> ScriptedError:
        self.recorder.add("tool_error", {"error": text}, ctx.tool_call_id)
        return scripted_error(text)

    async def _chunks(self, chunks: Sequence[str], ctx: Context) -> AsyncIterator[str]:
        call_id, pause = ctx.tool_call_id, self._spec.chunk_ms
        try:
            for at, chunk in enumerate(chunks):
                if pause and at:
                    await self.recorder.pause(pause)
                when = {"time": self.recorder.now()} if pause else {}
                self.recorder.add("tool_chunk", {"chunk": chunk, **when}, call_id)
                if self.recorder.cancelled:
                    await self.recorder.breathe()
                yield chunk
            if self._spec.stream_error is not None:
                raise self._failed(self._spec.stream_error, ctx)
            self.recorder.add("tool_end", {"result": "".join(chunks)}, call_id)
        finally:
            self.recorder.add("stream_close", {"of": "tool"}, call_id)
