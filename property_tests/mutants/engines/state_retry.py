"""Engines that are wrong about asking a model again (ERR, STR)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine.context import Context
from refengine.errors import RetriesExhaustedError
from refengine.loop import Loop
from refengine.messages import Message, join_chunks
from refengine.model_calls import (
    Attempt,
    Attempts,
    ModelCall,
    ModelOnion,
    ModelRetry,
    Verdict,
)


def _one_less(_: object) -> property:
    def attempts(self: ModelRetry) -> int:
        return self.max_retries

    return property(attempts)


def _whatever_it_was(_: object) -> Callable[[ModelRetry, Exception], bool]:
    return lambda _, __: True


def _with_the_first(right: Callable[..., Verdict]) -> Callable[..., Verdict]:
    """End a run with the error of its first attempt."""
    first: list[Exception] = []

    def after(
        self: ModelRetry, attempt: int, error: Exception, leaving: Exception
    ) -> Verdict:
        if attempt == 1:
            first[:] = [leaving]
        verdict = right(self, attempt, error, leaving)
        if not isinstance(verdict.leaving, RetriesExhaustedError):
            return verdict
        return replace(verdict, leaving=RetriesExhaustedError(attempt, first[0]))

    return after


def _hooks_each_time(right: Callable[..., Any]) -> Callable[..., Any]:
    """Begin again with the hooks before the model."""

    async def asked_again(self: Loop, ctx: Context) -> Message:
        ctx = await self.run_phases(self.machine.before, ctx)
        answer: Message = await right(self, ctx)
        return answer

    return asked_again


def _past_wrappers(right: Callable[..., Attempt]) -> Callable[..., Attempt]:
    """Ask again past the wrappers, just the model."""

    def new_attempt(self: Attempts) -> Attempt:
        made = right(self)
        if self.number > 1:
            request, place = self._request, self._place
            made.call = ModelCall(_bare(self._onion), request, *place)
        return made

    return new_attempt


def _bare(onion: ModelOnion) -> ModelOnion:
    bare = copy.copy(onion)
    bare._names, bare._layers, bare._calls = [], [], {}  # noqa: SLF001  # the fault is inside
    return bare


def _at_once(_: object) -> Callable[[ModelRetry, int, Exception], float]:
    return lambda _, __, ___: 0.0


def _as_it_came(right: Callable[..., Exception]) -> Callable[..., Exception]:
    """Tell the error of each stream as if it were the last."""

    def told(self: Attempt, error: Exception) -> Exception:
        right(self, error)
        return error

    return told


def _halves_kept(right: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what came of an answer that broke off, too."""

    async def drained(self: Loop) -> Message | None:
        live = self.live
        answer: Message | None = await right(self)
        if answer is None and live is not None:
            self.history = self.history.appended(join_chunks(live.chunks))
        return answer

    return drained


def _broken(id_: str, about: str, clause: str, patch: Patch) -> Mutant:
    return Mutant(id=id_, about=about, violates=(clause,), wrong=patched(id_, patch))


MUTANTS: Final[tuple[Mutant, ...]] = (
    _broken(
        "one-attempt-too-few",
        "A model that failed is asked once less than the policy says.",
        "ERR-026",
        Patch(ModelRetry, "attempts", _one_less),
    ),
    _broken(
        "every-error-retried",
        "A model is asked again whatever its error was.",
        "ERR-026",
        Patch(ModelRetry, "_is_retried", _whatever_it_was),
    ),
    _broken(
        "first-error-ends-attempts",
        "A run whose attempts all failed ends with the error of the first.",
        "ERR-027",
        Patch(ModelRetry, "after", _with_the_first),
    ),
    _broken(
        "hooks-once-an-attempt",
        "The hooks before the model run again for each attempt.",
        "ERR-028",
        Patch(Loop, "_asked_again", _hooks_each_time),
    ),
    _broken(
        "retried-inside-the-onion",
        "Wrappers around the model see the first attempt only.",
        "ERR-029",
        Patch(Attempts, "_new_attempt", _past_wrappers),
    ),
    _broken(
        "retried-without-waiting",
        "The backoff is not asked how long to wait.",
        "ERR-030",
        Patch(ModelRetry, "_seconds", _at_once),
    ),
    _broken(
        "retries-not-told-apart",
        "The error of a stream that is made again reads like the last one.",
        "STR-022",
        Patch(Attempt, "told", _as_it_came),
    ),
    _broken(
        "broken-answers-kept",
        "What came of an answer that broke off is kept beside the whole one.",
        "STR-023",
        Patch(Loop, "_drained", _halves_kept),
    ),
)
