"""The model hooks of struct middlewares, run as the code before the refactor did.

They edit a state object in place, so a pass copies the history once; an agent without
such hooks has no such pass. Who shares a state object is a posture.
"""

from __future__ import annotations

from collections.abc import Sequence

from refengine.awaiting import settled
from refengine.chain import is_history
from refengine.context import Context
from refengine.errors import HookError, HookReturnError
from refengine.hooks import AnyHook
from refengine.messages import Message
from refengine.middleware import ChatModelAgentState
from refengine.profile import Profile
from refengine.scope import LayerName


class StateCell:
    """Holds the state object that one iteration's passes may share."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: ChatModelAgentState | None = None


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
    ) -> Sequence[Message]:
        """Send the history through all hooks; raises HookError or HookReturnError."""
        state = self._state(messages, cell)
        for name, hook in self._hooks:
            if self._sharing == "per_middleware":
                state = ChatModelAgentState(list(state.messages))
            await _enter(name, hook, ctx, state)
        return tuple(state.messages)

    def _state(
        self, messages: Sequence[Message], cell: StateCell
    ) -> ChatModelAgentState:
        if self._sharing != "per_iteration":
            return ChatModelAgentState(list(messages))
        if cell.state is None:
            cell.state = ChatModelAgentState([])
        cell.state.messages = list(messages)
        return cell.state


async def _enter(
    name: LayerName, hook: AnyHook, ctx: Context, state: ChatModelAgentState
) -> None:
    try:
        got = await settled(hook(ctx, state))
    except Exception as error:
        raise HookError(name.owner, name.position, name.hook, error) from error
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
