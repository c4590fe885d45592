"""Asking the model again, and asking another one (contract §2; seed 000 §3.4).

Hooks of a pipeline stand outside of it and run once an iteration, the wrappers around
the model inside of it, once an attempt. What follows after a failure depends on the
policy, the number of the attempt and the error, and on nothing else: a run that is
resumed at its third attempt goes on as it would have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from refengine.awaiting import is_async
from refengine.errors import (
    InterruptInStreamError,
    InterruptOutsideHookError,
    NotKeepableError,
    RetriesExhaustedError,
    RetryFunctionError,
    RetryPolicyError,
    WillRetryError,
)
from refengine.interrupts import Interrupt

if TYPE_CHECKING:
    from refengine.model import ChatModel

RetryOn: TypeAlias = Callable[[Exception], bool]
Backoff: TypeAlias = Callable[[int], float]

_AMPLE: Final = 1000
"""From here on a backoff that doubles has long met any cap, and a float its end."""


def every_error(error: Exception) -> bool:  # noqa: ARG001  # as retry_on is called
    """Return True: whatever the model or a wrapper raised, the model is asked again."""
    return True


def exponential(first: float = 0.1, cap: float = 10.0) -> Backoff:
    """Return a backoff of ``first`` seconds, twice as long each time, at most ``cap``.

    Nothing in it is drawn by lot, so that a run can be played again; whoever sends many
    runs at once to one server gives a function that does. Raises RetryPolicyError.
    """
    for name, given in (("first", first), ("cap", cap)):
        if not _is_seconds(given):
            raise RetryPolicyError(f"exponential({name})", given, _SECONDS)

    def seconds(retry: int) -> float:
        doubled: float = first * 2.0 ** min(retry - 1, _AMPLE)
        return min(doubled, cap)

    return seconds


@dataclass(frozen=True, slots=True)
class ModelRetry:
    """How often a model is asked again, and which models are asked after it.

    Each model, that of the agent and then each of ``fall_back``, has one attempt and
    ``max_retries`` more. ``retry_on`` is given what the model or a wrapper raised; an
    error it returns False for ends the run at once, as without a policy, and so does an
    interrupt or a value that comes where it cannot be kept. Before the nth
    retry of a model ``backoff(n)`` seconds are waited, none before another model is
    asked. Raises RetryPolicyError.
    """

    max_retries: int = 2
    retry_on: RetryOn = every_error
    backoff: Backoff = field(default_factory=exponential)
    fall_back: tuple[ChatModel, ...] = ()

    def __post_init__(self) -> None:
        if type(self.max_retries) is not int or self.max_retries < 0:
            wanted = "a whole number of at least 0"
            raise RetryPolicyError("max_retries", self.max_retries, wanted)
        _check_function("retry_on", self.retry_on, "an error", "True or False")
        _check_function("backoff", self.backoff, "the number of the retry", "seconds")
        _check_models(self.fall_back)

    @property
    def attempts(self) -> int:
        """How often the model is asked in one iteration at most."""
        return (1 + self.max_retries) * (1 + len(self.fall_back))

    def model_at(self, attempt: int) -> int:
        """Return who is asked at an attempt, counted from 1: 0 is the agent's model."""
        return (attempt - 1) // (1 + self.max_retries)

    def after(self, attempt: int, error: Exception, leaving: Exception) -> Verdict:
        """Return how it goes on after an attempt, counted from 1, that failed.

        ``error`` is what was raised, ``leaving`` what the run would end with.
        """
        try:
            if not self._is_retried(error):
                return Verdict(None, error, leaving)
            if attempt >= self.attempts:
                last = RetriesExhaustedError(attempt, leaving)
                return Verdict(None, last, last)
            told = WillRetryError(attempt, error)
            return Verdict(self._seconds(attempt, error), told, leaving)
        except RetryFunctionError as failed:
            return Verdict(None, failed, failed)

    def _is_retried(self, error: Exception) -> bool:
        if isinstance(error, (InterruptInStreamError, NotKeepableError)):
            return False  # no failure of an attempt: the next one would end the same
        answer = _called("retry_on", self.retry_on, error, error)
        if answer is True or answer is False:
            return answer
        raise RetryFunctionError("retry_on", answer, "True or False", error)

    def _seconds(self, attempt: int, error: Exception) -> float:
        """Return how long to wait before the next attempt."""
        number = (attempt - 1) % (1 + self.max_retries) + 1
        if number > self.max_retries:  # another model is next
            return 0.0
        seconds = _called("backoff", self.backoff, number, error)
        if not _is_seconds(seconds):
            raise RetryFunctionError("backoff", seconds, _SECONDS, error)
        return float(seconds)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How it goes on after a failed attempt.

    ``wait`` is in seconds, None if the model is not asked again. ``told`` is what the
    reader of a stream that broke is told, ``leaving`` what the run ends with if it
    ends here.
    """

    wait: float | None
    told: Exception
    leaving: Exception


_SECONDS: Final = "a finite number of seconds, 0 or more"


def _is_seconds(value: object) -> bool:
    if type(value) is not int and type(value) is not float:  # a bool is none
        return False
    return 0 <= value < math.inf


def _called(
    name: str,
    function: Callable[[Any], object],
    given: object,
    error: Exception,
) -> Any:  # noqa: ANN401  # whatever it gave, which is looked at next
    try:
        return function(given)
    except Exception as failed:
        raise RetryFunctionError(name, failed, "an answer", error) from failed
    except Interrupt as stop:
        outside = InterruptOutsideHookError(f"{name} of ModelRetry")
        raise RetryFunctionError(name, outside, "an answer", error) from stop


def _check_function(name: str, given: object, of: str, gives: str) -> None:
    if not callable(given) or is_async(given):
        wanted = f"a plain function of {of} that returns {gives}"
        raise RetryPolicyError(name, given, wanted)


def _check_models(given: object) -> None:
    if not isinstance(given, tuple):
        raise RetryPolicyError("fall_back", given, "a tuple of models")
    for at, model in enumerate(cast("tuple[object, ...]", given)):
        if not (hasattr(model, "invoke") or hasattr(model, "stream")):
            wanted = "a model with invoke, stream or both"
            raise RetryPolicyError(f"fall_back[{at}]", model, wanted)
