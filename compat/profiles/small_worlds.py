"""Small worlds of two dialects, by which a posture of their profiles is shown."""

from __future__ import annotations

import json
import warnings
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from refengine.context import Context
from refengine.errors import RefengineError
from refengine.messages import Message, MessageChunk, ToolCallChunk
from refengine.postures import AnyProfile, choosing, differences
from refengine.stream import StreamReader
from refengine.testing.clock import run
from refengine.tools import Options, ToolInfo

P = TypeVar("P", bound=AnyProfile)
World: TypeAlias = "tuple[str, Callable[[P], Coroutine[Any, Any, Any]]]"
"""What happens in it, in a few words, and what plays it under a profile."""


@dataclass(frozen=True, slots=True)
class WorldPostureDifference:
    """One posture in which two profiles differ, a world, and what runs of it show."""

    posture: str
    left: str
    right: str
    world: str
    shown: tuple[str, str]


def shown_differences(
    a: P, b: P, worlds: Mapping[str, World[P]]
) -> Iterator[WorldPostureDifference]:
    """Yield the postures in which two profiles differ, each with what shows it.

    Only the one posture is changed between the two runs, so nothing else can be what
    they show.
    """
    for posture, left, right in differences(a, b):
        told, play = worlds[posture]
        shown = _text(play, a), _text(play, choosing(a, posture, right))
        yield WorldPostureDifference(posture, left, right, told, shown)


def _text(play: Callable[[P], Coroutine[Any, Any, Any]], profile: P) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a warning says, the result shows
            found = run(play(profile))
    except (RefengineError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return json.dumps(found, ensure_ascii=False)


class SmallModel:
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


class SmallTool:
    """Gives a number and asks for another round, or raises."""

    def __init__(self, name: str, given: object) -> None:
        self.info, self._given = ToolInfo(name), given

    async def invoke(self, *_: object) -> object:
        """Return what it gives, or raise it."""
        if isinstance(self._given, Exception):
            raise self._given
        return self._given


def calling(*names: str) -> list[MessageChunk | Exception]:
    """Return an answer that says something and calls these tools."""
    pieces = [ToolCallChunk(None, f"c-{each}", each, "{}") for each in names]
    return [MessageChunk("so", tuple(pieces))]


def raises(*_: object) -> None:
    """Raise, as a callback that fails."""
    raise ValueError("a callback fails")
