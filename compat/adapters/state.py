"""The state object that the model hooks of adapted struct middlewares share.

It belongs to one pass of one run (or to one iteration, posture ``state_object``), and a
handler is shared by all runs. So it travels in the context, where the first adapted
handler of a pass puts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Final, Literal, TypeAlias, overload

from refengine.awaiting import is_async
from refengine.chain import is_history
from refengine.context import Context
from refengine.messages import Message
from refengine.profile import Profile
from refengine.struct_middleware import AgentMiddleware, ChatModelAgentState, ModelHook

Field: TypeAlias = Literal["before_chat_model", "after_chat_model"]
PRIVATE: Final = "refengine.compat.adapters.state"


class Lent(Sequence[Message]):
    """The messages of a state, lent to the next hook; making it costs no copy.

    The next adapted handler takes the state for it. Whoever stands between the two may
    read it, but has to copy what it wants to keep, since the state goes on changing.
    ``ctx`` holds the state under ``key``: who is given both need not look it up.
    """

    __slots__ = ("ctx", "key", "state")

    def __init__(
        self, state: ChatModelAgentState, ctx: Context, key: str | None
    ) -> None:
        self.state = state
        self.ctx = ctx
        self.key = key

    def __len__(self) -> int:
        return len(self.state.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        return self.state.messages[index]


@dataclass(frozen=True, slots=True)
class HookTurn:
    """One struct's model hook, and where it stands among those of its list.

    ``key`` is where the state is found, None if it is shared with nobody. It is made of
    the id of ``group``, which is kept so that no other list can have that id.
    """

    hook: ModelHook
    waits: bool
    group: object
    key: str | None
    makes: bool
    last: bool

    async def rewrite(self, ctx: Context, messages: Sequence[Message]) -> object:
        """Let the hook edit the state; return the pair that a handler returns.

        What the hook got wrong is handed on as it is: the engine then blames the hook,
        with the class of error that the struct would give.
        """
        lent: Lent | None = None
        state: ChatModelAgentState | None = None
        # What is lent is handed on as the same object: a pipeline looks closer at
        # another one, and that look took longer than all else here.
        if (
            type(messages) is Lent
            and not self.makes
            and (
                (messages.ctx is ctx and messages.key is self.key)
                or (self.key is not None and ctx.get(self.key) is messages.state)
            )
        ):
            lent, state = messages, messages.state
        if state is None:
            ctx, state = self._state(ctx, messages)
        got: Any = self.hook(ctx, state)
        if self.waits or (got is not None and isawaitable(got)):
            got = await got
        if got is not None:
            return (got,)  # no pair, even if the hook returned one
        if not is_history(state.messages):
            return ctx, state.messages
        if self.last:
            return ctx, tuple(state.messages)
        return ctx, Lent(state, ctx, self.key) if lent is None else lent

    def _state(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, ChatModelAgentState]:
        if self.key is None:
            return ctx, ChatModelAgentState(list(messages))
        found = None if self.makes else ctx.get(self.key)
        if not isinstance(found, ChatModelAgentState):
            found = ChatModelAgentState(list(messages))
            return ctx.with_value(self.key, found), found
        if not (isinstance(messages, Lent) and messages.state is found):
            found.messages = list(messages)
        return ctx, found


def turns(
    structs: Sequence[AgentMiddleware], field: Field, profile: Profile, group: object
) -> dict[int, HookTurn]:
    """Return the turns of one pass by the position of the struct.

    ``group`` stands for one call of ``adapt``: two lists share no state. The state of
    an iteration is found in the context that the before-hooks left, so it reaches the
    after-hooks only under profiles whose ``model_context`` goes that far.
    """
    found = [
        (at, hook)
        for at, each in enumerate(structs)
        if (hook := getattr(each, field)) is not None
    ]
    if field == "after_chat_model" and profile.after_hooks == "reversed":
        found.reverse()
    sharing = profile.state_object
    keep = sharing == "per_iteration" and field == "after_chat_model"
    keep = keep and any(each.before_chat_model is not None for each in structs)
    part = "" if sharing == "per_iteration" else f".{field}"
    key = f"{PRIVATE}{part}.{id(group):x}"
    alone = sharing == "per_middleware"
    return {
        at: HookTurn(
            hook,
            is_async(hook),
            group,
            None if alone else key,
            makes=nth == 0 and not keep,
            last=alone or nth == len(found) - 1,
        )
        for nth, (at, hook) in enumerate(found)
    }
