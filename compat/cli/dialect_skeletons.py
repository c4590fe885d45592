"""Skeletons of doors to a dialect: what ``refengine init engine --for loop`` writes.

Behind each door stands a small implementation of its own, which keeps what it declares;
it is then replaced by one's own. Every file is run by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from compat.cli.skeletons import TEST, WORKFLOW

STREAMS: Final = '''"""A small loop over streams with tools, in the place of yours.

A call that came whole is told at once, one in pieces when the stream has ended. Tools
run at the same time; one that fails gives a result that says so. A callback that raises
ends nothing.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from compat.dialects.stream_loop.results import json_text
from refengine import Message
from refengine.messages import ToolCall

PROMPT = "基于以下结果继续: "


@dataclass
class Result:
    """What became of a call, and whether it asks for another round."""

    call_id: str
    name: str
    text: str
    result: object = None
    error: BaseException | None = None
    requires_follow_up: object = False


async def run(ask, tools, text, told, most, new_id):
    """Return the text of the last round; ask(messages) opens a stream."""
    most = 3 if most is None else most
    if type(most) is not int or most < 1:
        raise ValueError(f"{most!r} rounds: give a whole number from 1 on")
    history = [Message("user", text)]
    for _ in range(most):
        said, calls = await answer(await ask(tuple(history)), told, new_id)
        results = await asyncio.gather(*(called(tools, each) for each in calls))
        for each in results:
            await tell(told.on_tool_result, each)
        history.append(Message("assistant", said, tuple(calls)))
        for each in results:
            about = {"tool_call_id": each.call_id, "name": each.name}
            history.append(Message("tool", each.text, **about))
        asking = [each for each in results if each.requires_follow_up is True]
        if not asking:
            return said
        prompts = [PROMPT + json_text(each.result) for each in asking]
        history.append(Message("user", "\\n".join(prompts)))
    return said


async def answer(stream, told, new_id):
    """Read a stream; return its text and its calls, pieces joined."""
    texts, calls, by_index, whole = [], [], {}, []
    try:
        async for chunk in stream:
            if chunk.content:
                texts.append(chunk.content)
                await tell(told.on_chunk, chunk.content)
            for piece in chunk.tool_calls:
                at = by_index.get(piece.index)
                if at is not None:
                    calls[at] = joined(calls[at], piece)
                    continue
                if piece.index is not None:
                    by_index[piece.index] = len(calls)
                calls.append(ToolCall(piece.id, piece.name, piece.arguments))
                if piece.index is None:
                    calls[-1] = named(calls[-1], new_id)
                    whole.append(len(calls) - 1)
                    await tell(told.on_tool_call, calls[-1])
    finally:
        await stream.aclose()
    for at in range(len(calls)):
        if at not in whole:
            calls[at] = named(calls[at], new_id)
            await tell(told.on_tool_call, calls[at])
    return "".join(texts), calls


def joined(call, piece):
    """Return a call with another piece of it."""
    arguments = call.arguments + piece.arguments
    return ToolCall(call.id or piece.id, call.name or piece.name, arguments)


def named(call, new_id):
    """Return a call that has an id."""
    return ToolCall(call.id or new_id(), call.name, call.arguments)


async def called(tools, call):
    """Return what a tool gave, or why it did not."""
    try:
        given = await tools[call.name](call.arguments, {})
        if isinstance(given, str):
            return Result(call.id, call.name, given, given)
        asks = given.requires_follow_up
        plain = isinstance(given.result, str)
        text = given.result if plain else json_text(given.result)
        return Result(call.id, call.name, text, given.result, None, asks)
    except (Exception, asyncio.CancelledError) as error:
        text = f"{type(error).__name__}: {error}"
        return Result(call.id, call.name, text, None, error)


async def tell(callback, fact):
    """Call a callback, which may be async, and may not be there."""
    if callback is not None:
        with suppress(Exception):
            found = callback(fact)
            if hasattr(found, "__await__"):
                await found
'''

LOOP_DOOR: Final = """from functools import partial

import streams

from compat.dialects.stream_loop import loop_profile
from refengine.context import Context


class Door:
    name, version, profile = "small", "1", loop_profile("loop-safe")
    capabilities = frozenset(("loops",))  # what else yours has a place for

    async def process(self, call):
        here, infos = Context(), [each.info for each in call.tools]
        ask = lambda said: call.model.stream(here, said, infos, {})
        tools = {x.info.name: partial(x.invoke, here) for x in call.tools}
        given = (call.input, call.callbacks, call.max_iterations, call.new_id)
        return await streams.run(ask, tools, *given)
"""

SESSIONS: Final = '''"""Sessions of a small agent with callbacks, in the place of yours.

Clients hear what they have callbacks of, in the order of their connection, then the
external listener, which shares three types with them. A callback that raises is told to
on_error and ends nothing.
"""

import warnings
from dataclasses import dataclass, replace

from compat.dialects.callbacks import SessionState
from compat.dialects.callbacks.state import state_of
from refengine import Message
from refengine.context import Context
from refengine.messages import ToolCall

SHARED = ("on_agent_step", "on_tool_execution_end", "on_error")


@dataclass
class Ended:
    """How a session ended."""

    answer: Message | None
    status: str
    state: SessionState


class Sessions:
    """An agent, its clients and its listener, and the sessions that are stored."""

    def __init__(self, model, tools):
        self.model, self.tools = model, {each.info.name: each for each in tools}
        self.clients, self.listener, self.kept = [], None, {}

    def set_client(self, client):
        """Connect a client, once."""
        if client not in self.clients:
            self.clients.append(client)

    def remove_client(self, client):
        """Take a client away; raises ValueError if it is not there."""
        self.clients.remove(client)

    def set_callbacks(self, callbacks):
        """Set the listener, of what it shares."""
        others = [each for each in callbacks.names if each not in SHARED]
        if others:
            raise ValueError(f"a listener does not hear {', '.join(others)}")
        self.listener = callbacks

    async def stored(self, session_id):
        """Return what is stored of a session."""
        return self.kept.get(session_id)

    async def emit(self, name, *data):
        """Tell a fact to all who hear it; the first that loads something is enough."""
        heard = [("client", each.agent_callbacks) for each in self.clients]
        if name in SHARED:
            heard.append(("listener", self.listener))
        for who, callbacks in heard:
            callback = callbacks and callbacks.get(name)
            if callback is None:
                continue
            try:
                given = callback(*data)
                given = await given if hasattr(given, "__await__") else given
            except Exception as error:
                if name == "on_error":
                    warnings.warn(f"on_error raised {error!r}", stacklevel=1)
                else:
                    await self.emit("on_error", error, f"{who}.{name}")
                continue
            if name == "load_agent_storage" and given is not None:
                return given
        return None

    async def run(self, session_id, *texts):
        """Play a session: each text has a run of its own, and is stored after it."""
        loaded = await self.emit("load_agent_storage", session_id)
        state = self.kept.get(session_id) if loaded is None else loaded
        ended = Ended(None, "error", state_of(state, session_id))
        try:
            await self.emit("on_session_start", session_id)
            for text in texts:
                answer, state = await self.turn(ended.state, text)
                self.kept[session_id] = state
                await self.emit("on_state_storage", state)
                ended = replace(ended, answer=answer, state=state)
            ended.status = "completed"
        except Exception as error:
            await self.emit("on_error", error, "agent")
            raise
        finally:
            await self.emit("on_session_end", session_id, ended.status)
        return ended

    async def turn(self, state, text):
        """Ask the model until it calls no tool; return its answer and the new state."""
        state = state.with_messages(Message("user", text))
        step = 0
        while True:
            step += 1
            await self.emit("on_agent_step", step, tuple(state.messages))
            answer = await self.answer(tuple(state.messages))
            state = state.with_messages(answer)
            if not answer.tool_calls:
                return answer, state
            for each in answer.tool_calls:
                state = state.with_messages(await self.call(each))

    async def answer(self, messages):
        """Ask the model once, and tell its text."""
        infos = [each.info for each in self.tools.values()]
        stream = await self.model.stream(Context(), messages, infos, {})
        texts, calls = [], []
        async for chunk in stream:
            if chunk.content:
                texts.append(chunk.content)
                await self.emit("on_llm_text_delta", chunk.content)
            for each in chunk.tool_calls:
                calls.append(ToolCall(each.id, each.name, each.arguments))
        if texts:
            await self.emit("on_llm_text_done", "".join(texts))
        return Message("assistant", "".join(texts), tuple(calls))

    async def call(self, call):
        """Run a tool, and tell its start and its end."""
        name = "on_tool_execution_end"
        await self.emit("on_tool_call_start", call)
        try:
            text = await self.tools[call.name].invoke(Context(), call.arguments, {})
        except Exception as error:
            await self.emit(name, call.name, call.id, None, error)
            raise
        await self.emit(name, call.name, call.id, text, None)
        return Message("tool", text, tool_call_id=call.id, name=call.name)
'''

CALLBACKS_DOOR: Final = """import sessions

from compat.dialects.callbacks import callbacks_profile


class Door:
    name, version = "small", "1"
    profile = callbacks_profile("callbacks-v2")
    capabilities = frozenset(("clients", "listener"))  # what else yours has a place for

    def open(self, world):
        return sessions.Sessions(world.model, world.tools)
"""

DOOR: Final = "door.py:Door"
"""What names the engine of each of these skeletons, from its folder."""
CONFORM: Final = '"conform", DOOR, '

DIALECT_OF: Final[Mapping[str, str]] = MappingProxyType(
    {"loop": "stream-loop", "callbacks": "callbacks"}
)
"""The dialect that each skeleton is a door to."""


def _files(sources: Mapping[str, str], dialect: str) -> Mapping[str, str]:
    option = f"--dialect {dialect}"
    test = TEST.format(door=DOOR, kept="[]")
    spoken = f'{CONFORM}"--dialect", "{dialect}", '
    workflow = WORKFLOW.format(door=DOOR, requirement='"${REFENGINE}[testing]"')
    return MappingProxyType(
        {
            **sources,
            "test_conformance.py": test.replace(CONFORM, spoken),
            "conformance.yml": workflow.replace("-k ORD", option),
        }
    )


DIALECT_ENGINES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "loop": _files({"streams.py": STREAMS, "door.py": LOOP_DOOR}, "stream-loop"),
        "callbacks": _files(
            {"sessions.py": SESSIONS, "door.py": CALLBACKS_DOOR}, "callbacks"
        ),
    }
)
"""The files of each door to a dialect by name."""
