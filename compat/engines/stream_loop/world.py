"""What surrounds a stream loop: its model, its tools, its callbacks, all observed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, Final, cast

from compat.dialects.stream_loop import ResponseCallbacks, ToolOutput
from compat.dialects.stream_loop.parts import Part
from compat.engines.dialect_playing import seen_call, seen_error, seen_message
from compat.engines.stream_loop.scenario import (
    CALLBACKS,
    LoopChunkSpec,
    LoopHearSpec,
    LoopOutcomeSpec,
    LoopScenario,
    LoopToolSpec,
)
from refengine.context import Context
from refengine.messages import Json, Message, MessageChunk
from refengine.stream import StreamReader
from refengine.testing.clock import Ids
from refengine.testing.json_values import is_mapping
from refengine.testing.recorder import Recorder, snapshot
from refengine.tools import Options, ToolInfo

END: Final = (LoopChunkSpec(text="end"),)
"""What a model says whose script has come to its end."""
ODD: Final = 42
"""What a tool gives that is not a result."""
HEARS: Final = LoopHearSpec()


class ScriptedLoopError(Exception):
    """What a world was told to raise."""


def words_of(scenario: LoopScenario) -> Iterator[str]:
    """Yield what the errors of a world say, if it is not a tool's name as well."""
    yield from map(fault_of, CALLBACKS)
    names = {each.name for each in scenario.tools}
    of_streams = [chunk.error for answer in scenario.script for chunk in answer]
    of_tools = [one.error for tool in scenario.tools for one in tool.outcomes]
    for each in (*of_streams, *of_tools):
        if each and each not in names:
            yield each


def fault_of(callback: str) -> str:
    """Return what a callback says that raises."""
    return f"{callback} fails"


class LoopWorld:
    """The model, the tools and the callbacks of one play of a scenario."""

    def __init__(self, scenario: LoopScenario) -> None:
        self.scenario = scenario
        self.recorder = Recorder()
        self.new_id = Ids("made")
        self.logger = logging.Logger("refengine.stream_loop.world", logging.INFO)  # noqa: LOG001  # nobody else's, and nobody above it hears
        self.logger.addHandler(LoopRecords(self.recorder))
        self.model = LoopWorldModel(scenario.script, self.recorder)
        self.tools = tuple(LoopWorldTool(x, self.recorder) for x in scenario.tools)

    def callbacks(self) -> ResponseCallbacks:
        """Return those that somebody listens with; each notes what it is told."""
        heard = [each for each in CALLBACKS if each not in self.scenario.deaf]
        told = Counter[str]()
        return ResponseCallbacks(
            **{each: partial(self._told, each, told) for each in heard}
        )

    async def _told(self, name: str, told: Counter[str], *facts: object) -> None:
        told[name] += 1
        spec = self.scenario.callbacks.get(name, HEARS)
        data: dict[str, object] = {"callback": name, "fact": seen_facts(name, facts)}
        if told[name] in spec.raises_on:
            data["raises"] = text = fault_of(name)
            self.recorder.note_now("event", data)
            raise ScriptedLoopError(text)
        self.recorder.note_now("event", data)
        if spec.seconds:
            await asyncio.sleep(spec.seconds)


class LoopWorldModel:
    """Streams the next answer of a script each time that it is asked."""

    def __init__(
        self, script: Sequence[Sequence[LoopChunkSpec]], recorder: Recorder
    ) -> None:
        self._left = list(script)
        self._recorder = recorder

    async def stream(
        self,
        ctx: Context,  # noqa: ARG002  # as StreamableModel
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,  # noqa: ARG002  # as StreamableModel
    ) -> StreamReader[MessageChunk]:
        """Return the next answer, and note what was asked."""
        asked = {
            "messages": [seen_message(each) for each in messages],
            "tools": [each.name for each in tools],
        }
        self._recorder.note_now("model_request", asked)
        return StreamReader(self._chunks(self._left.pop(0) if self._left else END))

    async def _chunks(
        self, answer: Sequence[LoopChunkSpec]
    ) -> AsyncIterator[MessageChunk]:
        ended = False
        try:
            for each in answer:
                if each.seconds:
                    await asyncio.sleep(each.seconds)
                if each.error is not None:
                    ended = True
                    self._recorder.note_now("model_error", {"error": each.error})
                    raise ScriptedLoopError(each.error)
                told = each.model_dump(exclude_defaults=True, include={"text", "calls"})
                self._recorder.note_now("model_chunk", told)
                yield each.chunk()
            ended = True
            self._recorder.note_now("model_response", {})
        finally:
            self._recorder.note_now("stream_close", {"ended": ended})


class LoopWorldTool:
    """A tool that gives one outcome after the other, and notes each execution."""

    def __init__(self, spec: LoopToolSpec, recorder: Recorder) -> None:
        self.info = ToolInfo(spec.name)
        self._spec, self._recorder = spec, recorder
        self._runs = 0

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> Any:  # noqa: ARG002, ANN401  # as InvokableTool; one that is odd gives no text
        """Give the next outcome."""
        self._runs += 1
        nth = self._runs
        outcomes = self._spec.outcomes
        about = {"tool": self._spec.name, "nth": nth}
        self._recorder.note_now("tool_start", {**about, "arguments": arguments})
        try:
            given = await _outcome(outcomes[min(nth, len(outcomes)) - 1])
        except asyncio.CancelledError:
            self._recorder.note_now("tool_error", {**about, "cancelled": True})
            raise
        except ScriptedLoopError as error:
            self._recorder.note_now("tool_error", {**about, "error": str(error)})
            raise
        self._recorder.note_now("tool_end", {**about, "gives": _seen_output(given)})
        return given


async def _outcome(spec: LoopOutcomeSpec) -> object:
    if spec.seconds:
        await asyncio.sleep(spec.seconds)
    if spec.error is not None:
        raise ScriptedLoopError(spec.error)
    if spec.fault == "cancelled":
        raise asyncio.CancelledError
    if spec.fault == "odd":
        return ODD
    if spec.text is not None:
        return spec.text
    return ToolOutput(spec.result, requires_follow_up=spec.follow_up)


class LoopRecords(logging.Handler):
    """Notes the fields of log records."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def emit(self, record: logging.LogRecord) -> None:
        """Note a record's fields; one without them is noted by its text."""
        told: object = getattr(record, "loop", None)
        fact = dict(told) if is_mapping(told) else {"text": record.getMessage()}
        self._recorder.note_now("effect", {"log": fact, "level": record.levelname})


def _seen_output(given: object) -> Json:
    if isinstance(given, ToolOutput):
        return snapshot(
            {"result": given.result, "requires_follow_up": given.requires_follow_up}
        )
    return snapshot(given)


def seen_part(part: object) -> Json:
    """Return what a part, or a change of one, says; fields that are empty are left."""
    told = {each.name: getattr(part, each.name, "") for each in fields(Part)}
    return {key: snapshot(each) for key, each in told.items() if each != ""}


def seen_result(result: object) -> Json:
    """Return how a call ended; of a plain text nothing else is known."""
    if isinstance(result, str):
        return {"text": result}
    parts: Sequence[object] = getattr(result, "parts", ())
    history: Sequence[object] = getattr(result, "history", ())
    return {
        "text": str(getattr(result, "text", "")),
        "status": str(getattr(result, "status", "")),
        "rounds": snapshot(getattr(result, "rounds", None)),
        "parts": [seen_part(each) for each in parts],
        "history": [seen_message(each) for each in history],
    }


def _seen_tool_result(given: object) -> Json:
    error = getattr(given, "error", None)
    told: dict[str, Json] = {
        "call_id": str(getattr(given, "call_id", "")),
        "name": str(getattr(given, "name", "")),
        "text": str(getattr(given, "text", "")),
    }
    return told if error is None else {**told, "error": seen_error(error)}


def seen_facts(name: str, facts: tuple[object, ...]) -> Json:
    """Return what a callback was told as JSON."""
    first = facts[0]
    if name == "on_error":
        return [seen_error(first), *(str(each) for each in facts[1:])]
    if name == "on_parts_change":
        return [seen_part(each) for each in cast("Sequence[object]", first)]
    reads = {
        "on_tool_call": seen_call,
        "on_tool_result": _seen_tool_result,
        "on_part_event": seen_part,
        "on_end": seen_result,
    }
    return reads[name](first) if name in reads else snapshot(first)
