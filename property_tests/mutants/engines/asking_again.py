"""Engines that forget something when they ask a model again, or the next one (ERR)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines.retrying import asking_again
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.errors import (
    HookError,
    ModelError,
    RetriesExhaustedError,
    WillRetryError,
)
from refengine.messages import Message
from refengine.model import ModelRequest
from refengine.stream import StreamReader
from refengine.tools import NO_OPTIONS


def _again_with(
    change: Callable[[ModelRequest], ModelRequest],
) -> Callable[[], Sequence[Patch]]:
    """Make a request that was made before with another one."""

    def how(call: Given, _: Given) -> Given:
        def outer(ctx: Context, request: ModelRequest) -> Given:
            return call(ctx, change(request))

        return outer

    return asking_again(how)


def _no_options(request: ModelRequest) -> ModelRequest:
    return replace(request, options=NO_OPTIONS)


def _no_tools(request: ModelRequest) -> ModelRequest:
    return replace(request, tools=())


def _as_wrappers_made_it() -> Sequence[Patch]:
    """Ask again with what the wrappers had made of the request."""
    made: list[tuple[ModelRequest, ModelRequest]] = []

    def replaced(right: Right) -> Right:
        def compile_(
            self: Given, layers: Given, innermost: Given, first: int = 0
        ) -> Given:
            if self.result_type not in {Message, StreamReader}:
                return right(self, layers, innermost, first)

            async def noting(ctx: Context, request: ModelRequest) -> Given:
                made.append((made.pop()[0], request))
                return await innermost(ctx, request)

            call = right(self, layers, noting, first)

            async def outer(ctx: Context, request: ModelRequest) -> Given:
                before = [each for first, each in made if first is request]
                again = before[-1] if before else request
                made.append((request, again))
                return await call(ctx, again)

            return outer

        return compile_

    return (patch("onion.compile", replaced),)


def _counted(name: str) -> Patch:
    """Count each attempt as an iteration."""

    def replaced(right: Right) -> Right:
        async def ask(self: Given, ctx: Context) -> Given:
            came = await right(self, ctx)
            if came is None:
                self.iterations += 1
            return came

        return ask

    return patch(name, replaced)


def _wrapped_for_policy(right: Right) -> Right:
    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        if isinstance(error, (ModelError, HookError)):
            return right(self, attempt, error, leaving)
        return right(self, attempt, ModelError(error), leaving)

    return after


def _asked_in_vain(right: Right) -> Right:
    """Ask the backoff after the last attempt too."""

    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        verdict = right(self, attempt, error, leaving)
        if verdict.wait is None and attempt >= self.attempts:
            self.backoff(1 + self.max_retries)
        return verdict

    return after


def _used_up(right: Right) -> Right:
    """Count attempts through all that the policy is asked about."""
    before: dict[int, tuple[Given, int]] = {}

    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        _, so_far = before.get(id(self), (self, 0))
        before[id(self)] = self, so_far + 1
        return right(self, max(attempt, so_far + 1), error, leaving)

    return after


def _exhausted_at_once(right: Right) -> Right:
    def after(self: Given, attempt: int, error: Exception, leaving: Exception) -> Given:
        verdict = right(self, attempt, error, leaving)
        if verdict.wait is not None or verdict.leaving is not leaving:
            return verdict
        last = RetriesExhaustedError(attempt, leaving)
        return replace(verdict, reader_error=last, leaving=last)

    return after


def _broken_is_over(_: Right) -> Right:
    """End the run where an open answer breaks."""

    async def broke(self: Given, error: Exception) -> None:
        raise self.call.leaving(error) from error

    return broke


def _opened_once(right: Right) -> Right:
    """End the run where a stream does not open."""

    async def ask(self: Given, call: Given, ctx: Context) -> Given:
        if call == self.call.stream:
            return await call(ctx)
        return await right(self, call, ctx)

    return ask


def _from_where_it_broke() -> Sequence[Patch]:
    """Give the consumer only what the attempts before had not given."""
    had: list[tuple[Given, int]] = []

    def replaced(right: Right) -> Right:
        def reader(self: Given, live: Given) -> StreamReader[Given]:
            skip = max((many for each, many in had if each is self), default=0)
            found = right(self, live)

            async def rest() -> AsyncIterator[Given]:
                at = 0
                async for chunk in found:
                    at += 1
                    had.append((self, at))
                    if at > skip:
                        yield chunk

            return StreamReader(rest())

        return reader

    return (patch("attempts.reader", replaced),)


def _quiet_break(right: Right) -> Right:
    """Let a stream that will be made again end as if it were whole."""

    def reader(self: Given, live: Given) -> StreamReader[Given]:
        found = right(self, live)

        async def quiet() -> AsyncIterator[Given]:
            try:
                async for chunk in found:
                    yield chunk
            except WillRetryError:
                return

        return StreamReader(quiet())

    return reader


def _hooks_after_dropped() -> Sequence[Patch]:
    """Leave out the after-hooks of an iteration whose model was asked again."""
    again: list[tuple[Given, int]] = []

    def noting(right: Right) -> Right:
        async def ask(self: Given, ctx: Context) -> Given:
            came = await right(self, ctx)
            if came is None:
                again.append((self, self.iterations))
            return came

        return ask

    def dropping(right: Right) -> Right:
        async def after_model(self: Given, ctx: Context) -> Given:
            if any(loop is self and at == self.iterations for loop, at in again):
                return ctx
            return await right(self, ctx)

        return after_model

    return patch("loop.ask_model", noting), patch("loop.after_model", dropping)


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "retry-loses-options",
        "A model that is asked again is asked without the options of the run.",
        "ERR-026 WRAP-018",
        PatchedDoor("retry-loses-options", _again_with(_no_options)),
    ),
    wrong(
        "retry-loses-tools",
        "A model that is asked again is told of no tools.",
        "ERR-026",
        PatchedDoor("retry-loses-tools", _again_with(_no_tools)),
    ),
    wrong(
        "retry-goes-on-from-wrapped-request",
        "Wrappers of a second attempt get the request as those of the first left it.",
        "ERR-026",
        PatchedDoor("retry-goes-on-from-wrapped-request", _as_wrappers_made_it),
    ),
    broken(
        "retry-counted-as-iteration",
        "Each further attempt at the model counts as an iteration.",
        "RUN-016",
        _counted("loop.ask_model"),
        _counted("loop.open_answer"),
    ),
    broken(
        "streamed-retry-counted-as-iteration",
        "In a streaming run each attempt that did not open counts as an iteration.",
        "RUN-016",
        _counted("loop.open_answer"),
    ),
    broken(
        "policy-sees-wrapped-error",
        "The policy is asked about the engine's error and not about the model's.",
        "ERR-026",
        patch("retry.after", _wrapped_for_policy),
    ),
    broken(
        "backoff-after-the-last",
        "The backoff is asked after the last attempt.",
        "ERR-030",
        patch("retry.after", _asked_in_vain),
    ),
    broken(
        "attempts-used-up",
        "The attempts of a policy are counted through all iterations and runs.",
        "ERR-026",
        patch("retry.after", _used_up),
    ),
    broken(
        "unretried-error-exhausts",
        "An error that the policy does not retry is told as if attempts were used up.",
        "ERR-027",
        patch("retry.after", _exhausted_at_once),
    ),
    broken(
        "broken-answer-ends-the-run",
        "A model whose open stream broke is not asked again.",
        "ERR-026",
        patch("attempts.broke", _broken_is_over),
    ),
    broken(
        "unopened-answer-ends-the-run",
        "A model whose stream does not open is not asked again.",
        "ERR-026",
        patch("attempts.ask", _opened_once),
    ),
    wrong(
        "retried-stream-continues",
        "A second attempt's stream begins where the one that broke had come to.",
        "STR-005",
        PatchedDoor("retried-stream-continues", _from_where_it_broke),
    ),
    broken(
        "retried-stream-ends-quietly",
        "A stream that broke and is made again looks whole to who reads it.",
        "STR-022 STR-008",
        patch("attempts.reader", _quiet_break),
    ),
    wrong(
        "after-hooks-dropped-by-retry",
        "After-model hooks do not run in an iteration whose model was asked again.",
        "ERR-028",
        PatchedDoor("after-hooks-dropped-by-retry", _hooks_after_dropped),
    ),
)
