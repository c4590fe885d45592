"""A world of the stream loop as data (JSON, versioned): streams, tools, turns.

It says what a model streams, what tools give, what callbacks do when they are told, and
what a user says. A LoopWorld turns it into a model, tools and callbacks.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, JsonValue, NonNegativeFloat, PositiveInt, model_validator

from compat.dialects.stream_loop import Limits, ResponseCallbacks
from refengine.messages import MessageChunk, ToolCallChunk
from refengine.testing.ops import Spec

LOOP_VERSION: Final = 1
CALLBACKS: Final = tuple(each.name for each in fields(ResponseCallbacks))
"""The names of all callbacks of a call."""

Form: TypeAlias = Literal["own", "linear", "loop", "adapted"]
"""What plays: what the door is anyway, one round, the loop, or a loop that was made of
one round."""
Compared: TypeAlias = Literal["", "forms", "adapted", "cuts"]


class LoopPieceSpec(Spec):
    """A piece of a call: the first of an index names it; without one it is whole."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""

    def piece(self) -> ToolCallChunk:
        """Return it as the messages have it."""
        return ToolCallChunk(self.index, self.id, self.name, self.arguments)


class LoopChunkSpec(Spec):
    """A chunk of a stream, after so many seconds; with ``error`` the stream breaks."""

    text: str = ""
    calls: tuple[LoopPieceSpec, ...] = ()
    seconds: NonNegativeFloat = 0
    error: str | None = None

    def chunk(self) -> MessageChunk:
        """Return it as the messages have it."""
        return MessageChunk(self.text, tuple(each.piece() for each in self.calls))


class LoopOutcomeSpec(Spec):
    """What a tool gives after so many seconds.

    ``text`` is a plain text, else it is ``result`` with ``follow_up``; or it raises
    ``error``, or is ``cancelled`` from inside, or gives a number, which is no ``odd``
    result at all.
    """

    text: str | None = None
    result: JsonValue = None
    follow_up: JsonValue = False
    error: str | None = None
    seconds: NonNegativeFloat = 0
    fault: Literal["", "cancelled", "odd"] = ""


class LoopToolSpec(Spec):
    """A tool and its outcomes; the last is that of all further calls."""

    name: str
    outcomes: Annotated[tuple[LoopOutcomeSpec, ...], Field(min_length=1)] = (
        LoopOutcomeSpec(text="ok"),
    )


class LoopHearSpec(Spec):
    """What a callback does when it is told for the nth time, from 1: raise, or wait."""

    raises_on: tuple[PositiveInt, ...] = ()
    seconds: NonNegativeFloat = 0


class LoopLimitsSpec(Spec):
    """Limits of a call, as ``Limits`` has them."""

    round_seconds: float | None = None
    tool_seconds: float | None = None
    calls_per_round: PositiveInt | None = None
    argument_chars: PositiveInt | None = None
    result_chars: PositiveInt | None = None

    def limits(self) -> Limits:
        """Return them as the dialect has them."""
        return Limits(**self.model_dump())


class LoopTurnSpec(Spec):
    """What a user says; with ``continues`` behind what was said before.

    It is cancelled after so many seconds, if any are given.
    """

    input: str
    max_iterations: bool | int | float | Literal["NaN"] | None = None
    continues: bool = False
    cancel_after: NonNegativeFloat | None = None

    @property
    def most(self) -> float | None:
        """What is given for the number of rounds."""
        return math.nan if self.max_iterations == "NaN" else self.max_iterations


class LoopScenario(Spec):
    """Calls of one processor, one after the other.

    ``next_prompt`` stands where a processor's own step makes another prompt.
    ``compares`` plays it all twice, from fresh: as one round and as a loop, as one
    round and as a loop that was made of it, or in other chunks of the same streams.
    """

    version: Literal[1] = LOOP_VERSION
    subject: Literal["stream-loop"] = "stream-loop"
    instruction: str = ""
    script: tuple[tuple[LoopChunkSpec, ...], ...] = ()
    tools: tuple[LoopToolSpec, ...] = ()
    callbacks: dict[str, LoopHearSpec] = Field(default_factory=dict)
    deaf: tuple[str, ...] = ()
    limits: LoopLimitsSpec = LoopLimitsSpec()
    next_prompt: str | None = None
    compares: Compared = ""
    turns: Annotated[tuple[LoopTurnSpec, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _callbacks_are_known(self) -> LoopScenario:
        for each in (*self.callbacks, *self.deaf):
            if each not in CALLBACKS:
                raise ValueError(f"no callback {each!r}: {', '.join(CALLBACKS)}")
        return self

    @model_validator(mode="after")
    def _tools_have_names_of_their_own(self) -> LoopScenario:
        names = [each.name for each in self.tools]
        if len(set(names)) < len(names):
            raise ValueError("two tools have one name")
        return self
