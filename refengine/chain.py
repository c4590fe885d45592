"""Compiled chains: pipelines that pass a value on, onions that wrap a call.

Compiled once and entered often. A layer of an onion is one coroutine around the
wrapper's own: it notes who raised and refuses a wrong result on the spot, because one
layer further out the blame would fall on somebody else. Without that coroutine an
onion would be as fast as a bare one, and ``return`` forgotten in one handler would be
an AttributeError of another.

What belongs to one call is in its ``CallScope``, wherever in the onion one stands. A
wrapper decides which context and input it hands on, so neither can carry what must not
be lost. A context variable can: it follows the call through hops to other tasks.
Handing the call through the layers instead would need an object a layer and call, and
that costs more than the layer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any, Final, Protocol, TypeAlias, cast

from refengine.awaiting import STRIDE, in_turn, is_async, is_deep
from refengine.context import Context, RunLocals, at_point, at_point_of
from refengine.errors import (
    HookError,
    HookReturnError,
    NotInToolCallError,
    RefengineError,
)
from refengine.events import AgentAction
from refengine.hooks import AnyHook
from refengine.interrupts import CALL, Interrupt, Questioned
from refengine.messages import History, Message
from refengine.model import ModelRequest
from refengine.stream import StreamReader
from refengine.tools import ToolCallInput, ToolInfo

Call: TypeAlias = "Callable[[Context, Any], Awaitable[Any]]"  # an endpoint of any kind
Wrap: TypeAlias = "Callable[[Context, Any, Call], Awaitable[Any]]"
Value: TypeAlias = Any  # what a call of any kind is given, or gives
Bind: TypeAlias = "Callable[[Call], Call]"  # a factory: an inner call to an outer one
Keep: TypeAlias = "Callable[[Any, int, LayerName], None]"
Refuse: TypeAlias = "Callable[[Any, LayerName], None]"

_LISTS: Final = frozenset((tuple, list, History))
_PAIR: Final = "a pair (context, messages)"
_CONTEXT: Final = "a Context"
_NOT_YET: Final = object()
"""Stands for a hook's result until there is one: a hook that has it did not raise."""


class Pipeline:
    """A chain of hooks; each is given what the one before left."""

    __slots__ = ("_each", "_hooks", "_steps")

    def __init__(self, hooks: Sequence[tuple[LayerName, AnyHook]]) -> None:
        self._each: Sequence[tuple[LayerName, Pipeline]] | None = None
        self._hooks = tuple(hooks)
        self._steps = tuple((hook, is_async(hook), name) for name, hook in hooks)

    def __len__(self) -> int:
        return len(self._steps)

    def one_by_one(self) -> Sequence[tuple[LayerName, Pipeline]]:
        """Return a pipeline for each hook, for whoever stops between two of them."""
        if self._each is None:
            hooks = ((name, Pipeline([(name, hook)])) for name, hook in self._hooks)
            self._each = tuple(hooks)
        return self._each

    async def rewrite(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Send a history through all hooks; raises HookError or HookReturnError.

        A result is checked by unpacking it, and looked at closer only if it is
        another object than what the hook was given.
        """
        name: LayerName | None = None
        result: Any = _NOT_YET
        try:
            for hook, waits, name in self._steps:  # noqa: B007  # blamed below
                result = _NOT_YET
                result = hook(ctx, messages)
                if waits or (result.__class__ is not tuple and isawaitable(result)):
                    waiting, result = result, _NOT_YET
                    result = await waiting
                new_ctx, new = result
                if new is not messages:
                    if not is_history(new):
                        raise TypeError
                    messages = new
                if new_ctx is not ctx:
                    if new_ctx.__class__ is not Context:
                        raise TypeError
                    ctx = at_point_of(new_ctx, ctx)
        except Exception as error:
            raise _leaving(error, name, result, _PAIR) from error
        except Interrupt as stop:
            _note_owner(stop, name)
            raise
        return ctx, messages

    async def observe(self, ctx: Context, value: object) -> Context:
        """Show a value to all hooks; each returns the context for the next.

        Raises HookError or HookReturnError.
        """
        name: LayerName | None = None
        result: Any = _NOT_YET
        try:
            for hook, waits, name in self._steps:  # noqa: B007  # blamed below
                result = _NOT_YET
                result = hook(ctx, value)
                if waits or (result.__class__ is not Context and isawaitable(result)):
                    waiting, result = result, _NOT_YET
                    result = await waiting
                if result.__class__ is not Context:
                    raise TypeError
                ctx = at_point_of(result, ctx)
        except Exception as error:
            raise _leaving(error, name, result, _CONTEXT) from error
        except Interrupt as stop:
            _note_owner(stop, name)
            raise
        return ctx


def is_history(value: Any) -> bool:  # noqa: ANN401  # what a hook gave
    """Tell whether it is a sequence that begins and ends with a message.

    Looking at every message would make a trimmed history cost more than its trimming.
    """
    if value.__class__ not in _LISTS and (
        not isinstance(value, Sequence) or isinstance(value, (str, bytes))
    ):
        return False
    return not value or (
        isinstance(value[0], Message) and isinstance(value[-1], Message)
    )


def _note_owner(stop: Interrupt, name: LayerName | None) -> None:
    """Say whose hook an interrupt comes from, if it was one of these."""
    if name is not None:
        stop.leaves(name.hook, name.owner)


def _leaving(
    error: Exception, name: LayerName | None, result: object, wanted: str
) -> Exception:
    if name is None:  # not even the first hook was reached
        return error
    if result is _NOT_YET:
        return HookError(name.owner, name.position, name.hook, error)
    return HookReturnError(name.owner, name.hook, result, wanted)


class Layer:
    """One extension's part of an onion: a wrapper, or a factory of one."""

    __slots__ = ("bind", "name", "wrap")

    def __init__(
        self, name: LayerName, *, wrap: Wrap | None = None, bind: Bind | None = None
    ) -> None:
        self.name: LayerName = name
        self.wrap: Wrap | None = wrap
        self.bind: Bind | None = bind


class KeptCalls(Protocol):
    """Makes calls whose entries are noted, in an agent that keeps its runs."""

    def kept_layer(
        self,
        name: LayerName,
        at: int,
        wrap: Wrap,
        inner: Call,
        refuse: Refuse,
        keep: Keep | None,
    ) -> Call:
        """Return a layer around ``inner``."""
        ...

    def kept_call(self, hook: str, call: Call) -> Call:
        """Return the innermost call, of a tool or of the model."""
        ...


class Onion:
    """How the layers around one kind of call are put together.

    ``result_type`` is that of what each layer returns. ``keep(result, at, name)`` is
    called with what each layer gave, where streams have to be looked after. ``kept``
    makes the layers where the runs are kept.
    """

    __slots__ = ("_keep", "_kept", "result_type")

    def __init__(
        self,
        result_type: type[object],
        keep: Keep | None = None,
        *,
        kept: KeptCalls | None = None,
    ) -> None:
        self.result_type: type[object] = result_type
        self._keep = keep
        self._kept = kept

    def compile(self, layers: Sequence[Layer], innermost: Call, first: int = 0) -> Call:
        """Nest the layers around ``innermost``, the first one outermost.

        ``first`` is the place of the first layer where these are the inner part of a
        longer onion. Every ``STRIDE`` layers the stack is measured, and where this
        part is entered; a factory that hands back what it was given adds nothing.
        """
        call = measured = innermost
        for at in range(first + len(layers) - 1, first - 1, -1):
            call = self.layer(layers[at - first], at, call)
            if call is not measured and (at % STRIDE == 0 or at == first):
                call = measured = _probe(call)
        return call

    def layer(self, layer: Layer, at: int, inner: Call) -> Call:
        """Return one layer around ``inner``, or just that if the layer adds nothing."""
        result_type, keep = self.result_type, self._keep
        wrap = layer.wrap or _entering(layer, inner)
        if wrap is None:
            return inner
        if self._kept is not None:
            name, refuse = layer.name, self._refuse
            return self._kept.kept_layer(name, at, wrap, inner, refuse, keep)

        async def enter(ctx: Context, value: Value) -> Value:
            try:
                result = await wrap(ctx, value, inner)
            except Exception as error:
                SCOPE.get().blame(error, at)
                raise
            except Interrupt as stop:
                stop.leaves(layer.name.hook, layer.name.owner)
                SCOPE.get().stopped = stop
                raise
            if result.__class__ is not result_type:
                _refuse(result, result_type, layer.name)
            if keep is not None:
                keep(result, at, layer.name)
            return result

        return enter

    def _refuse(self, result: object, name: LayerName) -> None:
        if result.__class__ is not self.result_type:
            _refuse(result, self.result_type, name)


def _entering(layer: Layer, inner: Call) -> Wrap | None:
    """Call the layer's factory once, now, and enter what it made, if it made any."""
    outer = inner if layer.bind is None else _made(layer.name, layer.bind, inner)
    if outer is inner:
        return None
    return lambda ctx, value, _: outer(ctx, value)


def _made(name: LayerName, bind: Bind, inner: Call) -> Call:
    """Call a factory, outside of any call that could be blamed; raises HookError."""
    try:
        return bind(inner)
    except Exception as error:
        raise HookError(name.owner, name.position, name.hook, error) from error


def _probe(inner: Call) -> Call:
    def enter(ctx: Context, value: Value) -> Awaitable[Value]:
        if is_deep():
            return asyncio.ensure_future(inner(ctx, value))
        return inner(ctx, value)

    return enter


def _refuse(result: object, result_type: type[object], name: LayerName) -> None:
    if isinstance(result, result_type):
        return
    error = HookReturnError(name.owner, name.hook, result, f"a {result_type.__name__}")
    raise SCOPE.get().own(error)


INNERMOST: Final = -1


class CalledTool(Protocol):
    """The tool that a call is of; a call of the model has none."""

    info: ToolInfo


class CallScope:
    """One call: where it is, what it calls, and which layer raised what.

    ``follows`` tells that the call takes over an id that a wrapper gives it,
    ``raises_again`` that an interrupt which a wrapper keeps comes out all the same,
    ``answers`` that the call has a result whatever is raised.
    """

    __slots__ = (
        "action",
        "answers",
        "call_id",
        "changed",
        "entry",
        "faults",
        "follows",
        "locals",
        "made",
        "raises_again",
        "readers",
        "run_path",
        "shown",
        "stopped",
        "tool",
    )

    def __init__(  # noqa: PLR0913, PLR0917  # plain arguments: it is made for every call
        self,
        run_path: tuple[str, ...],
        run_locals: RunLocals,
        tool: CalledTool | None = None,
        call_id: str | None = None,
        follows: bool = False,  # noqa: FBT002  # made for every call
        raises_again: bool = True,  # noqa: FBT002  # as follows
        answers: bool = False,  # noqa: FBT002  # as follows
    ) -> None:
        self.run_path: tuple[str, ...] = run_path
        self.locals: RunLocals = run_locals
        self.tool: CalledTool | None = tool
        self.call_id: str | None = call_id
        self.faults: dict[int, tuple[BaseException, int]] | None = None
        self.made: RefengineError | None = None
        self.readers: list[StreamReader[Any]] = []
        self.shown: ModelRequest | None = None
        self.changed: tuple[str, str] | None = None
        self.action: AgentAction | None = None
        self.follows: bool = follows
        self.raises_again: bool = raises_again
        self.answers: bool = answers
        self.stopped: Interrupt | None = None
        self.entry: Questioned | None = None

    def innermost(self, ctx: Context) -> Context:
        """Return the context as the tool or model sees it, with nothing lost."""
        return at_point(ctx, self.run_path, self.call_id, self.locals)

    def compare(self, value: ToolCallInput, name: str) -> None:
        """Keep a name or call id that a wrapper asked for in vain (contract WRAP)."""
        if value.name != name or value.call_id != self.call_id:
            self.changed = (value.name, value.call_id)

    def blame(
        self, error: BaseException, at: int, seen: BaseException | None = None
    ) -> None:
        """Remember which layer an error came from; the layers outside see it later.

        A wrapper may catch one error, get another and raise the first, so all are
        kept. ``seen`` is what is seen instead, if a stream's error wrapper replaced it.
        """
        if self.faults is None:
            self.faults = {}
        _, at = self.faults.setdefault(id(error), (error, at))
        if seen is not None:
            self.faults[id(seen)] = (seen, at)

    def own(self, error: RefengineError) -> RefengineError:
        """Mark an error that the engine made for this call: it leaves as it is."""
        self.made = error
        return error

    def leaving(self, error: Exception, layers: Sequence[LayerName]) -> Exception:
        """Return the error as it leaves the onion: wrapped once, by who raised it."""
        at = self._layer_of(error, INNERMOST)
        if error is self.made or at == INNERMOST:
            return error
        layer = layers[at]
        tool = None if self.tool is None else self.tool.info.name
        who = layer.owner, layer.position, layer.hook
        return HookError(*who, error, tool=tool, call_id=self.call_id)

    def is_innermost(self, error: Exception) -> bool:
        """Tell whether the tool or model itself raised this error."""
        at = self._layer_of(error, 0)
        return at == INNERMOST and error is not self.made

    def _layer_of(self, error: Exception, unknown: int) -> int:
        faults = self.faults or {}
        return faults[id(error)][1] if id(error) in faults else unknown

    async def close(self) -> None:
        """Close the streams that wrappers, tool or model opened, outermost first."""
        if self.readers:
            await in_turn(self._closings())

    def _closings(self) -> Iterator[Callable[[], Awaitable[None]]]:
        while self.readers:
            yield self.readers.pop().aclose


class LayerName:
    """Whose layer it is, as errors and ``explain`` say it."""

    __slots__ = ("hook", "owner", "position")

    def __init__(self, owner: str, position: int, hook: str) -> None:
        self.owner: str = owner
        self.position: int = position
        self.hook: str = hook


SCOPE: Final = cast("ContextVar[CallScope]", CALL)


def attach_action(action: AgentAction) -> None:
    """Let an action travel on the event of the tool call around this point.

    For tools and tool wrappers (contract EVT); the last one counts. Raises
    NotInToolCallError elsewhere.
    """
    scope = SCOPE.get(None)
    if scope is None or scope.tool is None:
        raise NotInToolCallError
    scope.action = action
