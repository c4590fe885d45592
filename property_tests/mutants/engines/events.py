"""Engines that are wrong about what the consumer of a run receives (EVT)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine.errors import ToolError
from refengine.events import AgentEvent
from refengine.loop import Loop
from refengine.messages import Message
from refengine.run import Run

Right: TypeAlias = Callable[..., Any]
Events: TypeAlias = AsyncIterator[AgentEvent]


def _told(change: Callable[[Loop, Events], Events]) -> Patch:
    """Tell other events than the right ones."""

    def made(right: Right) -> Right:
        async def run(self: Loop) -> Events:
            async for event in change(self, right(self)):
                yield event

        return run

    return Patch(Loop, "run", made)


def _each(change: Callable[[AgentEvent], list[AgentEvent]]) -> Patch:
    async def changed(_: Loop, events: Events) -> Events:
        async for event in events:
            for each in change(event):
                yield each

    return _told(changed)


def _of_kind(
    kind: str, change: Callable[[AgentEvent, Message], list[AgentEvent]]
) -> Patch:
    """Tell other events in place of whole ones of a kind."""

    def changed(event: AgentEvent) -> list[AgentEvent]:
        if event.kind != kind or event.message is None:
            return [event]
        return change(event, event.message)

    return _each(changed)


def _with(event: AgentEvent, message: Message) -> AgentEvent:
    return AgentEvent(event.kind, event.run_path, message, event.call_id)


def _without_call_id(event: AgentEvent, message: Message) -> list[AgentEvent]:
    return [AgentEvent(event.kind, event.run_path, message, None)]


async def _after_hooks(loop: Loop, events: Events) -> Events:
    """Tell a response when the after-hooks have run, as they left it."""
    held: AgentEvent | None = None
    async for event in events:
        if held is not None:
            yield held
        held = event
    last = loop.history.last()
    if held is not None:
        yield _with(held, last) if last is not None else held


async def _results_first(_: Loop, events: Events) -> Events:
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


async def _failures_told(loop: Loop, events: Events) -> Events:
    try:
        async for event in events:
            yield event
    except ToolError as error:
        message = Message("tool", str(error), tool_call_id=error.call_id)
        yield AgentEvent("tool", loop.run_path, message, error.call_id)  # inside
        raise


def _other_path(right: Right) -> Right:
    def init(self: Loop, *args: Any, **more: Any) -> None:  # noqa: ANN401  # its own
        right(self, *args, **more)
        self.run_path = (*self.run_path, "chat_model")

    return init


def _silent_error(right: Right) -> Right:
    async def following(self: Run) -> AgentEvent:
        event: AgentEvent = await right(self)
        if event.kind == "error":
            raise StopAsyncIteration
        return event

    return following


def _mutant(id_: str, about: str, clause: str, *patches: Patch) -> Mutant:
    wrong = patched(id_.replace("-", " "), *patches)
    return Mutant(id=id_, about=about, violates=(clause,), wrong=wrong)


MUTANTS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "response-told-twice",
        "A response has two events.",
        "EVT-001",
        _of_kind("model", lambda event, _: [event, event]),
    ),
    _mutant(
        "calls-not-told",
        "The event of a response lacks its calls.",
        "EVT-002",
        _of_kind("model", lambda e, m: [_with(e, replace(m, tool_calls=()))]),
    ),
    _mutant(
        "responses-told-after-hooks",
        "The last response is told as the after-hooks left it.",
        "EVT-003",
        _told(_after_hooks),
    ),
    _mutant(
        "results-not-told",
        "A result of a tool has no event.",
        "EVT-004",
        _of_kind("tool", lambda _, __: []),
    ),
    _mutant(
        "results-told-trimmed",
        "The event of a result lacks the space around it.",
        "EVT-005",
        _of_kind(
            "tool", lambda e, m: [_with(e, replace(m, content=m.content.strip()))]
        ),
    ),
    _mutant(
        "failures-told-as-results",
        "A call that failed has an event with the error's text.",
        "EVT-006",
        _told(_failures_told),
    ),
    _mutant(
        "results-without-call-id",
        "The event of a result does not say which call it is of.",
        "EVT-008",
        _of_kind("tool", _without_call_id),
    ),
    _mutant(
        "run-path-of-the-model",
        "The run path on events ends with a part of the agent.",
        "EVT-009",
        Patch(Loop, "__init__", _other_path),
    ),
    _mutant(
        "results-before-their-response",
        "The event of a response comes after those of its calls.",
        "EVT-011",
        _told(_results_first),
    ),
    _mutant(
        "error-not-told",
        "A run that fails ends without an event that says why.",
        "EVT-012",
        Patch(Run, "__anext__", _silent_error),
    ),
)
