"""Engines that are wrong about asking a model again (ERR, STR)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import configured
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.errors import RetriesExhaustedError
from refengine.messages import Message, join_chunks
from refengine.model import ModelRequest
from refengine.model_calls import ModelRetry, every_error
from refengine.stream import StreamReader


def with_policy(change: Callable[[ModelRetry], ModelRetry]) -> Door:
    """Give agents another policy than the one that they are configured with."""

    def changed(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
        return (
            config
            if config.retry is None
            else replace(config, retry=change(config.retry))
        )

    return configured(changed)


def _one_less(retry: ModelRetry) -> ModelRetry:
    return replace(retry, max_retries=max(retry.max_retries - 1, 0))


def _whatever_it_was(retry: ModelRetry) -> ModelRetry:
    return replace(retry, retry_on=every_error)


def _at_once(retry: ModelRetry) -> ModelRetry:
    def no_seconds(_: int) -> float:
        return 0.0

    return replace(retry, backoff=no_seconds)


def _with_the_first(right: Right) -> Right:
    """End a run with the error of its first attempt."""
    first: list[Exception] = []

    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        if attempt == 1:
            first[:] = [leaving]
        verdict = right(self, attempt, error, leaving)
        if not isinstance(verdict.leaving, RetriesExhaustedError):
            return verdict
        return replace(verdict, leaving=RetriesExhaustedError(attempt, first[0]))

    return after


def _as_it_came(right: Right) -> Right:
    """Give the error of each stream as if it were the last."""

    def after(self: Given, attempt: int, error: Exception, leaving: Given) -> Given:
        return replace(right(self, attempt, error, leaving), reader_error=error)

    return after


def _hooks_each_time(right: Right) -> Right:
    """Begin again with the hooks before the model."""

    async def ask_model(self: Given, ctx: Context) -> Given:
        if self.attempts is not None:
            ctx = await self.run_phases(self.before, ctx)
        return await right(self, ctx)

    return ask_model


def asking_again(
    how: Callable[[Given, Given], Given],
) -> Callable[[], Sequence[Patch]]:
    """Make a request that was made before by what is given the call and the model."""

    def patches() -> Sequence[Patch]:
        seen: list[ModelRequest] = []

        def replaced(right: Right) -> Right:
            def compile_(
                self: Given, layers: Given, innermost: Given, first: int = 0
            ) -> Given:
                call = right(self, layers, innermost, first)
                if self.result_type not in {Message, StreamReader}:
                    return call
                further = how(call, innermost)

                async def outer(ctx: Context, request: ModelRequest) -> Given:
                    again = any(each is request for each in seen)
                    seen.append(request)
                    return await (further if again else call)(ctx, request)

                return outer

            return compile_

        return (patch("onion.compile", replaced),)

    return patches


def _just_the_model(_: Given, model: Given) -> Given:
    """Ask again past the wrappers."""
    return model


def _halves_kept() -> Sequence[Patch]:
    """Keep what came of an answer that broke off, too."""
    opened: dict[Given, Given] = {}

    def replaced(right: Right) -> Right:
        async def open_answer(self: Given, ctx: Context) -> Given:
            before = opened.pop(self, None)
            if self.attempts is not None and before is not None:
                self.history = self.history.appended(join_chunks(before.chunks))
            event = await right(self, ctx)
            opened[self] = self.live
            return event

        return open_answer

    return (patch("loop.open_answer", replaced),)


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "one-attempt-too-few",
        "A model that failed is asked once less than the policy says.",
        "ERR-026",
        with_policy(_one_less),
    ),
    wrong(
        "every-error-retried",
        "A model is asked again whatever its error was.",
        "ERR-026",
        with_policy(_whatever_it_was),
    ),
    broken(
        "first-error-ends-attempts",
        "A run whose attempts all failed ends with the error of the first.",
        "ERR-027",
        patch("retry.after", _with_the_first),
    ),
    broken(
        "hooks-once-an-attempt",
        "The hooks before the model run again for each attempt.",
        "ERR-028",
        patch("loop.ask_model", _hooks_each_time),
    ),
    wrong(
        "retried-inside-the-onion",
        "Wrappers around the model see the first attempt only.",
        "ERR-029",
        PatchedDoor("retried-inside-the-onion", asking_again(_just_the_model)),
    ),
    wrong(
        "retried-without-waiting",
        "The backoff is not asked how long to wait.",
        "ERR-030",
        with_policy(_at_once),
    ),
    broken(
        "retries-not-told-apart",
        "The error of a stream that is made again reads like the last one.",
        "STR-022",
        patch("retry.after", _as_it_came),
    ),
    wrong(
        "broken-answers-kept",
        "What came of an answer that broke off is kept beside the whole one.",
        "STR-023",
        PatchedDoor("broken-answers-kept", _halves_kept),
    ),
)
