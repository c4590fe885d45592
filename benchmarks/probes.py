"""What each hook takes itself: a probe around it, and one around what it calls.

A wrapper's own time is that of its call without that of its ``next``. A probe costs
time too, so the same probe around a hook that does nothing is measured beside, and only
what is more than that counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from time import perf_counter
from typing import Any, Final, Literal, TypeAlias

from benchmarks.subject import Extensions
from refengine.awaiting import is_async
from refengine.hooks import LOW_LEVEL, ONION_HOOKS, AnyHook, hooks_of
from refengine.middleware import AgentMiddleware
from refengine.testing.watching import Watched
from refengine.tools import ToolMiddleware

Call: TypeAlias = Callable[..., Any]
Like: TypeAlias = Literal["pipeline", "onion", "plain"]
"""An async hook that is awaited, one that calls what it wraps, a plain function."""
LIKES: Final[tuple[Like, ...]] = ("pipeline", "onion", "plain")
CALLBACKS: Final = ("before_chat_model", "after_chat_model")
_NEXT: Final = 2
"""The place of ``next`` among what a wrapper is given."""


@dataclass(slots=True)
class Clock:
    """The time of one hook: its own, in seconds, and how often it was called.

    ``like`` is of what kind its probe is, for one that does nothing to stand beside.
    """

    like: Like = "pipeline"
    own: float = 0.0
    calls: int = 0
    inside: float = 0.0
    """What the call that is going on spent in what it called."""


@dataclass(frozen=True, slots=True)
class Probes:
    """The clocks of all hooks, by the extension's name and the hook's."""

    clocks: dict[tuple[str, str], Clock] = field(
        default_factory=lambda: defaultdict[tuple[str, str], Clock](Clock)
    )

    def on(self, found: Extensions) -> Extensions:
        """Return the extensions with a probe around every hook."""
        names = iter(found.names)
        structs = tuple(self._struct(each, next(names)) for each in found.structs)
        spelt: set[type] = set()
        handlers = tuple(
            self._handler(each, next(names), spelt) for each in found.handlers
        )
        return replace(found, structs=structs, handlers=handlers)

    def reset(self) -> None:
        """Set all clocks to zero; hooks that were entered stay known."""
        for clock in self.clocks.values():
            clock.own, clock.calls = 0.0, 0

    def _handler(self, handler: object, where: str, spelt: set[type]) -> object:
        name, hooks = hooks_of(handler, spelt)
        probed = {
            hook: self._factory(method, self.clocks[where, hook])
            if hook == LOW_LEVEL
            else self._hook(method, self.clocks[where, hook], hook in ONION_HOOKS)
            for hook, method in hooks.items()
        }
        return Watched(name, probed, getattr(handler, "legacy_hooks", None))

    def _struct(self, struct: AgentMiddleware, where: str) -> AgentMiddleware:
        changes: dict[str, Any] = {
            field_: self._hook(hook, self.clocks[where, field_], wraps=False)
            for field_ in CALLBACKS
            if (hook := getattr(struct, field_)) is not None
        }
        wraps = {
            kind: self._factory(made, self.clocks[where, f"wrap_tool_call.{kind}"])
            for kind in ("invokable", "streamable")
            if (made := getattr(struct.wrap_tool_call, kind)) is not None
        }
        return replace(struct, wrap_tool_call=ToolMiddleware(**wraps), **changes)

    def _hook(self, hook: AnyHook, clock: Clock, wraps: bool) -> AnyHook:
        if not is_async(hook):
            clock.like = "plain"
            return _plain(hook, clock)
        clock.like = "onion" if wraps else "pipeline"

        async def entered(*given: Any) -> Any:  # noqa: ANN401  # any hook's
            if wraps:
                given = (*given[:_NEXT], _timed(given[_NEXT], clock))
            start, clock.inside = perf_counter(), 0.0
            try:
                return await hook(*given)
            finally:
                clock.own += perf_counter() - start - clock.inside
                clock.calls += 1

        return entered

    def _factory(self, factory: Call, clock: Clock) -> Call:
        """Probe what a factory makes: its last but one, or only, argument is inner.

        What it makes is awaited always, so it may be a plain function that hands on
        what another one gives to await.
        """
        clock.like = "onion"

        def make(*given: Any) -> Any:  # noqa: ANN401  # a factory of either interface
            at = 0 if len(given) == 1 else 1
            inner = given[at]
            timed = _timed(inner, clock)
            made = factory(*given[:at], timed, *given[at + 1 :])
            if made is timed:  # it adds no layer
                return inner
            return _layer(made, clock)

        return make


def _layer(made: Call, clock: Clock) -> Call:
    async def entered(*given: Any) -> Any:  # noqa: ANN401  # any endpoint's
        start, clock.inside = perf_counter(), 0.0
        try:
            return await made(*given)
        finally:
            clock.own += perf_counter() - start - clock.inside
            clock.calls += 1

    return entered


def _plain(hook: AnyHook, clock: Clock) -> AnyHook:
    def enter(*given: Any) -> Any:  # noqa: ANN401  # any hook's
        start = perf_counter()
        try:
            got = hook(*given)
        finally:
            clock.own += perf_counter() - start
            clock.calls += 1
        return _awaited(got, clock) if isawaitable(got) else got

    return enter


async def _awaited(got: Awaitable[object], clock: Clock) -> object:
    """Await what a plain function gave to await: that is its time, too."""
    start = perf_counter()
    try:
        return await got
    finally:
        clock.own += perf_counter() - start


def _timed(inner: Call, clock: Clock) -> Call:
    async def call(*given: Any) -> Any:  # noqa: ANN401  # any endpoint's
        start = perf_counter()
        try:
            return await inner(*given)
        finally:
            clock.inside += perf_counter() - start

    return call
