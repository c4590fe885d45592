"""What an agent is extended with: collected, checked and named once, at build.

Struct middlewares come before handlers (contract ORD). A position counts through both
lists; errors and ``explain`` use it. A capability object (seed 000 P0.1: one small
interface a concern) becomes a handler here: each of its methods is the pipeline hook it
stands for, and wrapper capabilities have the names of hooks already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from refengine.awaiting import settled
from refengine.chain import LayerName
from refengine.context import Context
from refengine.errors import (
    EqualNamesError,
    SameExtensionTwiceError,
    TooManyExtensionsError,
)
from refengine.hooks import (
    CAPABILITY_HOOKS,
    CAPABILITY_REWRITES,
    LOW_LEVEL,
    AnyHook,
    LegacyNames,
    hooks_of,
    legacy_names,
)
from refengine.messages import Message
from refengine.profile import Profile
from refengine.struct_middleware import AgentMiddleware
from refengine.tool_onion import Factory, Kind, ToolLayer
from refengine.tools import ToolMiddleware, ToolsConfig

if TYPE_CHECKING:
    from refengine.hooks import AgentConfig


MAX_EXTENSIONS: Final = 10_000
"""Middlewares and handlers together; all of them work (contract DEEP)."""


@dataclass(frozen=True, slots=True)
class NamedHandler:
    """A handler with the name it is shown under and its hooks.

    ``legacy`` is None unless it is an adapted one (``legacy_hooks``).
    """

    name: str
    position: int
    hooks: dict[str, AnyHook]
    legacy: LegacyNames | None = None

    def layer(self, hook: str) -> LayerName:
        """Return whose layer it is, in the words of the interface it was written to."""
        return LayerName(self.name, self.position, (self.legacy or {}).get(hook, hook))


@dataclass(frozen=True, slots=True)
class NamedMiddleware:
    """A struct middleware, which has no name of its own."""

    name: str
    position: int
    struct: AgentMiddleware


@dataclass(frozen=True, slots=True)
class Extensions:
    """Both lists, in order."""

    middlewares: tuple[NamedMiddleware, ...]
    handlers: tuple[NamedHandler, ...]

    def with_hook(self, hook: str) -> list[tuple[LayerName, AnyHook]]:
        """Return the handlers' hooks of that name, in order; others drop out."""
        return [
            (each.layer(hook), each.hooks[hook])
            for each in self.handlers
            if hook in each.hooks
        ]

    @property
    def leading(self) -> int:
        """How many adapted handlers stand before the first that is none.

        They are in the place of struct middlewares: what they add is there before the
        handlers are asked, which postures of ``before_agent`` go by.
        """
        return sum(1 for _ in takewhile(_is_adapted, self.handlers))

    @property
    def has_own(self) -> bool:
        """Whether there is a handler that is not an adapted one."""
        return not all(map(_is_adapted, self.handlers))

    def model_hooks(self, field: str) -> list[tuple[LayerName, AnyHook]]:
        """Return the middlewares' callbacks in that field, in order."""
        found = (
            (LayerName(each.name, each.position, field), getattr(each.struct, field))
            for each in self.middlewares
        )
        return [(name, hook) for name, hook in found if hook is not None]

    def tool_layers(self, kind: Kind, config: ToolsConfig) -> list[ToolLayer]:
        """Return all layers around calls of that kind, outermost first."""
        wraps = (
            (each.name, each.position, each.struct.wrap_tool_call)
            for each in self.middlewares
        )
        own = (
            (f"tool_call_middlewares[{at}]", at, each)
            for at, each in enumerate(config.tool_call_middlewares)
        )
        return [
            *_factories(kind, own, "tool_call_middlewares"),
            *_factories(kind, wraps, "wrap_tool_call"),
            *self._wrappers(kind),
        ]

    def _wrappers(self, kind: Kind) -> Iterator[ToolLayer]:
        hook = f"wrap_{kind}_tool_call"
        for each in self.handlers:
            if LOW_LEVEL in each.hooks:
                bind = _of_kind(each.hooks[LOW_LEVEL], kind)
                yield ToolLayer(each.layer(LOW_LEVEL), factory=bind)
            elif hook in each.hooks:
                yield ToolLayer(each.layer(hook), wrap=each.hooks[hook])


def collect(
    middlewares: Sequence[AgentMiddleware],
    handlers: Sequence[object],
    profile: Profile,
) -> Extensions:
    """Check and name both lists.

    Raises TooManyExtensionsError, SameExtensionTwiceError, EqualNamesError, or what
    hooks_of raises.
    """
    refuse_too_many(len(middlewares) + len(handlers))
    if profile.same_handler_twice == "refused":
        _refuse_same(handlers)
    structs = tuple(
        NamedMiddleware(f"middleware[{at}]", at, struct)
        for at, struct in enumerate(middlewares)
    )
    spelt: set[type] = set()
    found = [hooks_of(each, spelt) for each in handlers]
    if profile.equal_handler_names == "refused":
        _refuse_equal([name for name, _ in found], handlers)
    names = list(numbered([name for name, _ in found]))
    named = tuple(
        NamedHandler(
            name, len(structs) + at, as_hooks(hooks), legacy_names(given, hooks)
        )
        for at, (name, (_, hooks), given) in enumerate(
            zip(names, found, handlers, strict=True)
        )
    )
    return Extensions(structs, named)


def refuse_too_many(number: int) -> None:
    """Raise TooManyExtensionsError if so many are not promised to work."""
    if number > MAX_EXTENSIONS:
        raise TooManyExtensionsError(number, MAX_EXTENSIONS)


def _factories(
    kind: Kind, given: Iterator[tuple[str, int, ToolMiddleware]], hook: str
) -> Iterator[ToolLayer]:
    for name, position, middleware in given:
        make = getattr(middleware, kind)
        if make is not None:
            yield ToolLayer(
                LayerName(name, position, hook),
                factory=_of_any_tool(make),
            )


def _of_any_tool(make: Callable[[Any], Any]) -> Factory:
    return lambda _, endpoint: make(endpoint)


def _of_kind(bind: AnyHook, kind: Kind) -> Factory:
    return lambda info, endpoint: bind(info, endpoint, kind)


def _is_adapted(handler: NamedHandler) -> bool:
    return handler.legacy is not None


def _refuse_same(handlers: Sequence[object]) -> None:
    seen: dict[int, int] = {}
    for at, handler in enumerate(handlers):
        first = seen.setdefault(id(handler), at)
        if first != at:
            raise SameExtensionTwiceError(
                str(getattr(handler, "name", handler)), first, at
            )


def _refuse_equal(names: Sequence[str], handlers: Sequence[object]) -> None:
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        first = seen.setdefault(name, at)
        # One object twice is another posture's business.
        if handlers[first] is not handlers[at]:
            raise EqualNamesError(name, first, at)


def numbered(names: Sequence[str]) -> Iterator[str]:
    """Yield each name; equal ones are counted: ``name[0]``, ``name[1]``."""
    often = Counter(names)
    so_far: Counter[str] = Counter()
    for name in names:
        if often[name] == 1:
            yield name
        else:
            yield f"{name}[{so_far[name]}]"
            so_far[name] += 1


def as_hooks(found: dict[str, AnyHook]) -> dict[str, AnyHook]:
    """Return the hooks with every capability method turned into the one it means."""
    if CAPABILITY_HOOKS.isdisjoint(found):
        return found
    hooks = {name: hook for name, hook in found.items() if name not in CAPABILITY_HOOKS}
    instruction = found.get("modify_instruction")
    tools = found.get("modify_tools")
    if instruction is not None or tools is not None:
        hooks["before_agent"] = _before_agent(instruction, tools)
    for method, hook in CAPABILITY_REWRITES.items():
        if method in found:
            hooks[hook] = _rewrite(found[method])
    return hooks


def _before_agent(instruction: AnyHook | None, tools: AnyHook | None) -> AnyHook:
    async def before_agent(ctx: Context, config: AgentConfig) -> Context:
        if instruction is not None:
            config.instruction = await settled(instruction(ctx, config.instruction))
        if tools is not None:
            config.tools = await settled(tools(ctx, config.tools))
        return ctx

    return before_agent


def _rewrite(method: AnyHook) -> AnyHook:
    async def rewrite(
        ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        return ctx, await settled(method(ctx, messages))

    return rewrite
