"""Scripted models and tools for sessions, and clients that note what they are told."""

from typing import Any

from compat.dialects.callbacks import (
    CALLBACK_TYPES,
    AgentCallbacks,
    CallbackAgent,
    SessionManager,
)
from refengine.messages import MessageChunk, ToolCallChunk
from refengine.stream import StreamReader
from tests.loop_support import Gives
from tests.support import each


class Answers:
    """Answers with the next entry: a text in pieces at its spaces, or calls by name.

    After the last entry it says ``end``; an exception is raised.
    """

    def __init__(self, *script: object) -> None:
        self.script = list(script)
        self.requests: list[tuple[Any, ...]] = []

    async def stream(self, ctx, messages, tools, options) -> StreamReader[MessageChunk]:
        self.requests.append(tuple(messages))
        given = self.script.pop(0) if self.script else "end"
        if isinstance(given, BaseException):
            raise given
        return StreamReader(each(chunks_of(given)))


def chunks_of(given: Any) -> list[MessageChunk]:
    if isinstance(given, str):
        return [MessageChunk(text) for text in given.replace(" ", " \0").split("\0")]
    pieces = [
        ToolCallChunk(None, f"c{at}", name, "{}") for at, name in enumerate(given)
    ]
    return [MessageChunk(tool_calls=tuple(pieces))]


def agent_of(*script: object, tools: Any = None) -> CallbackAgent:
    given = (Gives("f"), Gives("g", "other")) if tools is None else tools
    return CallbackAgent(Answers(*script), given)


def manager_of(*script: object, tools: Any = None, **options: Any) -> SessionManager:
    return SessionManager(agent_of(*script, tools=tools), **options)


class Noting:
    """Callbacks of every type that note who was told what; some raise.

    ``gives`` is what loading gives.
    """

    def __init__(self, log: list[Any], name="client", *, raising=(), only=None) -> None:
        self.log, self.name, self.raising = log, name, raising
        self.gives: object = None
        names = CALLBACK_TYPES if only is None else only
        self.callbacks = AgentCallbacks(**{each: self._noting(each) for each in names})

    def _noting(self, type_name: str) -> Any:
        def note(*data: object) -> object:
            self.log.append((self.name, type_name, shown(data)))
            if type_name in self.raising:
                raise ValueError(f"{self.name} {type_name}")
            return self.gives if type_name == "load_agent_storage" else None

        return note


def shown(data: tuple[object, ...]) -> tuple[object, ...]:
    """Return data that can be compared: errors by their text."""
    return tuple(repr(one) if isinstance(one, Exception) else one for one in data)


def names(log: list[Any], receiver: str | None = None) -> list[str]:
    return [name for who, name, _ in log if receiver in {None, who}]


LISTENED = ("on_agent_step", "on_tool_execution_end", "on_error")
"""What an external listener shares with the clients."""
