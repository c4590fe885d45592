"""Playing derived scenarios in all the ways that have to come out the same.

A recorded conversation ends as it ended, however many handlers stand around it that
pass everything through, whether it is streamed or not, and wherever a stream is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from refengine.messages import Json, Message, MessageChunk, ToolCallChunk, join_chunks
from refengine.profile import SEED_001, Profile
from refengine.testing.channels import Seen, project
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.notation import parse_chunk, parse_message, write_chunk
from refengine.testing.scenario import (
    ModelChunks,
    ModelFailure,
    Scenario,
    ScriptEntry,
)
from refengine.testing.session import play
from refengine.testing.strategies.variants import with_identity
from refengine.testing.subjects import Subject, play_subject
from refengine.testing.trace import Trace

OUTCOME: Final = (
    "answer",
    "state",
    "second_turn",
    "requests",
    "model_calls",
    "tool_executions",
    "errors",
    "effects",
)
"""The channels that have to be equal: how runs ended, and what left the agent."""

Outcome: TypeAlias = Mapping[str, Sequence[Mapping[str, Json]]]


def outcome(trace: Trace, channels: Sequence[str] = OUTCOME) -> Outcome:
    """Return status, answer, final messages, requests and more of each run."""
    seen = Seen(trace)
    return {each: [entry.value for entry in project(seen, each)] for each in channels}


def played(scenario: Scenario, profile: Profile = SEED_001) -> Outcome:
    """Play a scenario on the reference engine, on virtual time."""
    return outcome(run(play(scenario, ReferenceEngine(profile))))


def played_under(
    scenario: Scenario, subject: Subject, profile: Profile = SEED_001
) -> Outcome:
    """Play a scenario with a subject's struct middlewares or handlers."""
    return outcome(run(play_subject(scenario, subject, profile)).trace)


def in_mode(scenario: Scenario, *, streaming: bool) -> Scenario:
    """Return the scenario with every run streamed, or none."""
    runs = [each.model_copy(update={"streaming": streaming}) for each in scenario.runs]
    return scenario.model_copy(update={"runs": tuple(runs)})


def with_passing(scenario: Scenario, count: int) -> Scenario:
    """Return the scenario with so many handlers more, which have every hook."""
    for _ in range(count):
        scenario = with_identity(scenario, 0)
    return scenario


def recut(scenario: Scenario, cuts: Sequence[int]) -> Scenario:
    """Return the scenario with each answer in chunks, cut at these places.

    A place counts characters of the content and then of the arguments of each call;
    one past the end starts from the front again, so the same cuts fit every answer.
    The same place twice gives an empty chunk.
    """
    script = tuple(_recut(entry, cuts) for entry in scenario.model_script)
    return scenario.model_copy(update={"model_script": script})


def _recut(entry: ScriptEntry, cuts: Sequence[int]) -> ScriptEntry:
    if isinstance(entry, ModelFailure):
        return entry
    if isinstance(entry, ModelChunks):
        whole = join_chunks(map(parse_chunk, entry.chunks))
    else:
        whole = parse_message(entry)
    chunks = tuple(map(write_chunk, chunks_of(whole, cuts)))
    failure = entry.stream_error if isinstance(entry, ModelChunks) else None
    return ModelChunks(chunks=chunks, stream_error=failure)


def chunks_of(message: Message, cuts: Sequence[int]) -> list[MessageChunk]:
    """Return the chunks of a message between the cuts; joined they are the message."""
    calls = message.tool_calls
    lengths = [len(message.content), *(len(call.arguments) for call in calls)]
    total = sum(lengths)
    edges = [0, *sorted(cut % (total + 1) for cut in cuts), total]
    chunks: list[MessageChunk] = []
    for at, (start, end) in enumerate(pairwise(edges)):
        last = at == len(edges) - 2
        text = message.content[start:end]
        pieces = _pieces(message, lengths, (start, end + last))
        chunks.append(MessageChunk(text, pieces))
    named = (message.id, message.name, message.extra)
    chunks[-1] = MessageChunk(chunks[-1].content, chunks[-1].tool_calls, *named)
    return chunks


def _pieces(
    message: Message, lengths: Sequence[int], span: tuple[int, int]
) -> tuple[ToolCallChunk, ...]:
    """Return the pieces of calls within a span; the first of a call has its name.

    A call stands where its arguments begin, so one without any is found as well.
    """
    found: list[ToolCallChunk] = []
    offset = lengths[0]
    for index, call in enumerate(message.tool_calls):
        start, end = (max(each - offset, 0) for each in span)
        text = call.arguments[start:end]
        if span[0] <= offset < span[1]:
            found.append(ToolCallChunk(index, call.id, call.name, text))
        elif text:
            found.append(ToolCallChunk(index, "", "", text))
        offset += lengths[index + 1]
    return tuple(found)
