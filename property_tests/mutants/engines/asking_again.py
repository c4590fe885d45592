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
        "retry-goes-on-from-wrapped-request",
        "Wrappers of a second attempt get the request as those of the first left it.",
        "ERR-026",
        PatchedDoor("retry-goes-on-from-wrapped-request", _as_wrappers_made_it),
    ),
    broken(
        "streamed-retry-counted-as-iteration",
        "In a streaming run each attempt that did not open counts as an iteration.",
        "RUN-016",
        _counted("loop.open_answer"),
    ),
    wrong(
        "retried-stream-continues",
        "A second attempt's stream begins where the one that broke had come to.",
        "STR-005",
        PatchedDoor("retried-stream-continues", _from_where_it_broke),
    ),
    wrong(
        "after-hooks-dropped-by-retry",
        "After-model hooks do not run in an iteration whose model was asked again.",
        "ERR-028",
        PatchedDoor("after-hooks-dropped-by-retry", _hooks_after_dropped),
    ),
)
