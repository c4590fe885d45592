"""Capability objects and struct middlewares as handlers (contract §1, seed 000 P0.1).

Seed 001 §4.1 sketches this adapter. Its sketch skips empty additions, clears
``return_directly``, makes a state a struct and calls factories for every call; none of
that is what the structs did before, so none of it is done here (docs/seed-findings.md).

The engine takes capability objects as they are; ``handler_of`` is for who wants the
handler, to hand it to another adapter or to look at its hooks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from compat.adapters.errors import NoCapabilityError, NoStructError
from compat.adapters.state import HookTurn, turns
from refengine.context import Context
from refengine.extensions import as_hooks
from refengine.helpers import HelperHandler
from refengine.hooks import (
    CAPABILITY_HOOKS,
    LOW_LEVEL,
    AgentConfig,
    AnyHook,
    hooks_of,
)
from refengine.plan import instruction_with
from refengine.profile import SEED_001, Profile
from refengine.struct_middleware import AgentMiddleware
from refengine.tool_onion import Kind
from refengine.tools import ToolInfo, as_meta


def handler_of(capability: object) -> HelperHandler:
    """Return the handler that a capability object stands for (seed 000 P0.1).

    ``modify_instruction`` and ``modify_tools`` become ``before_agent``, in that order,
    and the processors of the message state the two history hooks; wrappers have the
    names of hooks already. Raises NoCapabilityError, or what build_agent() says about
    an object that is not an extension.
    """
    name, found = hooks_of(capability, set())
    if CAPABILITY_HOOKS.isdisjoint(found):
        raise NoCapabilityError(name, tuple(sorted(found)))
    return HelperHandler(name, **as_hooks(found))


_FIELD_OF: Final = {
    "before_model_rewrite_history": "before_chat_model",
    "after_model_rewrite_history": "after_chat_model",
    LOW_LEVEL: "wrap_tool_call",
}
_ADDITIONS: Final = ("additional_instruction", "additional_tools")
_SLOTS: Final = ("before_agent", *_FIELD_OF)


@final
@dataclass(frozen=True, slots=True, eq=False)
class AdaptedMiddleware:
    """A handler that does what its ``struct`` does (seed 001 §4.1, contract §1).

    It has only the hooks that the struct has fields for, and keeps nothing of a run.
    """

    name: str
    struct: AgentMiddleware
    before_agent: AnyHook | None = None
    before_model_rewrite_history: AnyHook | None = None
    after_model_rewrite_history: AnyHook | None = None
    bind_tool: AnyHook | None = None

    @property
    def hooks(self) -> frozenset[str]:
        """The hooks it has."""
        return frozenset(hook for hook in _SLOTS if getattr(self, hook) is not None)

    @property
    def legacy_hooks(self) -> Mapping[str, str]:
        """The fields of the struct that its hooks stand for, as errors tell them."""
        names = {hook: _FIELD_OF[hook] for hook in self.hooks & _FIELD_OF.keys()}
        given = [field for field in _ADDITIONS if getattr(self.struct, field)]
        if self.before_agent is not None and given:
            names["before_agent"] = ", ".join(given)
        return names


def adapt(
    middlewares: Sequence[AgentMiddleware], profile: Profile = SEED_001
) -> list[AdaptedMiddleware]:
    """Return handlers that do what these struct middlewares do (contract COMPAT).

    Give it the whole list, because its model hooks share a state object, and put the
    handlers first: ``handlers=[*adapt(middlewares), *handlers]``. ``profile`` is the
    one that the agent is built with. Raises NoStructError, or what build_agent() says
    about a tool that cannot be called.
    """
    for at, each in enumerate(middlewares):
        if not isinstance(each, AgentMiddleware):
            raise NoStructError(at, each)
    group = object()
    before = turns(middlewares, "before_chat_model", profile, group)
    after = turns(middlewares, "after_chat_model", profile, group)
    return [
        _adapted(at, each, profile, before.get(at), after.get(at))
        for at, each in enumerate(middlewares)
    ]


def _adapted(
    at: int,
    struct: AgentMiddleware,
    profile: Profile,
    before: HookTurn | None,
    after: HookTurn | None,
) -> AdaptedMiddleware:
    wrap = struct.wrap_tool_call
    wraps = wrap.invokable is not None or wrap.streamable is not None
    # A handler needs a hook; a struct without any field takes part and does nothing.
    bare = before is None and after is None and not wraps
    return AdaptedMiddleware(
        f"legacy-middleware[{at}]",
        struct,
        _additions(struct, profile) if bare or _adds(struct, profile) else None,
        None if before is None else before.rewrite,
        None if after is None else after.rewrite,
        _binding(struct) if wraps else None,
    )


def _adds(struct: AgentMiddleware, profile: Profile) -> bool:
    """Tell whether it changes the configuration; an empty addition may, too."""
    text = struct.additional_instruction
    joined = instruction_with("base", [text], profile)
    return bool(struct.additional_tools) or joined != "base"


def _additions(struct: AgentMiddleware, profile: Profile) -> AnyHook:
    metas = [as_meta(tool) for tool in struct.additional_tools]
    added = [struct.additional_instruction]

    def before_agent(ctx: Context, config: AgentConfig) -> Context:
        config.instruction = instruction_with(config.instruction, added, profile)
        config.tools.extend(metas)
        return ctx

    return before_agent


def _binding(struct: AgentMiddleware) -> AnyHook:
    def bind_tool(_: ToolInfo, endpoint: AnyHook, kind: Kind) -> AnyHook:
        make: AnyHook | None = getattr(struct.wrap_tool_call, kind)
        return endpoint if make is None else make(endpoint)

    return bind_tool
