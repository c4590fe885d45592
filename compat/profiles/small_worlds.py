"""Postures of the dialects' profiles, each shown by a small world or a decision.

A decision of the Flow dialect is an input in the notation of the rows about ADK;
postures that only a whole run shows have none.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar, cast

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    CallbacksProfile,
    Client,
    SessionManager,
    SessionState,
)
from compat.dialects.flow.errors import FlowError
from compat.dialects.flow.profile import FlowProfile
from compat.dialects.stream_loop import (
    LoopProcessor,
    LoopProfile,
    ResponseCallbacks,
    ToolOutput,
    ToolResult,
)
from compat.observe.flow.deciding import DECIDING
from compat.profiles.kinds import PostureDifference
from refengine.context import Context
from refengine.errors import RefengineError
from refengine.messages import Message, MessageChunk, ToolCallChunk
from refengine.postures import AnyProfile, choosing, differences
from refengine.stream import StreamReader
from refengine.testing.clock import Ids, run
from refengine.tools import Options, ToolInfo

P = TypeVar("P", bound=AnyProfile)
World: TypeAlias = "tuple[str, Callable[[P], Coroutine[Any, Any, Any]]]"
"""What happens in it, in a few words, and what plays it under a profile."""


def loop_differences(a: LoopProfile, b: LoopProfile) -> Iterator[PostureDifference]:
    """Yield the postures in which two profiles differ, each with what shows it."""
    yield from _differences(a, b, LOOP_WORLDS)


def callbacks_differences(
    a: CallbacksProfile, b: CallbacksProfile
) -> Iterator[PostureDifference]:
    """Yield the postures in which two profiles differ, each with what shows it."""
    yield from _differences(a, b, CALLBACK_WORLDS)


def flow_differences(a: FlowProfile, b: FlowProfile) -> Iterator[PostureDifference]:
    """Yield the postures in which two profiles differ, each with what shows it."""
    known = decisions()
    for posture, _, right in differences(a, b):
        yield _decided(known.get(posture, ()), a, posture, right)


def _differences(
    a: P, b: P, worlds: Mapping[str, World[P]]
) -> Iterator[PostureDifference]:
    """Change only the one posture between two runs: nothing else can be shown."""
    for posture, _, right in differences(a, b):
        told, play = worlds[posture]
        shown = _text(play, a), _text(play, choosing(a, posture, right))
        yield PostureDifference(posture, f"world: {told}", shown)


def _text(play: Callable[[P], Coroutine[Any, Any, Any]], profile: P) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a warning says, the result shows
            found = run(play(profile))
    except (RefengineError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return json.dumps(found, ensure_ascii=False)


class _Model:
    """Streams lists of chunks, one for each call, then the text ``end``."""

    def __init__(self, *script: list[MessageChunk | Exception]) -> None:
        self._script = list(script)
        self.asked: list[list[str]] = []

    async def stream(
        self,
        ctx: Context,  # noqa: ARG002  # as StreamableModel
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],  # noqa: ARG002  # as StreamableModel
        options: Options,  # noqa: ARG002  # as StreamableModel
    ) -> StreamReader[MessageChunk]:
        """Return the next answer, and keep what was asked."""
        self.asked.append([each.content for each in messages])
        end: list[MessageChunk | Exception] = [MessageChunk("end")]
        return StreamReader(self._chunks(self._script.pop(0) if self._script else end))

    async def _chunks(
        self, answer: list[MessageChunk | Exception]
    ) -> AsyncIterator[MessageChunk]:
        for each in answer:
            if isinstance(each, Exception):
                raise each
            yield each


class _Tool:
    """Gives a number and asks for another round, or raises."""

    def __init__(self, name: str, given: object) -> None:
        self.info, self._given = ToolInfo(name), given

    async def invoke(self, *_: object) -> object:
        """Return what it gives, or raise it."""
        if isinstance(self._given, Exception):
            raise self._given
        return self._given


def _calling(*names: str) -> list[MessageChunk | Exception]:
    """Return an answer that says something and calls these tools."""
    pieces = [ToolCallChunk(None, f"c-{each}", each, "{}") for each in names]
    return [MessageChunk("so", tuple(pieces))]


def _raises(*_: object) -> None:
    """Raise, as a callback that fails."""
    raise ValueError("a callback fails")


def decisions() -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the small decisions of each posture that has some, as JSON.

    ``under`` are other postures that a decision needs to have the point at all.
    """
    text = files("compat.profiles").joinpath("flow_decisions.json").read_text("utf-8")
    return cast("dict[str, Sequence[Mapping[str, Any]]]", json.loads(text))


def _decided(
    known: Sequence[Mapping[str, Any]], a: FlowProfile, posture: str, option: str
) -> PostureDifference:
    changed = choosing(a, posture, option)
    for each in known:
        shown = decided_text(each, a), decided_text(each, changed)
        if shown[0] != shown[1]:
            told = f"decision: {json.dumps(each, ensure_ascii=False)}"
            return PostureDifference(posture, told, shown)
    return PostureDifference(posture, "no decision shows it alone: a whole run does")


def decided_text(decision: Mapping[str, Any], profile: FlowProfile) -> str:
    """Return what is decided under a profile, as JSON, or the error it ends in."""
    for posture, option in decision.get("under", {}).items():
        profile = choosing(profile, posture, option)
    try:
        found = DECIDING[decision["kind"]].decide(decision["input"], profile)
    except FlowError as error:
        return f"{type(error).__name__}: {error}"
    return json.dumps(found, ensure_ascii=False)


_AGAIN: Final = ToolOutput(1, requires_follow_up=True)


async def _looped(
    profile: LoopProfile,
    *script: list[MessageChunk | Exception],
    kind: type[LoopProcessor] = LoopProcessor,
    tools: Mapping[str, object] = MappingProxyType({"f": _AGAIN}),
    most: float | None = 2,
    on_chunk: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    model, ends = _Model(*script), list[dict[str, Any]]()
    logger = logging.getLogger("refengine.stream_loop.compared")
    logger.propagate = False
    loop = kind(model, profile=profile, new_id=Ids("id"), logger=logger)

    def on_end(result: Any) -> None:  # noqa: ANN401  # a LoopResult
        parts = [f"{each.kind} {each.state}" for each in result.parts]
        ends.append({"status": result.status, "text": result.text, "parts": parts})

    callbacks = ResponseCallbacks(on_end=on_end, on_chunk=on_chunk)
    made = [_Tool(name, given) for name, given in tools.items()]
    try:
        await loop.process_input(
            "hi", tools=made, callbacks=callbacks, max_iterations=most
        )
    except ValueError as error:
        if not ends:
            raise
        return {"asked": model.asked, **ends[0], "raised": str(error)}
    return {"asked": model.asked, **ends[0]}


class _EmptyPrompt(LoopProcessor):
    def build_next_prompt(self, result: ToolResult) -> str:  # noqa: ARG002  # as its base
        return ""


_TWO: Final = MappingProxyType({"f": _AGAIN, "g": "done"})

LOOP_WORLDS: Final[Mapping[str, World[LoopProfile]]] = MappingProxyType(
    {
        "iteration_limit": (
            "max_iterations=0",
            lambda p: _looped(p, _calling("f"), most=0),
        ),
        "exhausted_text": (
            "the tool of each of two rounds asks for another",
            lambda p: _looped(p, _calling("f"), _calling("f")),
        ),
        "follow_up": (
            "two calls: the result of the first asks for another round",
            lambda p: _looped(p, _calling("f", "g"), tools=_TWO),
        ),
        "next_input": (
            "a result asks for another round",
            lambda p: _looped(p, _calling("f")),
        ),
        "empty_prompt": (
            "the next prompt is overridden by one without text",
            lambda p: _looped(p, _calling("f"), kind=_EmptyPrompt),
        ),
        "tool_failure": (
            "a tool raises",
            lambda p: _looped(p, _calling("f"), tools={"f": ValueError("no")}),
        ),
        "open_parts": (
            "the stream breaks behind its first chunk",
            lambda p: _looped(p, [MessageChunk("so"), ValueError("broken")]),
        ),
        "raising_callback": (
            "on_chunk raises",
            lambda p: _looped(p, on_chunk=_raises),
        ),
    }
)


def _noting(log: list[str], who: str, *names: str) -> AgentCallbacks:
    def noting(name: str) -> Any:  # noqa: ANN401  # a callback of any type
        def note(*_: object) -> None:
            log.append(f"{who} {name}")

        return note

    return AgentCallbacks(**{name: noting(name) for name in names})


def _manager(profile: CallbacksProfile, *, clients: bool = True) -> SessionManager:
    """Return a manager over one call of a tool; with clients wherever there are any."""
    if clients and profile.clients == "none":  # the point needs one
        profile = choosing(profile, "clients", "several")
    agent = CallbackAgent(_Model(_calling("f")), (_Tool("f", "1"),))
    return SessionManager(agent, profile=profile)


async def _two_clients(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile, clients=False)
    for who in ("first", "second"):
        manager.set_client(Client(_noting(log, who, "on_tool_call_start")))
    await manager.agent.run("s", "hi")
    return log


async def _greedy_listener(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile)
    manager.set_callbacks(_noting(log, "listener", "on_session_end"))
    await manager.agent.run("s", "hi")
    return log


async def _shared(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile)
    names = ("on_agent_step", "on_tool_execution_end")
    manager.set_client(Client(_noting(log, "client", *names)))
    manager.set_callbacks(_noting(log, "listener", *names))
    await manager.agent.run("s", "hi")
    return log


async def _session_callbacks(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile)
    manager.set_client(Client(_noting(log, "client", "on_session_start")))
    await manager.agent.run("s", "hi")
    return log


async def _set_later(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager, client = _manager(profile), Client()
    manager.set_client(client)
    client.set_agent_callbacks(_noting(log, "client", "on_tool_call_start"))
    await manager.agent.run("s", "hi")
    return log


def _nothing(_: str) -> dict[str, Any]:
    return {}


async def _empty_state(profile: CallbacksProfile) -> list[str]:
    manager = _manager(profile)
    await manager.agent.run("s", "first")
    manager.set_client(Client(AgentCallbacks(load_agent_storage=_nothing)))
    result = await manager.agent.run("s", "second")
    return [each.content for each in result.state.messages]


async def _stored(profile: CallbacksProfile) -> list[str]:
    log: list[str] = []
    manager = _manager(profile)

    async def look(state: SessionState) -> None:
        found = await manager.store.load(state.session_id)
        log.append("not stored" if found is None else "stored")

    manager.set_client(Client(AgentCallbacks(on_state_storage=look)))
    await manager.agent.run("s", "hi")
    return log


async def _raising(profile: CallbacksProfile) -> list[str]:
    manager = _manager(profile)
    manager.set_client(Client(AgentCallbacks(on_session_start=_raises)))
    # Where clients are not told of it the slot is, so that the point is there.
    manager.set_client(Client(AgentCallbacks(on_tool_call_start=_raises)))
    return [(await manager.agent.run("s", "hi")).status]


async def _second_manager(profile: CallbacksProfile) -> list[Any]:
    first = _manager(profile)
    SessionManager(first.agent, profile=first.profile)
    return ["the second one has the agent"]


CALLBACK_WORLDS: Final[Mapping[str, World[CallbacksProfile]]] = MappingProxyType(
    {
        "clients": ("two clients are connected", _two_clients),
        "listener_hears": ("the listener asks for on_session_end", _greedy_listener),
        "shared": ("client and listener ask for steps and tools", _shared),
        "session_callbacks": ("a client asks for on_session_start", _session_callbacks),
        "client_callbacks": ("a client gets its callbacks later", _set_later),
        "loaded_state": ("a client loads an empty state of a session", _empty_state),
        "saving": ("a client looks into the store on_state_storage", _stored),
        "failures": ("a callback raises", _raising),
        "second_manager": ("a second manager for one agent", _second_manager),
    }
)
