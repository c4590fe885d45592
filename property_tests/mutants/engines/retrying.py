"""Engines that are wrong about asking a model again, or another one (ERR, STR)."""

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
from refengine.errors import HookError
from refengine.messages import Message, join_chunks
from refengine.model import ModelRequest
from refengine.model_calls import Backoff, ModelRetry, every_error
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


def _waiting(
    change: Callable[[Backoff], Backoff],
) -> Callable[[ModelRetry], ModelRetry]:
    return lambda retry: replace(retry, backoff=change(retry.backoff))


def _as_the_first_time(backoff: Backoff) -> Backoff:
    """Wait before each retry as before the first one asked for."""
    waits: list[float] = []

    def seconds(retry: int) -> float:
        waits.append(backoff(retry))
        return waits[0]

    return seconds


def _own_error(leaving: Exception) -> bool:
    return isinstance(leaving, HookError)


def _wrappers_retried(right: Right) -> Right:
    """Ask again whenever it was a wrapper that raised."""

    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        policy = replace(self, retry_on=every_error) if _own_error(leaving) else self
        return right(policy, attempt, error, leaving)

    return after


def _noting(moved: list[int]) -> Patch:
    """Put down each attempt after which another model is asked."""

    def replaced(right: Right) -> Right:
        def after(
            self: Given, attempt: int, error: Exception, leaving: Exception
        ) -> Given:
            verdict = right(self, attempt, error, leaving)
            if verdict.wait is not None and attempt % (1 + self.max_retries) == 0:
                moved.append(attempt)
            return verdict

        return after

    return patch("retry.after", replaced)


def _only_unopened() -> Sequence[Patch]:
    """Fall back where a call failed, and not where its stream broke."""
    moved: list[int] = []

    def replaced(right: Right) -> Right:
        async def broke(self: Given, error: Exception) -> None:
            call, number = self.call, self.number
            await right(self, error)
            if number in moved:  # decided when the consumer came upon it
                raise call.leaving(error) from error

        return broke

    return _noting(moved), patch("attempts.broke", replaced)


def _models_counted() -> Sequence[Patch]:
    """Count each further model as an iteration."""
    moved: list[int] = []

    def replaced(right: Right) -> Right:
        async def ask(self: Given, ctx: Context) -> Given:
            came = await right(self, ctx)
            if came is None and moved:
                moved.clear()
                self.iterations += 1
            return came

        return ask

    places = ("loop.ask_model", "loop.open_answer")
    return _noting(moved), *(patch(each, replaced) for each in places)


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "retried-inside-the-onion",
        "Wrappers around the model see the first attempt only.",
        "ERR-029",
        PatchedDoor("retried-inside-the-onion", asking_again(_just_the_model)),
    ),
    wrong(
        "broken-answers-kept",
        "What came of an answer that broke off is kept beside the whole one.",
        "STR-023",
        PatchedDoor("broken-answers-kept", _halves_kept),
    ),
    wrong(
        "broken-stream-has-no-stand-in",
        "Another model is asked where a call failed, and not where a stream broke.",
        "ERR-032",
        PatchedDoor("broken-stream-has-no-stand-in", _only_unopened),
    ),
    wrong(
        "later-models-counted-as-iterations",
        "Each further model that is asked counts as an iteration.",
        "RUN-016",
        PatchedDoor("later-models-counted-as-iterations", _models_counted),
    ),
    broken(
        "wrapper-errors-retried",
        "The policy is not asked about what a wrapper around the model raised.",
        "ERR-026",
        patch("retry.after", _wrappers_retried),
    ),
    wrong(
        "backoff-as-the-first-time",
        "The wait before each retry is that of the first one.",
        "ERR-033",
        with_policy(_waiting(_as_the_first_time)),
    ),
)
