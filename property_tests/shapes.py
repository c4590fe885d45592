"""What a door tells, looked at field by field: a wrong type is the door's fault.

An engine that answers ``7`` where it was asked about ``"7"`` fails a hundred checks,
and none of them says why. So fields are looked at before anything is judged by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final, cast, get_args

from property_tests.given_runs import Events, OtherwiseGivenRun, OtherwiseRunAgent
from refengine.agent import ChatModelAgentConfig
from refengine.events import AgentAction, AgentEvent, Chunk, EventKind
from refengine.loop import Status
from refengine.messages import History, Message, MessageChunk, ToolCall
from refengine.plan import OnNotice
from refengine.run import RunResult
from refengine.stream import StreamReader, convert_stream
from refengine.testing.doors import Engine, EngineAgent, EngineRun

KINDS: Final = frozenset(cast("Sequence[str]", get_args(EventKind)))
STATUSES: Final = frozenset(cast("Sequence[str]", get_args(Status)))
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class TypeFault:
    """A field of what a door tells: what is there, and what belongs there."""

    field: str
    got: object
    expected: str

    def __str__(self) -> str:
        text = repr(self.got)
        shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        return f"{self.field} is {shown} ({type(self.got).__name__}): {self.expected}"


def event_faults(event: object) -> Iterator[TypeFault]:
    """Yield what is wrong with the types of an event."""
    if not isinstance(event, AgentEvent):
        yield TypeFault("an event", event, "an AgentEvent is wanted")
        return
    each = cast("Any", event)  # its types are what is looked at
    yield from _one_of("event.kind", each.kind, KINDS)
    path = cast("object", each.run_path)
    if not _is_path(path):
        expected = "a tuple of the agents' names is wanted, outermost first"
        yield TypeFault("event.run_path", path, expected)
    yield from _text_or_none("event.call_id", each.call_id)
    if each.kind == "error":
        yield from _is("event.error", each.error, Exception, "the exception is wanted")
    elif each.stream is None:
        yield from message_faults("event.message", each.message)
    else:
        expected = "a refengine.StreamReader is wanted"
        yield from _is("event.stream", each.stream, StreamReader, expected)
    if each.action is not None:
        expected = "an AgentAction or None is wanted"
        yield from _is("event.action", each.action, AgentAction, expected)


def message_faults(field: str, message: object) -> Iterator[TypeFault]:
    """Yield what is wrong with the types of a message."""
    if not isinstance(message, Message):
        yield TypeFault(field, message, "a refengine.Message is wanted")
        return
    each = cast("Any", message)
    roles = frozenset(("system", "user", "assistant", "tool"))
    yield from _one_of(f"{field}.role", each.role, roles)
    yield from _is(f"{field}.content", each.content, str, "a text is wanted")
    for name in ("tool_call_id", "name", "id"):
        yield from _text_or_none(f"{field}.{name}", getattr(each, name))
    yield from _is(f"{field}.extra", each.extra, Mapping, "a mapping is wanted")
    for at, call in enumerate(each.tool_calls):
        yield from _call_faults(f"{field}.tool_calls[{at}]", call)


def outcome_faults(outcome: object) -> Iterator[TypeFault]:
    """Yield what is wrong with the types of a run's outcome."""
    if not isinstance(outcome, RunResult):
        yield TypeFault(
            "run.outcome", outcome, "a RunResult is wanted once a run is over"
        )
        return
    each = cast("Any", outcome)
    yield from _one_of("outcome.status", each.status, STATUSES)
    expected = "a History is wanted: refengine.testing.doors.ended(...) makes one"
    yield from _is("outcome.messages", each.messages, History, expected)
    if isinstance(each.messages, History):
        for at, message in enumerate(each.messages):
            yield from message_faults(f"outcome.messages[{at}]", message)
    if each.answer is not None:
        yield from message_faults("outcome.answer", each.answer)
    if type(each.iterations) is not int:
        yield TypeFault(
            "outcome.iterations", each.iterations, "a whole number is wanted"
        )


def _call_faults(field: str, call: object) -> Iterator[TypeFault]:
    if not isinstance(call, ToolCall):
        yield TypeFault(field, call, "a refengine.ToolCall is wanted")
        return
    for name in ("id", "name"):
        yield from _is(f"{field}.{name}", getattr(call, name), str, "a text is wanted")
    expected = "the model's own text is wanted, not what it means"
    yield from _is(f"{field}.arguments", call.arguments, str, expected)


def _chunk_faults(chunk: object) -> Iterator[TypeFault]:
    expected = "a MessageChunk, or a text of a tool, is wanted"
    if not isinstance(chunk, MessageChunk | str):
        yield TypeFault("a chunk of event.stream", chunk, expected)
    elif isinstance(chunk, MessageChunk):
        content = cast("object", chunk.content)
        yield from _is("chunk.content", content, str, "a text is wanted")


def _is(field: str, got: object, kind: type, expected: str) -> Iterator[TypeFault]:
    if not isinstance(got, kind):
        yield TypeFault(field, got, expected)


def _text_or_none(field: str, got: object) -> Iterator[TypeFault]:
    if got is not None and not _is_text(got):
        yield TypeFault(field, got, "a text or None is wanted")


def _one_of(field: str, got: object, known: AbstractSet[str]) -> Iterator[TypeFault]:
    if not _is_text(got) or got not in known:
        yield TypeFault(field, got, f"one of {', '.join(sorted(known))} is wanted")


def _is_path(got: object) -> bool:
    if not isinstance(got, tuple):
        return False
    names = cast("tuple[object, ...]", got)
    return bool(names) and all(map(_is_text, names))


def _is_text(got: object) -> bool:
    return isinstance(got, str)


class WatchedDoor:
    """An engine whose events and outcomes are looked at; ``faults`` are what was wrong.

    ``raised`` are the exceptions that its runs ended with, in order.
    """

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self.faults: list[TypeFault] = []
        self.raised: list[Exception] = []
        self._engine = engine

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent; its runs are looked at."""
        agent = await self._engine.build(config, on_notice)
        return OtherwiseRunAgent(agent, lambda run: _WatchedRun(self, run))

    def look(self, event: AgentEvent) -> AgentEvent:
        """Look at an event, and later at the chunks of its stream."""
        found = list(event_faults(event))
        self.faults += found
        if found and not isinstance(event, AgentEvent):
            raise TypeError(str(found[0]))
        if isinstance(event.error, Exception):
            self.raised.append(event.error)
        if isinstance(event.stream, StreamReader):
            return replace(event, stream=convert_stream(event.stream, self._chunk))
        return event

    def _chunk(self, chunk: Chunk) -> Chunk:
        self.faults += _chunk_faults(chunk)
        return chunk


class _WatchedRun(OtherwiseGivenRun):
    def __init__(self, watch: WatchedDoor, run: EngineRun) -> None:
        super().__init__(run)
        self._watch = watch

    async def events(self, given: Events) -> Events:
        async for event in given:
            yield self._watch.look(event)
        self._watch.faults += outcome_faults(self.outcome)
