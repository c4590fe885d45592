"""The struct middleware: the interface before the refactor (seed 001 §1.1).

The engine runs it natively, under every profile. Its model hooks edit a state object in
place, so a pass copies the history once; an agent without such hooks has no such pass.
Who shares a state object is a posture.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from operator import is_
from typing import Any, Protocol, TypeAlias

from refengine.awaiting import settled
from refengine.chain import LayerName, Pipeline, is_history
from refengine.context import Context
from refengine.errors import HookError, HookReturnError
from refengine.hooks import AnyHook
from refengine.interrupts import Interrupt
from refengine.messages import Message
from refengine.profile import Profile
from refengine.tools import Tool, ToolMiddleware


@dataclass(slots=True)
class ChatModelAgentState:
    """The messages that a struct middleware's model hooks edit in place.

    Which hooks share one object is a posture (``state_object``).
    """

    messages: list[Message]


ModelHook: TypeAlias = Callable[
    [Context, ChatModelAgentState], "Awaitable[None] | None"
]


@dataclass(frozen=True, slots=True)
class AgentMiddleware:
    """A struct of fields and callbacks; every field may be left out."""

    additional_instruction: str = ""
    additional_tools: Sequence[Tool] = ()
    before_chat_model: ModelHook | None = None
    after_chat_model: ModelHook | None = None
    wrap_tool_call: ToolMiddleware = ToolMiddleware()


Rewrite: TypeAlias = Callable[
    [Context, Sequence[Message]],
    Coroutine[Any, Any, tuple[Context, Sequence[Message]]],
]
"""One hook of a pass: from context and history to those that it leaves."""


class StateCell:
    """Holds the state object that one iteration's passes may share.

    ``without_tools`` tells that the agent has none, which may matter.
    """

    __slots__ = ("state", "without_tools")

    def __init__(self, *, without_tools: bool = False) -> None:
        self.state: ChatModelAgentState | None = None
        self.without_tools: bool = without_tools


class StatePass(Protocol):
    """Hooks of a pass that share the state object of an iteration."""

    async def rewrite(
        self, ctx: Context, messages: Sequence[Message], cell: StateCell
    ) -> tuple[Context, Sequence[Message]]:
        """Send the history through all hooks."""
        ...


Phase: TypeAlias = Pipeline | StatePass
"""A part of a pass: the hooks of handlers, or those of struct middlewares."""


class LegacyPass:
    """All middlewares' ``before_chat_model``, or all their ``after_chat_model``."""

    __slots__ = ("_hooks", "_sharing")

    def __init__(
        self, hooks: Sequence[tuple[LayerName, AnyHook]], profile: Profile
    ) -> None:
        self._hooks = tuple(hooks)
        self._sharing = profile.state_object

    async def rewrite(
        self, ctx: Context, messages: Sequence[Message], cell: StateCell
    ) -> tuple[Context, Sequence[Message]]:
        """Send the history through all hooks; raises HookError or HookReturnError."""
        state = self._state(messages, cell)
        for name, hook in self._hooks:
            if self._sharing == "per_middleware":
                state = ChatModelAgentState(list(state.messages))
            await _enter(name, hook, ctx, state)
        return ctx, tuple(state.messages)

    def one_by_one(self, cell: StateCell) -> list[tuple[LayerName, Rewrite]]:
        """Return the hooks of one pass, for whoever stops between two of them."""
        passing = _Passing(self, cell)
        return [
            (name, partial(passing.enter, name, hook)) for name, hook in self._hooks
        ]

    def state_after(
        self,
        state: ChatModelAgentState | None,
        messages: Sequence[Message],
        cell: StateCell,
    ) -> ChatModelAgentState:
        """Return the state object of the next hook, given that of the one before."""
        if state is None:
            return self._state(messages, cell)
        own = self._sharing == "per_middleware"
        return ChatModelAgentState(list(messages)) if own else state

    def _state(
        self, messages: Sequence[Message], cell: StateCell
    ) -> ChatModelAgentState:
        alone = cell.without_tools and self._sharing == "per_pass_with_tools"
        if self._sharing != "per_iteration" and not alone:
            return ChatModelAgentState(list(messages))
        if cell.state is None:
            cell.state = ChatModelAgentState([])
        cell.state.messages = list(messages)
        return cell.state


class _Passing:
    """One pass that is gone through hook by hook."""

    __slots__ = ("_cell", "_pass", "_state")

    def __init__(self, whole: LegacyPass, cell: StateCell) -> None:
        self._pass = whole
        self._cell = cell
        self._state: ChatModelAgentState | None = None

    async def enter(
        self, name: LayerName, hook: AnyHook, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Enter one hook; the very sequence comes back if it changed nothing."""
        self._state = state = self._pass.state_after(self._state, messages, self._cell)
        await _enter(name, hook, ctx, state)
        left = state.messages
        same = len(left) == len(messages) and all(map(is_, left, messages))
        return ctx, messages if same else tuple(left)


async def _enter(
    name: LayerName, hook: AnyHook, ctx: Context, state: ChatModelAgentState
) -> None:
    try:
        got = await settled(hook(ctx, state))
    except Exception as error:
        raise HookError(name.owner, name.position, name.hook, error) from error
    except Interrupt as stop:
        stop.leaves(name.hook, name.owner)
        raise
    if got is not None:
        wanted = "nothing: it edits state.messages"
        raise HookReturnError(name.owner, name.hook, got, wanted)
    if not is_history(state.messages):
        raise HookReturnError(
            name.owner,
            name.hook,
            state.messages,
            "state.messages as a list of messages",
        )
