"""The door to a stream loop: what one call of it is given, and what comes back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from compat.dialects.stream_loop import Limits, LoopProfile, ResponseCallbacks
from compat.engines.dialect_loading import DialectEngine
from compat.engines.stream_loop.scenario import Form
from refengine.messages import Message
from refengine.model import StreamableModel
from refengine.tools import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCall:
    """One call: what is said, what it is said with, and to whom it is told.

    ``form`` is what is to play it. ``next_prompt`` is what the model is asked next in
    place of what the processor would, if it is not None.
    """

    input: str
    max_iterations: float | None
    history: Sequence[Message]
    model: StreamableModel
    tools: Sequence[Tool]
    callbacks: ResponseCallbacks
    limits: Limits
    instruction: str
    next_prompt: str | None
    form: Form
    new_id: Callable[[], str]
    logger: logging.Logger


class StreamLoopEngine(DialectEngine, Protocol):
    """A processor of streams with tools, as the harness drives it."""

    @property
    def profile(self) -> LoopProfile:
        """The profile that says what it does where there is a choice."""
        ...

    async def process(self, call: LoopCall) -> Any:  # noqa: ANN401  # its result's attributes are read
        """Process a call; a text is a result, or what has a LoopResult's attributes."""
        ...
