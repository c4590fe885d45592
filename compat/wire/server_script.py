"""What the n-th call of a session is answered with: the scripted model, once a session.

It is the very model that runs in process, so that cutting, joining, failing and the end
of the script mean the same on both sides of the wire.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from compat.wire.errors import WireError
from compat.wire.server_errors import ENDED, ApiError, failure
from refengine.messages import Message, MessageChunk, join_chunks
from refengine.testing.notation import parse_message, pieces_of
from refengine.testing.scenario import ModelChunks, ModelFailure, Scenario, ScriptEntry
from refengine.testing.scripted import ScriptedModel, UnexpectedCallError

CUT: Final = re.compile(r"connection\b", re.IGNORECASE)
"""A failure whose name starts so is no answer at all: the connection is closed."""
IN_STREAM: Final = re.compile(r"in stream\b", re.IGNORECASE)
"""A stream's failure whose name starts so is told by the server, in an event."""


class NotAnAnswerError(WireError, ValueError):
    """A script has a message that no model answers with."""

    def __init__(self, source: str, place: str, text: str) -> None:
        self.text = text
        super().__init__(
            f"{source} cannot be served: {place} = {text!r}:"
            " a model answers as 'assistant:…'"
        )


class ConnectionCut(Exception):
    """The scenario has the connection end without an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The n-th answer of a session, whole and in the pieces a stream brings it in.

    ``cut``: the stream breaks off after the last piece. ``told``: an error is its last
    event instead.
    """

    call: int
    message: Message
    chunks: tuple[MessageChunk, ...]
    cut: bool = False
    told: ApiError | None = None


class Script:
    """The answers of one session."""

    def __init__(self, scenario: Scenario) -> None:
        self._model = ScriptedModel(scenario.model_script, at_end=scenario.script_end)

    @property
    def calls(self) -> int:
        """How many calls were answered, failures included."""
        return self._model.calls

    @property
    def unplayed(self) -> tuple[ScriptEntry, ...]:
        """The answers that no call has asked for yet."""
        return self._model.unplayed

    def answer(self, *, stream: bool) -> Answer:
        """Return the next answer; raises ApiError or ConnectionCut."""
        self._model.begin_call({})
        try:
            given, fails = self._model.next_answer()
        except UnexpectedCallError as error:
            raise ApiError(str(error), kind=ENDED) from error
        if isinstance(given, Message):
            if fails is not None:
                raise _failed(fails)
            return Answer(self.calls, given, tuple(pieces_of(given)))
        if fails is not None and not stream:
            raise _failed(fails)
        whole = Answer(self.calls, join_chunks(given), tuple(given))
        if fails is None:
            return whole
        if IN_STREAM.match(fails):
            return replace(whole, told=failure(fails))
        return replace(whole, cut=True)


def _failed(name: str) -> ApiError | ConnectionCut:
    return ConnectionCut() if CUT.match(name) else failure(name)


def check_script(script: Sequence[ScriptEntry], source: str) -> None:
    """Refuse what would only be found when the call comes; raises NotAnAnswerError."""
    for at, entry in enumerate(script):
        for place, text in _texts(entry):
            if parse_message(text).role != "assistant":
                raise NotAnAnswerError(source, f"model_script[{at}]{place}", text)


def _texts(entry: ScriptEntry) -> list[tuple[str, str]]:
    if isinstance(entry, ModelFailure):
        return []
    if isinstance(entry, ModelChunks):
        return [(f".chunks[{at}]", text) for at, text in enumerate(entry.chunks)]
    return [("", entry)]
