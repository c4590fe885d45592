"""The form before the loop: one round, whose results nobody feeds back.

The steps that the record takes out of its one large function are methods, so that who
needs another step overrides it. What belongs to one call of ``process_input`` stands in
its ``ProcessParams``; a processor may serve several calls at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import uuid4

from compat.dialects.stream_loop.callbacks import (
    NO_CALLBACKS,
    ResponseCallbacks,
    Telling,
)
from compat.dialects.stream_loop.errors import RoundTimedOutError
from compat.dialects.stream_loop.limits import NO_LIMITS, Limits
from compat.dialects.stream_loop.parts import PartEvent, PartsTracker
from compat.dialects.stream_loop.profile import LoopProfile, loop_profile
from compat.dialects.stream_loop.records import LOGGER, LoopLog
from compat.dialects.stream_loop.results import (
    IterationResult,
    LoopResult,
    LoopStatus,
    ToolResult,
)
from compat.dialects.stream_loop.tool_calls import (
    called,
    limited,
    outcome,
    tools_by_name,
)
from refengine.awaiting import ended
from refengine.context import Context
from refengine.messages import History, Message, MessageChunk, ToolCall, join_chunks
from refengine.model import ChatModel, streamed, streamer
from refengine.tools import NO_OPTIONS, Tool, ToolMeta


def drawn_id() -> str:
    """Return an id for a call to which its model gave none."""
    return uuid4().hex


@dataclass(slots=True, kw_only=True)
class ProcessParams:
    """One call of ``process_input``: what it was given, and how far it has come."""

    tools: Mapping[str, Tool]
    telling: Telling
    rounds_at_most: float
    history: History
    log: LoopLog
    tracker: PartsTracker = field(default_factory=PartsTracker)
    round: int = 0


class LinearProcessor:
    """Streams one answer and executes its calls; whatever they ask, that is all."""

    __refengine_player__: ClassVar = "compat.dialects.playing.loops:play"

    def __init__(
        self,
        model: ChatModel,
        *,
        profile: str | LoopProfile = "loop-safe",
        limits: Limits = NO_LIMITS,
        instruction: str = "",
        new_id: Callable[[], str] = drawn_id,
        logger: logging.Logger | None = None,
    ) -> None:
        self.profile = loop_profile(profile) if isinstance(profile, str) else profile
        self.limits = limits
        self.instruction = instruction
        self._ask = streamer(model)
        self.new_id = new_id
        self._log = LoopLog(logger or logging.getLogger(LOGGER))

    async def process_input(
        self,
        input: str,  # the record's name
        *,
        tools: Sequence[Tool | ToolMeta] = (),
        callbacks: ResponseCallbacks = NO_CALLBACKS,
        history: Sequence[Message] = (),
    ) -> LoopResult:
        """Ask the model and execute its calls.

        ``history`` is what was said before. An exception of the model comes out, and
        ``on_end`` has been told ``error`` then, or ``cancelled``.
        """
        params = self.params_of(input, tools, callbacks, history, 1)
        return await self.ended_in_order(params)

    def params_of(
        self,
        given: str,
        tools: Sequence[Tool | ToolMeta],
        callbacks: ResponseCallbacks,
        history: Sequence[Message],
        rounds_at_most: float,
    ) -> ProcessParams:
        """Return what one call of ``process_input`` goes by."""
        before = history if isinstance(history, History) else History(history)
        isolates = self.profile.raising_callback == "isolated"
        return ProcessParams(
            tools=tools_by_name(tools),
            telling=Telling(callbacks, isolates=isolates),
            rounds_at_most=rounds_at_most,
            history=before.appended(Message("user", given)),
            log=self._log,
        )

    async def ended_in_order(self, params: ProcessParams) -> LoopResult:
        """Process all rounds; however they end, parts are ended and ``on_end`` told."""
        try:
            result = await self.process_rounds(params)
        except RoundTimedOutError as error:
            return await self._broke_off(params, "timed_out", error)
        except asyncio.CancelledError as error:
            await self._broke_off(params, "cancelled", error)
            raise
        except Exception as error:
            await self._broke_off(params, "error", error)
            raise
        await self._told_end(params, result)
        return result

    async def process_rounds(self, params: ProcessParams) -> LoopResult:
        """Process the only round."""
        found = await self.process_in_time(params)
        return self.result_of(params, found.text, "completed")

    def result_of(
        self, params: ProcessParams, text: str, status: LoopStatus
    ) -> LoopResult:
        """Return how it ended."""
        parts = params.tracker.snapshot
        return LoopResult(text, status, params.round, parts, params.history)

    async def process_in_time(self, params: ProcessParams) -> IterationResult:
        """Process the next round and feed its results into the history.

        Raises RoundTimedOutError when its time is up.
        """
        params.round += 1
        params.tracker.begin_round()
        log, began, seconds = params.log, params.log.now(), self.limits.round_seconds
        log.info("round_started", round=params.round)
        window = asyncio.timeout(seconds)
        try:
            async with window:
                found = await self.process_single_iteration(params)
        except TimeoutError as error:
            if seconds is None or not window.expired():
                raise
            raise RoundTimedOutError(params.round, seconds) from error
        if seconds is not None and window.expired():  # somebody swallowed it
            raise RoundTimedOutError(params.round, seconds)
        log.info("round_ended", round=params.round, seconds=log.now() - began)
        params.history = self.provide_tool_result_feedback(
            params.history, found.answer, found.results
        )
        return found

    async def process_single_iteration(self, params: ProcessParams) -> IterationResult:
        """Stream one answer, then execute its calls."""
        answer = await self._streamed_answer(params)
        results = await self._executed(answer.tool_calls, params)
        return IterationResult(answer.content, answer, results)

    async def process_response_chunk(
        self, chunk: MessageChunk, params: ProcessParams
    ) -> None:
        """Tell a chunk: its text, then its pieces of calls."""
        if chunk.content:
            await params.telling.tell("on_chunk", chunk.content)
            for event in params.tracker.add_text(chunk.content):
                await self._told_event(event, params)
        for piece in chunk.tool_calls:
            for event in params.tracker.add_piece(piece, self.new_id):
                await self._told_event(event, params)

    async def execute_tool_call(
        self, call: ToolCall, params: ProcessParams
    ) -> ToolResult:
        """Execute one call; raises whatever keeps it from a result."""
        return await called(call, params.tools)

    def provide_tool_result_feedback(
        self, history: History, answer: Message, results: Sequence[ToolResult]
    ) -> History:
        """Return the history with an answer and the results of its calls behind it."""
        history = history.appended(answer)
        for each in results:
            told = Message("tool", each.text, tool_call_id=each.call_id, name=each.name)
            history = history.appended(told)
        return history

    def messages_of(self, params: ProcessParams) -> History:
        """Return what the model is asked with: the history behind the instruction."""
        if not self.instruction:
            return params.history
        return params.history.after(Message("system", self.instruction))

    async def _streamed_answer(self, params: ProcessParams) -> Message:
        infos = [each.info for each in params.tools.values()]
        messages = self.messages_of(params)
        opened = await self._ask(Context(), messages, infos, NO_OPTIONS)
        reader, chunks = streamed(opened), list[MessageChunk]()
        try:
            async for chunk in reader:
                chunks.append(chunk)
                await self.process_response_chunk(chunk, params)
        finally:
            await reader.aclose()
        for event in params.tracker.end_stream(self.new_id):
            await self._told_event(event, params)
        joined = join_chunks(chunks)
        return Message(
            "assistant",
            joined.content,
            params.tracker.calls,
            name=joined.name,
            id=joined.id,
            extra=joined.extra,
        )

    async def _executed(
        self, calls: Sequence[ToolCall], params: ProcessParams
    ) -> Sequence[ToolResult]:
        """Execute calls at the same time; their results are told in their order."""
        if not calls:
            return ()
        for at in range(len(calls)):
            for event in params.tracker.execute(at):
                await self._told_event(event, params)
        tasks = [
            asyncio.ensure_future(self._attempt(call, at, params))
            for at, call in enumerate(calls)
        ]
        try:
            pairs = enumerate(zip(calls, tasks, strict=True))
            return [
                await self._told(at, call, task, params) for at, (call, task) in pairs
            ]
        finally:
            await _stopped(tasks)

    async def _attempt(
        self, call: ToolCall, at: int, params: ProcessParams
    ) -> ToolResult:
        log, began = params.log, params.log.now()
        about: dict[str, str | float] = {
            "round": params.round,
            "call_id": call.id,
            "name": call.name,
        }
        log.info("call_started", **about)
        try:
            self.limits.check_call(call, at)
            attempt = self.execute_tool_call(call, params)
            result = await limited(attempt, call.name, self.limits.tool_seconds)
            self.limits.check_result(result)
        except (Exception, asyncio.CancelledError) as error:
            spent = log.now() - began
            log.failure(
                "call_ended", **about, error=type(error).__name__, seconds=spent
            )
            raise
        log.info("call_ended", **about, seconds=log.now() - began)
        return result

    async def _told(
        self,
        at: int,
        call: ToolCall,
        task: asyncio.Task[ToolResult],
        params: ProcessParams,
    ) -> ToolResult:
        found = await outcome(task, call)
        if isinstance(found, Exception):
            if self.profile.tool_failure == "aborts":
                raise found
            found = ToolResult(call_id=call.id, name=call.name, error=found)
        error = "" if found.error is None else found.text
        for event in params.tracker.finish(at, found.text, error):
            await self._told_event(event, params)
        await params.telling.tell("on_tool_result", found)
        return found

    async def _told_event(self, event: PartEvent, params: ProcessParams) -> None:
        telling = params.telling
        if telling.callbacks.on_part_event is not None:
            await telling.tell("on_part_event", event)
        if telling.callbacks.on_parts_change is not None:
            await telling.tell("on_parts_change", params.tracker.snapshot)
        if event.state == "ready" and telling.callbacks.on_tool_call is not None:
            call = params.tracker.call_at(event.place)
            await telling.tell("on_tool_call", call)

    async def _broke_off(
        self, params: ProcessParams, status: LoopStatus, error: BaseException
    ) -> LoopResult:
        if self.profile.open_parts == "ended":
            for event in params.tracker.fail(f"{type(error).__name__}: {error}"):
                await self._told_event(event, params)
        if isinstance(error, Exception):
            await params.telling.failed(error, "round")
        result = self.result_of(params, params.tracker.round_text, status)
        await self._told_end(params, result)
        return result

    async def _told_end(self, params: ProcessParams, result: LoopResult) -> None:
        await params.telling.tell("on_end", result)
        fine = result.status in {"completed", "max_iterations"}
        say = params.log.info if fine else params.log.failure
        say("loop_ended", round=result.rounds, status=result.status)


async def _stopped(tasks: Sequence[asyncio.Task[ToolResult]]) -> None:
    """Cancel what still runs and wait for its end; errors of it are nobody's."""
    await ended(tasks)
    for each in tasks:
        if not each.cancelled():
            each.exception()  # seen, so that asyncio does not report it
