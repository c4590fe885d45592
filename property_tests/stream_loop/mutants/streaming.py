"""Mutants of one round: its chunks, its tools, its limits, and how it breaks off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from compat.dialects.stream_loop import Limits
from property_tests.dialects.dialect import DialectMutant
from property_tests.mutants.patching import Given, Patch, Right
from property_tests.stream_loop.mutants.steps import broken, step
from refengine.messages import Message, ToolCall

Made = Callable[[], Sequence[Patch]]


def telling(
    change: Callable[[Right, Given, str, Given], Given],
) -> Made:
    """Return patches of how a callback is told; ``change`` is given the right way."""

    def replacing(right: Right) -> Right:
        async def wrong(self: Given, name: str, fact: Given) -> None:
            await change(right, self, name, fact)

        return wrong

    return lambda: [step("telling.tell", replacing)]


def instead(name: str, make: Callable[[Right], Right]) -> Made:
    """Return patches that put another step in a step's place."""
    return lambda: [step(name, make)]


async def _stripped(right: Right, self: Given, name: str, fact: Given) -> None:
    await right(self, name, fact.strip() if name == "on_chunk" else fact)


async def _calls_twice(right: Right, self: Given, name: str, fact: Given) -> None:
    await right(self, name, fact)
    if name == "on_tool_call":
        await right(self, name, fact)


async def _end_twice(right: Right, self: Given, name: str, fact: Given) -> None:
    await right(self, name, fact)
    if name == "on_end":
        await right(self, name, fact)


async def _silent(right: Right, self: Given, name: str, fact: Given) -> None:
    with suppress(Exception):
        await right(self, name, fact)


async def _quoted(right: Right, self: Given, name: str, fact: Given) -> None:
    if name == "on_tool_result" and isinstance(fact.result, str):
        fact = replace(fact, result=f'"{fact.result}"')
    await right(self, name, fact)


def _no_error_told(_: Right) -> Right:
    async def wrong(self: Given, error: Given, where: str) -> None:
        """Tell nobody."""

    return wrong


def _errors_silent(_: Right) -> Right:
    async def wrong(self: Given, error: Given, where: str) -> None:
        with suppress(Exception):
            await self.callbacks.on_error(error, where)

    return wrong


def _early_calls(right: Right) -> Right:
    """Tell a call by its first piece."""

    async def wrong(self: Given, chunk: Given, params: Given) -> None:
        await right(self, chunk, params)
        for piece in chunk.tool_calls:
            if piece.index is not None and piece.name:
                call = ToolCall(piece.id, piece.name, piece.arguments)
                await params.telling.tell("on_tool_call", call)

    return wrong


def _tools_at_once(right: Right) -> Right:
    """Execute a call that came whole while the stream is still read."""

    async def wrong(self: Given, chunk: Given, params: Given) -> None:
        await right(self, chunk, params)
        for piece in chunk.tool_calls:
            if piece.index is None and piece.name in params.tools:
                call = ToolCall(piece.id, piece.name, piece.arguments)
                await self.execute_tool_call(call, params)

    return wrong


def _in_turn() -> Sequence[Patch]:
    """Execute one call after the other."""
    lock: list[asyncio.Lock] = []

    def replacing(right: Right) -> Right:
        async def wrong(self: Given, call: Given, params: Given) -> Given:
            if not lock or params.round == 1:
                lock[:] = lock or [asyncio.Lock()]
            async with lock[0]:
                return await right(self, call, params)

        return wrong

    return [step("linear.execute", replacing)]


def _twice(right: Right) -> Right:
    async def wrong(self: Given, call: Given, params: Given) -> Given:
        await right(self, call, params)
        return await right(self, call, params)

    return wrong


def _empty_arguments(right: Right) -> Right:
    async def wrong(self: Given, call: Given, params: Given) -> Given:
        return await right(self, replace(call, arguments=""), params)

    return wrong


def _results_late() -> Sequence[Patch]:
    """Tell the results of a round from the last to the first."""

    def replacing(right: Right) -> Right:
        kept: list[Given] = []

        async def wrong(self: Given, name: str, fact: Given) -> None:
            if name == "on_tool_result" and fact.name == "f":
                kept.append(fact)
                return
            await right(self, name, fact)
            while kept and name == "on_tool_result":
                await right(self, name, kept.pop())

        return wrong

    return [step("telling.tell", replacing)]


def _calls_late() -> Sequence[Patch]:
    """Tell the calls of a round right before its first result."""

    def replacing(right: Right) -> Right:
        kept: list[Given] = []

        async def wrong(self: Given, name: str, fact: Given) -> None:
            if name == "on_tool_call":
                kept.append(fact)
                return
            while kept and name == "on_tool_result":
                await right(self, "on_tool_call", kept.pop(0))
            await right(self, name, fact)

        return wrong

    return [step("telling.tell", replacing)]


async def _call_behind_result(
    right: Right, self: Given, name: str, fact: Given
) -> None:
    await right(self, name, fact)
    if name == "on_tool_result":
        call = ToolCall(fact.call_id, fact.name, "{}")
        await right(self, "on_tool_call", call)


def _left_open(right: Right) -> Right:
    """Read a stream that nobody closes: its reader's end is not awaited."""

    class Unclosed:
        def __init__(self, reader: Given) -> None:
            self._reader = reader

        def __aiter__(self) -> Given:
            return aiter(self._reader)

        async def aclose(self) -> None:
            """Close nothing."""

    def wrong(opened: Given) -> Given:
        return Unclosed(right(opened))

    return wrong


def _comes_out_as_cancelled(right: Right) -> Right:
    async def wrong(task: Given, call: Given) -> Given:
        await asyncio.wait((task,))
        if task.cancelled():
            raise asyncio.CancelledError
        return await right(task, call)

    return wrong


def _breaks_silently(right: Right) -> Right:
    async def wrong(self: Given, params: Given) -> Given:
        try:
            return await right(self, params)
        except Exception:  # noqa: BLE001  # that is the fault
            return self.result_of(params, params.tracker.round_text, "completed")

    return wrong


def _no_limit(name: str) -> Made:
    """Return patches by which a processor has one limit less."""

    def replacing(right: Right) -> Right:
        async def wrong(self: Given, params: Given) -> Given:
            self.limits = replace(self.limits, **{name: None})
            return await right(self, params)

        return wrong

    return instead("linear.ended", replacing)


def _timed_out_is_error(right: Right) -> Right:
    def wrong(self: Given, params: Given, text: str, status: str) -> Given:
        given = "completed" if status == "timed_out" else status
        return right(self, params, text, given)

    return wrong


def _cancelled_is_error(right: Right) -> Right:
    def wrong(self: Given, params: Given, text: str, status: str) -> Given:
        given = "error" if status == "cancelled" else status
        return right(self, params, text, given)

    return wrong


def _first_round(right: Right) -> Right:
    def wrong(self: Given, event: Given, **fields: Given) -> None:
        given = {**fields, "round": 1} if "round" in fields else fields
        right(self, event, **given)

    return wrong


def _no_durations(right: Right) -> Right:
    def wrong(self: Given, event: Given, **fields: Given) -> None:
        fields.pop("seconds", None)
        right(self, event, **fields)

    return wrong


def _no_check(_: Right) -> Right:
    def wrong(self: Limits, *args: Given) -> None:
        """Let everything pass."""

    return wrong


def _bare_loop(right: Right) -> Right:
    """Make the loop of a processor without what it was given."""

    def wrong(linear: Given) -> Given:
        made = right(linear)
        made.instruction = "loop"
        return made

    return wrong


def _loop_instructs(right: Right) -> Right:
    def wrong(self: Given, params: Given) -> Given:
        found = right(self, params)
        if type(self).__name__ != "LoopProcessor":
            return found
        return found.after(Message("system", "loop"))

    return wrong


STREAMING: Final[tuple[DialectMutant, ...]] = (
    broken(
        "loop-pieces-stripped",
        "Pieces of text are told without the space around them.",
        "LOOP-020",
        telling(_stripped),
    ),
    broken(
        "loop-call-told-twice",
        "Each call is told twice.",
        "LOOP-021",
        telling(_calls_twice),
    ),
    broken(
        "loop-call-told-early",
        "A call is told by its first piece, and again when it is complete.",
        "LOOP-021",
        instead("linear.chunk", _early_calls),
    ),
    broken(
        "loop-calls-told-late",
        "Calls are told right before the first result.",
        "LOOP-022",
        _calls_late,
    ),
    broken(
        "loop-tools-at-once",
        "A call that came whole is executed while the stream is read.",
        "LOOP-023 LOOP-025",
        instead("linear.chunk", _tools_at_once),
    ),
    broken(
        "loop-tools-in-turn",
        "One tool runs after the other.",
        "LOOP-024",
        _in_turn,
    ),
    broken(
        "loop-executed-twice",
        "Each call is executed twice.",
        "LOOP-025",
        instead("linear.execute", _twice),
    ),
    broken(
        "loop-arguments-lost",
        "Tools are called without their arguments.",
        "LOOP-025",
        instead("linear.execute", _empty_arguments),
    ),
    broken(
        "loop-results-turned",
        "Results are told as tools came to their end.",
        "LOOP-026",
        _results_late,
    ),
    broken(
        "loop-results-quoted",
        "A text that a tool gave is told as JSON.",
        "LOOP-027",
        telling(_quoted),
    ),
    broken(
        "loop-call-behind-result",
        "A call is told once more behind its result.",
        "LOOP-028",
        telling(_call_behind_result),
    ),
    broken(
        "loop-stream-left-open",
        "A stream that nobody reads to its end is not closed.",
        "LOOP-029",
        instead("linear.streamed", _left_open),
        under="loop-adr",
    ),
    broken(
        "loop-inside-cancels",
        "A tool that is cancelled from inside cancels the run.",
        "LOOP-032",
        instead("linear.outcome", _comes_out_as_cancelled),
    ),
    broken(
        "loop-breaks-silently",
        "A stream that breaks ends a run that is completed.",
        "LOOP-033 LOOP-034",
        instead("loop.rounds", _breaks_silently),
    ),
    broken(
        "loop-error-untold",
        "on_error is told nothing.",
        "LOOP-034 LOOP-041",
        instead("telling.failed", _no_error_told),
    ),
    broken(
        "loop-end-twice",
        "The end is told twice.",
        "LOOP-035",
        telling(_end_twice),
    ),
    broken(
        "loop-round-unlimited",
        "A round takes as long as it takes.",
        "LOOP-036",
        _no_limit("round_seconds"),
    ),
    broken(
        "loop-timed-out-is-completed",
        "A round whose time is up is told as one that is completed.",
        "LOOP-036",
        instead("linear.result", _timed_out_is_error),
    ),
    broken(
        "loop-tool-unlimited",
        "A tool takes as long as it takes.",
        "LOOP-037",
        _no_limit("tool_seconds"),
    ),
    broken(
        "loop-calls-unlimited",
        "Calls have no limits.",
        "LOOP-038",
        instead("limits.call", _no_check),
    ),
    broken(
        "loop-results-unlimited",
        "Results have no limit.",
        "LOOP-039",
        instead("limits.result", _no_check),
    ),
    broken(
        "loop-cancelled-is-error",
        "A cancellation is told as an error.",
        "LOOP-040",
        instead("linear.result", _cancelled_is_error),
    ),
    broken(
        "loop-callback-errors-silent",
        "A callback that raises is told to nobody.",
        "LOOP-041",
        telling(_silent),
        under="loop-adr",
    ),
    broken(
        "loop-error-of-errors-silent",
        "An error of on_error itself is told to nobody.",
        "LOOP-042",
        instead("telling.failed", _errors_silent),
    ),
    broken(
        "loop-logs-first-round",
        "Records say that every round is the first.",
        "LOOP-043",
        instead("log.info", _first_round),
    ),
    broken(
        "loop-logs-no-durations",
        "Records say nothing of time.",
        "LOOP-044",
        instead("log.info", _no_durations),
    ),
    broken(
        "loop-has-its-own-instruction",
        "The loop, and it alone, puts an instruction before all messages.",
        "LOOP-060",
        instead("linear.messages", _loop_instructs),
    ),
    broken(
        "loop-adapted-has-its-own-instruction",
        "A processor that was made a loop is given another instruction.",
        "LOOP-061",
        instead("forms.loop_of", _bare_loop),
    ),
)
"""All of them."""
