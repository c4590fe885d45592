"""What surrounds sessions with callbacks: model, tools, clients, all of it observed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from compat.dialects.callbacks import (
    CALLBACK_TYPES,
    AgentCallbacks,
    CallbackMiddleware,
    CallbackTable,
    CallbackType,
    Client,
    Delivery,
)
from compat.dialects.callbacks.table import Callback
from compat.engines.callbacks.scenario import (
    AroundSpec,
    CallbacksScenario,
    ClientSpec,
    HeardSpec,
    SessionAnswerSpec,
    SessionToolSpec,
    Version,
)
from compat.engines.dialect_playing import seen_call, seen_error, seen_message
from refengine.context import Context
from refengine.messages import Json, Message, MessageChunk, ToolCall
from refengine.stream import StreamReader
from refengine.testing.recorder import Recorder, snapshot
from refengine.tools import Options, ToolInfo

LISTENER: Final = "listener"
END: Final = SessionAnswerSpec(texts=("end",))
"""What a model says whose script has come to its end."""
STORED_AT: Final = "on_state_storage"


class ScriptedSessionError(Exception):
    """What a world was told to raise."""


def words_of(scenario: CallbacksScenario) -> Iterator[str]:
    """Yield what the errors of a world say, and the types that a listener cannot hear.

    A refusal names these; that it names all the others, too, is one engine's help.
    """
    types = (*CALLBACK_TYPES, *(each.name for each in scenario.rows))
    owned = [
        name for name, row in CALLBACK_TYPES.items() if "listener" not in row.owners
    ]
    listeners = (*(each.name for each in scenario.clients), LISTENER)
    yield from (fault_of(who, each) for who in listeners for each in types)
    yield from (f"{each.name} fails" for each in scenario.middleware)
    yield from (each.error for each in scenario.script if each.error)
    yield from (each.error for each in scenario.tools if each.error)
    yield from owned


def fault_of(who: str, name: str) -> str:
    """Return what a callback says that raises."""
    return f"{who} fails in {name}"


class OldClient:
    """A client of the first version: two methods, called as its callbacks would be."""

    def __init__(self, step: Callback, call: Callback) -> None:
        self._step, self._call = step, call

    def handle_agent_step(self, step_index: int, messages: Sequence[Message]) -> object:
        """Note a step."""
        return self._step(step_index, messages)

    def handle_tool_call(self, call: ToolCall) -> object:
        """Note the start of a tool."""
        return self._call(call)


class NamedClient(Client):
    """A client that is shown by its name, so that what is said of it is comparable."""

    def __init__(self, name: str, callbacks: AgentCallbacks | None) -> None:
        super().__init__(callbacks)
        self._name = name

    def __repr__(self) -> str:
        return f"<client {self._name}>"


class CallbacksWorld:
    """The model, the tools, the clients and the store of one play of a scenario.

    ``path`` is that of the file that sessions are kept in, None if they are in memory.
    ``memory`` is where a door keeps what has to outlive a restart.
    """

    def __init__(
        self, scenario: CallbacksScenario, version: Version, path: Path | None
    ) -> None:
        self.scenario, self.version, self.path = scenario, version, path
        self.recorder = Recorder()
        self.memory: dict[str, Any] = {}
        self.model = SessionModel(scenario.script, self.recorder)
        self.tools = tuple(SessionTool(x, self) for x in scenario.tools)
        rows = (CallbackType(x.name, ("value",), x.owners) for x in scenario.rows)
        self.table = CallbackTable((*CALLBACK_TYPES.values(), *rows))
        self.middleware = tuple(map(self._middleware, scenario.middleware))
        self.emit: Callable[..., Awaitable[object]] | None = None
        self.look: Callable[[str], Awaitable[Any]] | None = None
        self._told = Counter[str]()

    def client(self, spec: ClientSpec) -> Client:
        """Return a client that notes what it is told."""
        told = None if spec.old else self.callbacks(spec.name, spec.hears)
        return NamedClient(spec.name, told)

    def old_client(self, spec: ClientSpec) -> OldClient:
        """Return a client of the first version that notes what it is told."""
        step, call = (
            self._noting(spec.name, each, spec.hears.get(each, HeardSpec()))
            for each in ("on_agent_step", "on_tool_call_start")
        )
        return OldClient(step, call)

    def callbacks(self, who: str, hears: Mapping[str, HeardSpec]) -> AgentCallbacks:
        """Return callbacks that note what they are told; raises for unknown types."""
        made: dict[str, Any] = {
            name: self._noting(who, name, spec) for name, spec in hears.items()
        }
        return AgentCallbacks(table=self.table, **made)

    def _noting(self, who: str, name: str, spec: HeardSpec) -> Callback:
        return partial(self._note, who, name, spec)

    async def _note(
        self, who: str, name: str, spec: HeardSpec, *data: object
    ) -> object:
        key = f"{who} {name}"
        self._told[key] += 1
        noted: dict[str, object] = {
            "who": who,
            "callback": name,
            "data": seen_data(data),
        }
        if name == STORED_AT and self.look is not None:
            state: Any = data[0]
            noted["stored"] = seen_state(await self.look(str(state.session_id)))
        if self._told[key] in spec.raises_on:
            text = fault_of(who, name)
            self.recorder.note_now("event", {**noted, "raises": text})
            raise ScriptedSessionError(text)
        self.recorder.note_now("event", noted)
        if spec.seconds:
            await asyncio.sleep(spec.seconds)
        return spec.gives

    def _middleware(self, spec: AroundSpec) -> CallbackMiddleware:
        async def around(
            delivery: Delivery, inner: Callable[[Delivery], Awaitable[Any]]
        ) -> Any:  # noqa: ANN401  # a callback's
            told = {
                "middleware": spec.name,
                "of": delivery.name,
                "owner": delivery.owner,
            }
            self.recorder.note_now("hook_enter", told)
            does = spec.does if spec.of in {"", delivery.name} else "hands_on"
            if does == "raises":
                raise ScriptedSessionError(f"{spec.name} fails")
            given = await inner(delivery) if does == "hands_on" else None
            self.recorder.note_now("hook_exit", told)
            return given

        return around


class SessionModel:
    """Gives the next answer of a script each time that it is asked."""

    def __init__(self, script: Sequence[SessionAnswerSpec], recorder: Recorder) -> None:
        self._left, self._recorder = list(script), recorder

    async def stream(
        self,
        ctx: Context,  # noqa: ARG002  # as StreamableModel
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],  # noqa: ARG002  # as StreamableModel
        options: Options,  # noqa: ARG002  # as StreamableModel
    ) -> StreamReader[MessageChunk]:
        """Return the next answer, and note what was asked."""
        told = {"messages": [seen_said(each) for each in messages]}
        self._recorder.note_now("model_request", told)
        answer = self._left.pop(0) if self._left else END
        if answer.seconds:
            await asyncio.sleep(answer.seconds)
        if answer.error is not None and not answer.texts:
            self._recorder.note_now("model_error", {"error": answer.error})
            raise ScriptedSessionError(answer.error)
        return StreamReader(self._chunks(answer))

    async def _chunks(self, answer: SessionAnswerSpec) -> AsyncIterator[MessageChunk]:
        for each in answer.chunks():
            if each.content:
                self._recorder.note_now("model_chunk", {"text": each.content})
            yield each
        if answer.error is not None:
            self._recorder.note_now("model_error", {"error": answer.error})
            raise ScriptedSessionError(answer.error)
        calls = [each.model_dump() for each in answer.calls]
        self._recorder.note_now("model_response", {"calls": calls})


class SessionTool:
    """A tool that gives a text or raises, and may tell a fact before that."""

    def __init__(self, spec: SessionToolSpec, world: CallbacksWorld) -> None:
        self.info = ToolInfo(spec.name)
        self._spec, self._world = spec, world

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> str:  # noqa: ARG002  # as InvokableTool
        """Give the text, or raise."""
        spec, note = self._spec, self._world.recorder.note_now
        note("tool_start", {"tool": spec.name, "arguments": arguments})
        if spec.seconds:
            await asyncio.sleep(spec.seconds)
        if spec.emits and self._world.emit is not None:
            await self._world.emit(spec.emits, 1)
        if spec.error is not None:
            note("tool_error", {"tool": spec.name, "error": spec.error})
            raise ScriptedSessionError(spec.error)
        note("tool_end", {"tool": spec.name, "result": spec.text})
        return spec.text


def seen_said(message: object) -> Json:
    """Return what an observation says of a message; a name says nothing here."""
    told = seen_message(message)
    told.pop("name", None)
    return told


def seen_state(state: object) -> Json:
    """Return what an observation says of a state, by its attributes."""
    if state is None:
        return None
    messages: Sequence[object] = getattr(state, "messages", ())
    return {
        "session_id": str(getattr(state, "session_id", "")),
        "messages": [seen_said(each) for each in messages],
        "more": snapshot(getattr(state, "more", {})),
    }


def seen_data(data: Sequence[object]) -> Json:
    """Return what a callback was called with as JSON."""
    return [_seen(each) for each in data]


def _seen(value: object) -> Json:
    if isinstance(value, BaseException):
        return seen_error(value)
    if hasattr(value, "session_id"):
        return seen_state(value)
    if hasattr(value, "arguments"):
        return seen_call(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_seen_one(each) for each in cast("Sequence[object]", value)]
    return snapshot(value)


def _seen_one(value: object) -> Json:
    return seen_said(value) if hasattr(value, "role") else snapshot(value)
