"""Mutants of what is told, kept and connected: a step of it is wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from compat.dialects.callbacks import (
    CALLBACK_TYPES,
    AgentCallbacks,
    Client,
    SessionState,
)
from property_tests.callbacks.mutants.steps import broken, step
from property_tests.dialects.dialect import DialectMutant
from property_tests.mutants.patching import Given, Patch, Right
from refengine.messages import History

Made = Callable[[], Sequence[Patch]]
Emit = Callable[..., Awaitable[Any]]

LOAD, START, END = "load_agent_storage", "on_session_start", "on_session_end"
STEP, TOOL_END, ERROR = "on_agent_step", "on_tool_execution_end", "on_error"
SAVE, DELTA, DONE = "on_state_storage", "on_llm_text_delta", "on_llm_text_done"


def emitting(change: Callable[[Emit, str, tuple[Given, ...]], Awaitable[Any]]) -> Made:
    """Return patches of how a fact is told; ``change`` is given the right way."""

    def replacing(right: Right) -> Right:
        async def wrong(self: Given, name: str, *data: Given) -> Given:
            async def told(name: str, *data: Given) -> Given:
                return await right(self, name, *data)

            return await change(told, name, data)

        return wrong

    return lambda: [step("agent.emit", replacing)]


def gives(name: str, change: Callable[..., Any]) -> Made:
    """Return patches by which what a step gives is changed, async or not."""

    def replacing(right: Right) -> Right:
        async def later(value: Awaitable[Any]) -> Given:
            return change(await value)

        def wrong(*args: Given, **how: Given) -> Given:
            value = right(*args, **how)
            return later(value) if hasattr(value, "__await__") else change(value)

        return wrong

    return lambda: [step(name, replacing)]


def instead(name: str, make: Callable[[Right], Right]) -> Made:
    """Return patches that put another step in a step's place."""
    return lambda: [step(name, make)]


async def _start_first(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    if name == LOAD:
        await told(START, *data)
    return None if name == START else await told(name, *data)


async def _start_twice(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    if name == START:
        await told(name, *data)
    return await told(name, *data)


async def _always_completed(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    given = (data[0], "completed") if name == END else data
    return await told(name, *given)


async def _cancelled_is_error(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    cancelled = name == END and data[1] == "cancelled"
    return await told(name, *((data[0], "error") if cancelled else data))


async def _stripped(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    return await told(name, *((data[0].strip(),) if name == DELTA else data))


async def _done_each(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    given = await told(name, *data)
    if name == DELTA:
        await told(DONE, *data)
    return given


async def _no_failed_ends(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    failed = name == TOOL_END and data[-1] is not None
    return None if failed else await told(name, *data)


async def _no_errors(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    return None if name == ERROR else await told(name, *data)


async def _known_alone(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    return await told(name, *data) if name in CALLBACK_TYPES else None


async def _first_state(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
    if name == SAVE:
        said = [each for each in data[0].messages if each.role == "user"]
        if len(said) > 1:
            return None
    return await told(name, *data)


def _kept_early() -> Sequence[Patch]:
    """Store the messages of a run before it has ended."""
    known: dict[str, str] = {}

    async def change(told: Emit, name: str, data: tuple[Given, ...]) -> Given:
        if name == LOAD:
            known["id"] = data[0]
        if name == STEP:
            await told(SAVE, SessionState(known["id"], History(tuple(data[1]))))
        return await told(name, *data)

    return emitting(change)()


def _from_zero(right: Right) -> Right:
    async def wrong(self: Given, ctx: Given, messages: Given) -> Given:
        self.steps -= 1
        found = await right(self, ctx, messages)
        self.steps += 1
        return found

    return wrong


def _told_late(right: Right) -> Right:
    async def wrong(self: Given, ctx: Given, input: Given, next: Given) -> Given:
        given = await next(ctx, input)

        async def before(ctx: Given, input: Given) -> Given:
            del ctx, input
            return given

        return await right(self, ctx, input, before)

    return wrong


def _twice(right: Right) -> Right:
    async def wrong(delivery: Given, callback: Given, middleware: Given) -> Given:
        await right(delivery, callback, middleware)
        return await right(delivery, callback, middleware)

    return wrong


def _owner_untold() -> Sequence[Patch]:
    """Tell the type of a callback alone."""
    alone: Any = property(lambda delivery: str(delivery.name))

    def replacing(_: Right) -> Right:
        where: Right = alone
        return where

    return [step("delivery.where", replacing)]


def _turned(right: Right) -> Right:
    async def wrong(delivery: Given, callback: Given, middleware: Given) -> Given:
        return await right(delivery, callback, middleware[::-1])

    return wrong


def _bare(right: Right) -> Right:
    async def wrong(delivery: Given, callback: Given, middleware: Given) -> Given:
        del middleware
        return await right(delivery, callback, ())

    return wrong


def _silent(right: Right) -> Right:
    async def wrong(delivery: Given, callback: Given, middleware: Given) -> Given:
        try:
            return await right(delivery, callback, middleware)
        except Exception:  # noqa: BLE001  # that is the fault
            return None

    return wrong


def _silent_of_errors(right: Right) -> Right:
    async def wrong(delivery: Given, callback: Given, middleware: Given) -> Given:
        try:
            return await right(delivery, callback, middleware)
        except Exception:
            if delivery.name != ERROR:
                raise
            return None

    return wrong


def _loads_nothing(right: Right) -> Right:
    async def wrong(delivery: Given, callback: Given, middleware: Given) -> Given:
        given = await right(delivery, callback, middleware)
        return None if delivery.name == LOAD else given

    return wrong


def _of_last(right: Right) -> Right:
    """Load whichever session was loaded first."""
    known: list[str] = []

    async def wrong(self: Given, session_id: str) -> Given:
        known.append(session_id)
        return await right(self, known[0])

    return wrong


async def _never(*_: Given) -> None:
    """Do nothing, where something is awaited."""


class SameClient:
    """A client that is not known again: a new one each time that it is connected."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def agent_callbacks(self) -> AgentCallbacks | None:
        """Those of the client."""
        return self._client.agent_callbacks


def _unknown_again(right: Right) -> Right:
    def wrong(self: Given, client: Given) -> Given:
        return right(self, SameClient(client))

    return wrong


def _nothing(*_: Given) -> None:
    """Do nothing."""


def _unrefused(right: Right) -> Right:
    def wrong(self: Given, client: Given) -> None:
        if any(each is client for each in self.clients):
            right(self, client)

    return wrong


def _no_deltas(right: Right) -> Right:
    async def wrong(name: str, data: Given) -> None:
        if name != DELTA:
            await right(name, data)

    return wrong


def _without_calls(client: Client) -> Client:
    callbacks = client.agent_callbacks
    step_alone = None if callbacks is None else callbacks.get(STEP)
    return Client(AgentCallbacks(on_agent_step=step_alone))


def _without_last(stored: Given) -> Given:
    if stored is None:
        return None
    messages = History(tuple(stored.state.messages)[:-1])
    return replace(stored, state=replace(stored.state, messages=messages))


async def _waited(tasks: Sequence[Given]) -> None:
    for each in tasks:
        await each


def _emptied(state: SessionState) -> SessionState:
    return replace(state, messages=History())


def _bared(state: SessionState) -> SessionState:
    return replace(state, more={})


FAULTS: Final[tuple[DialectMutant, ...]] = (
    broken(
        "callbacks-start-before-load",
        "The start is told before the session is loaded.",
        "CB-001",
        emitting(_start_first),
    ),
    broken(
        "callbacks-start-twice",
        "The start is told twice.",
        "CB-002 CB-013",
        emitting(_start_twice),
    ),
    broken(
        "callbacks-always-completed",
        "Every end is told as one that is completed.",
        "CB-003 CB-053",
        emitting(_always_completed),
    ),
    broken(
        "callbacks-steps-from-zero",
        "Steps count from 0.",
        "CB-004",
        instead("reporting.step", _from_zero),
    ),
    broken(
        "callbacks-pieces-stripped",
        "Pieces of text are told without the space around them.",
        "CB-005",
        emitting(_stripped),
    ),
    broken(
        "callbacks-done-each-piece",
        "Each piece of text is told as a whole text, too.",
        "CB-006",
        emitting(_done_each),
    ),
    broken(
        "callbacks-call-told-late",
        "A call is told when its tool has run.",
        "CB-007",
        instead("reporting.tool", _told_late),
    ),
    broken(
        "callbacks-failed-end-untold",
        "The end of a tool that failed is not told.",
        "CB-008",
        emitting(_no_failed_ends),
    ),
    broken(
        "callbacks-error-untold",
        "What ends a session is not told.",
        "CB-009",
        emitting(_no_errors),
    ),
    broken(
        "callbacks-delivered-twice",
        "Every fact is delivered twice.",
        "CB-010 CB-041 CB-015",
        instead("manager.delivered", _twice),
    ),
    broken(
        "callbacks-known-types-alone",
        "A type that was added is told to nobody.",
        "CB-014",
        emitting(_known_alone),
    ),
    broken(
        "callbacks-first-state-alone",
        "Only the state behind the first message is told.",
        "CB-015",
        emitting(_first_state),
    ),
    broken(
        "callbacks-loads-nothing",
        "What a client loads is not used.",
        "CB-020 CB-023",
        instead("manager.delivered", _loads_nothing),
    ),
    broken(
        "callbacks-nothing-stored-comes-back",
        "What was stored locally is not loaded.",
        "CB-022 CB-035",
        instead("manager.load", lambda _: _never),
    ),
    broken(
        "callbacks-loaded-messages-lost",
        "A state that was loaded is without its messages.",
        "CB-023 CB-022",
        gives("agent.state_of", _emptied),
    ),
    broken(
        "callbacks-more-lost",
        "What a state holds besides its messages is lost.",
        "CB-024",
        gives("agent.state_of", _bared),
    ),
    broken(
        "callbacks-never-stored",
        "No state is stored.",
        "CB-030 CB-031 CB-032",
        instead("manager.save", lambda _: _never),
    ),
    broken(
        "callbacks-kept-early",
        "The messages of a run are stored before it has ended.",
        "CB-033",
        _kept_early,
    ),
    broken(
        "callbacks-sessions-mixed",
        "Whatever session is asked for, the first one is loaded.",
        "CB-034",
        lambda: [step("manager.load", _of_last)],
    ),
    broken(
        "callbacks-connected-again",
        "A client that is connected twice is two clients.",
        "CB-041 CB-040",
        instead("manager.set_client", _unknown_again),
    ),
    broken(
        "callbacks-own-path-dead",
        "A client that connects itself is not connected.",
        "CB-042",
        instead("client.connect", lambda _: _nothing),
    ),
    broken(
        "callbacks-stays-connected",
        "A client that is taken away stays.",
        "CB-044",
        instead("manager.remove_client", lambda _: _nothing),
    ),
    broken(
        "callbacks-strange-one-taken-away",
        "To take away a client that is not connected does nothing.",
        "CB-045",
        instead("manager.remove_client", _unrefused),
    ),
    broken(
        "callbacks-failures-silent",
        "A callback that raises is told to nobody.",
        "CB-050",
        instead("manager.delivered", _silent),
    ),
    broken(
        "callbacks-error-of-errors-silent",
        "An error of on_error itself is told to nobody.",
        "CB-052",
        instead("manager.delivered", _silent_of_errors),
    ),
    broken(
        "callbacks-owner-untold",
        "on_error is told which type failed, and not whose it was.",
        "CB-050",
        _owner_untold,
    ),
    broken(
        "callbacks-cancelled-is-error",
        "A cancellation is told as an error.",
        "CB-053 CB-071",
        emitting(_cancelled_is_error),
    ),
    broken(
        "callbacks-middleware-turned",
        "The last of what stands around deliveries is entered first.",
        "CB-060",
        instead("manager.delivered", _turned),
    ),
    broken(
        "callbacks-middleware-unused",
        "Nothing stands around deliveries.",
        "CB-060 CB-061",
        instead("manager.delivered", _bare),
    ),
    broken(
        "callbacks-stream-without-pieces",
        "The stream has no pieces of text.",
        "CB-070",
        instead("agent.notify", _no_deltas),
    ),
    broken(
        "callbacks-left-goes-on",
        "A session goes on to its end when its reader has left.",
        "CB-071",
        instead("agent.ended", lambda _: _waited),
    ),
    broken(
        "callbacks-adapted-without-calls",
        "An adapted client hears of steps alone.",
        "CB-080",
        gives("versions.adapted", _without_calls),
    ),
    broken(
        "callbacks-file-loses-the-last",
        "A session comes back from a file without its last message.",
        "CB-081",
        gives("stores.sqlite_load", _without_last),
    ),
)
"""All of them."""
