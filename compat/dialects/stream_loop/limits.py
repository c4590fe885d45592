"""Limits of one call of ``process_input``: the record's fourth phase asks for them.

Each is an outcome: a round whose time is up is a status, and whatever concerns one
call is that call's result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from compat.dialects.stream_loop.errors import (
    ArgumentsTooLongError,
    IterationLimitError,
    LimitValueError,
    ResultTooLongError,
    TooManyCallsError,
)
from compat.dialects.stream_loop.profile import LoopProfile
from compat.dialects.stream_loop.results import ToolResult
from refengine.messages import ToolCall

DEFAULT_ROUNDS: Final = 3


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a round may take; None means no limit. Lengths are in characters."""

    round_seconds: float | None = None
    """from asking the model until the last result is told, callbacks among it"""
    tool_seconds: float | None = None
    calls_per_round: int | None = None
    argument_chars: int | None = None
    result_chars: int | None = None

    def __post_init__(self) -> None:
        for limit in ("round_seconds", "tool_seconds"):
            _check(limit, getattr(self, limit), (int, float), "seconds above 0")
        for limit in ("calls_per_round", "argument_chars", "result_chars"):
            _check(limit, getattr(self, limit), (int,), "a whole number from 1 on")

    def check_call(self, call: ToolCall, number: int) -> None:
        """Raise what keeps a call from being executed, the ``number``-th from 0."""
        most = self.calls_per_round
        if most is not None and number >= most:
            raise TooManyCallsError(call.name, most)
        length, most = len(call.arguments), self.argument_chars
        if most is not None and length > most:
            raise ArgumentsTooLongError(call.name, length, most)

    def check_result(self, result: ToolResult) -> None:
        """Raise ResultTooLongError for a result that is not fed back."""
        most = self.result_chars
        if most is not None and (length := len(result.text)) > most:
            raise ResultTooLongError(result.name, length, most)


def _check(
    limit: str, given: object, kinds: tuple[type[int | float], ...], wanted: str
) -> None:
    if given is None:
        return
    if type(given) not in kinds or not 0 < float(str(given)) < math.inf:
        raise LimitValueError(limit, given, wanted)


NO_LIMITS: Final = Limits()


def rounds_of(given: object, profile: LoopProfile) -> float:
    """Return how many rounds there are at most; a negative number allows none.

    The sketch has ``maxIterations || 3``, and its numbers may have fractions. Raises
    IterationLimitError.
    """
    if profile.iteration_limit == "falsy_is_three":
        if not isinstance(given, (int, float)) and given is not None:
            raise IterationLimitError(given)  # the sketch has a type for it
        return DEFAULT_ROUNDS if not given or math.isnan(given) else given
    if given is None:
        return DEFAULT_ROUNDS
    if type(given) is not int or given < 1:
        raise IterationLimitError(given)
    return given
