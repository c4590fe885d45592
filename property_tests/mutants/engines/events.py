"""Engines that are wrong about what the consumer of a run receives, and when (EVT)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Final

from property_tests.given_runs import Events, OtherwiseGivenRun
from property_tests.mutants.around import giving
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch, wrong
from refengine.errors import ToolError
from refengine.events import AgentEvent
from refengine.messages import Message
from refengine.stream import StreamReader


def given_to_consumer(change: Callable[[Given, Events], Events]) -> Patch:
    """Give the consumer other events than the right ones."""

    def replaced(right: Right) -> Right:
        def events(self: Given, loop: Given, saved: Given) -> Events:
            return change(loop, right(self, loop, saved))

        return events

    return patch("run.events", replaced)


def each_event(change: Callable[[AgentEvent], list[AgentEvent]]) -> Patch:
    """Give the consumer other events in place of each."""

    async def changed(_: Given, events: Events) -> Events:
        async for event in events:
            for each in change(event):
                yield each

    return given_to_consumer(changed)


def _of_kind(
    kind: str, change: Callable[[AgentEvent, Message], list[AgentEvent]]
) -> Patch:
    """Give the consumer other events in place of whole ones of a kind."""

    def changed(event: AgentEvent) -> list[AgentEvent]:
        if event.kind != kind or event.message is None:
            return [event]
        return change(event, event.message)

    return each_event(changed)


def _with(event: AgentEvent, message: Message) -> AgentEvent:
    return AgentEvent(event.kind, event.run_path, message, event.call_id)


async def _results_first(_: Given, events: Events) -> Events:
    held: AgentEvent | None = None
    async for event in events:
        if event.kind == "model":
            if held is not None:
                yield held
            held = event
        else:
            yield event
    if held is not None:
        yield held


def _held(kind: str) -> Patch:
    """Hold events of a kind until the run has come to its next one, or its end."""

    async def held(_: Given, events: Events) -> Events:
        waiting: list[AgentEvent] = []
        try:
            async for event in events:
                while waiting:
                    yield waiting.pop()
                waiting = [event] if event.kind == kind else []
                if not waiting:
                    yield event
        except Exception:
            for each in waiting:
                yield each
            raise
        for each in waiting:
            yield each

    return given_to_consumer(held)


class _WithoutErrors(OtherwiseGivenRun):
    """A run that does not say why it failed."""

    async def events(self, given: Events) -> Events:
        async for event in given:
            if event.kind == "error":
                return
            yield event


async def _at_its_end(stream: StreamReader[Given]) -> AsyncIterator[Given]:
    """Yield the chunks of a stream once all of them are there."""
    for chunk in [each async for each in stream]:
        yield chunk


def _timing_held(kind: str, hold: Given) -> Patch:
    def changed(event: AgentEvent) -> list[AgentEvent]:
        if event.kind != kind or event.stream is None:
            return [event]
        return [replace(event, stream=StreamReader(hold(event.stream)))]

    return each_event(changed)


async def _after_hooks(loop: Given, events: Events) -> Events:
    """Give a response when the after-hooks have run, as they left it."""
    held: AgentEvent | None = None
    async for event in events:
        if held is not None:
            yield held
        held = event
    last = loop.history.last()
    if held is not None:
        yield _with(held, last) if last is not None else held


async def _failures_given(loop: Given, events: Events) -> Events:
    try:
        async for event in events:
            yield event
    except ToolError as error:
        message = Message("tool", str(error), tool_call_id=error.call_id)
        yield AgentEvent("tool", loop.run_path, message, error.call_id)
        raise


def _without_call_id(event: AgentEvent, message: Message) -> list[AgentEvent]:
    return [AgentEvent(event.kind, event.run_path, message, None)]


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "results-told-trimmed",
        "The event of a result lacks the space around it.",
        "EVT-005",
        _of_kind(
            "tool", lambda e, m: [_with(e, replace(m, content=m.content.strip()))]
        ),
    ),
    broken(
        "results-before-their-response",
        "The event of a response comes after those of its calls.",
        "EVT-011",
        given_to_consumer(_results_first),
    ),
    broken(
        "results-taken-late",
        "A result is told when the run has come to its next event.",
        "EVT-017",
        _held("tool"),
    ),
    wrong(
        "error-not-told",
        "A run that fails ends without an event that says why.",
        "EVT-012",
        giving(_WithoutErrors),
    ),
    broken(
        "results-held-to-their-end",
        "The chunks of a result are handed on when the last one is there.",
        "STR-025",
        _timing_held("tool", _at_its_end),
    ),
    broken(
        "response-told-twice",
        "A response has two events.",
        "EVT-001",
        _of_kind("model", lambda event, _: [event, event]),
    ),
    broken(
        "calls-not-told",
        "The event of a response lacks its calls.",
        "EVT-002",
        _of_kind("model", lambda e, m: [_with(e, replace(m, tool_calls=()))]),
    ),
    broken(
        "responses-told-after-hooks",
        "The last response is told as the after-hooks left it.",
        "EVT-003",
        given_to_consumer(_after_hooks),
    ),
    broken(
        "results-not-told",
        "A result of a tool has no event.",
        "EVT-004",
        _of_kind("tool", lambda _, __: []),
    ),
    broken(
        "failures-told-as-results",
        "A call that failed has an event with the error's text.",
        "EVT-006",
        given_to_consumer(_failures_given),
    ),
    broken(
        "results-without-call-id",
        "The event of a result does not say which call it is of.",
        "EVT-008",
        _of_kind("tool", _without_call_id),
    ),
    broken(
        "responses-taken-late",
        "A response is told when the run has come to its next event.",
        "EVT-016",
        _held("model"),
    ),
)
