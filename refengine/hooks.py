"""The hooks of a handler, and which of them an object has (contract §0, decisions).

A hook is present if the object's ``hooks`` set says so (helpers and adapters do), else
if the object has the method and did not inherit it from ``AgentHandler``.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias, cast

from refengine.awaiting import is_async
from refengine.context import Context
from refengine.errors import (
    HandlerArgumentError,
    MisspeltHookError,
    MixedCapabilityError,
    NoHookError,
    NotAsyncError,
    NotKnownAtBuild,
)
from refengine.messages import Message
from refengine.model import MessageStream, ModelRequest
from refengine.tools import (
    Endpoint,
    Options,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolMeta,
)

PIPELINE_HOOKS: Final = (
    "before_agent",
    "before_model_rewrite_history",
    "after_model_rewrite_history",
    "after_agent",
)
ONION_HOOKS: Final = (
    "wrap_model_call",
    "wrap_invokable_tool_call",
    "wrap_streamable_tool_call",
)
HOOKS: Final = frozenset(PIPELINE_HOOKS + ONION_HOOKS)
CAPABILITY_HOOKS: Final = frozenset(
    (
        "modify_instruction",
        "modify_tools",
        "pre_process_message_state",
        "post_process_message_state",
    )
)
CAPABILITY_REWRITES: Final = {
    "pre_process_message_state": "before_model_rewrite_history",
    "post_process_message_state": "after_model_rewrite_history",
}
"""The hooks that these capabilities are another name of."""
LOW_LEVEL: Final = "bind_tool"
"""``bind_tool(info, endpoint, kind)`` stands for both ``wrap_*`` (contract §1).

It is for adapters, called as often as the factories of a ToolMiddleware are, for each
``kind`` that a tool has ("invokable", "streamable"), and returns the endpoint that
is called from then on. One that hands back what it was given adds no layer.
"""
_KNOWN: Final = tuple(sorted(HOOKS | CAPABILITY_HOOKS | {LOW_LEVEL}))
_SPELLINGS: Final = tuple(sorted(HOOKS | CAPABILITY_HOOKS))
_LENGTHS: Final = frozenset(
    len(hook) + off for hook in _SPELLINGS for off in (-2, -1, 0, 1, 2)
)
"""Lengths of names that may be a hook misspelt; most names are none of them."""

ModelEndpoint: TypeAlias = Callable[
    [Context, ModelRequest], "Awaitable[Message | MessageStream]"
]
Rewritten: TypeAlias = "tuple[Context, Sequence[Message]]"
AnyHook: TypeAlias = "Callable[..., Any]"  # a hook of any kind, before it is compiled
LegacyNames: TypeAlias = "Mapping[str, str]"  # hook -> field of the older interface


class AgentConfig:
    """What ``before_agent`` changes in place; private to one build, or to one run.

    ``input`` and ``run_options`` belong to a run: reading them while the agent is
    built raises NotKnownAtBuild. ``return_directly`` holds the flags by name in
    engines that keep them so (posture ``return_directly``); it is None where they
    stand on the tools.
    """

    __slots__ = (
        "_input",
        "_run_options",
        "instruction",
        "return_directly",
        "tools",
    )

    def __init__(
        self,
        instruction: str,
        tools: list[ToolMeta],
        run: tuple[Sequence[Message], Options] | None = None,
        return_directly: dict[str, bool] | None = None,
    ) -> None:
        self.instruction: str = instruction
        self.tools: list[ToolMeta] = tools
        self.return_directly: dict[str, bool] | None = return_directly
        self._input = None if run is None else run[0]
        self._run_options = None if run is None else run[1]

    @property
    def input(self) -> Sequence[Message]:
        """The messages the run was started with."""
        if self._input is None:
            raise NotKnownAtBuild("input")
        return self._input

    @property
    def run_options(self) -> Options:
        """The options the run was started with."""
        if self._run_options is None:
            raise NotKnownAtBuild("run_options")
        return self._run_options


class AgentHandler(Protocol):
    """A handler: a ``name`` and at least one of these hooks (seed 001 §3.1).

    Pipeline hooks may be ``def`` or ``async def``, wrappers are ``async def``.
    ``wrap_model_call`` and ``after_agent`` are beyond the seed: eino shipped them.
    Subclassing is not needed; methods inherited from here count as absent.
    """

    @property
    def name(self) -> str:
        """What errors, traces and ``explain`` call it."""
        ...

    async def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Change ``config.instruction`` and ``config.tools``; return the context."""
        raise NotImplementedError

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> Rewritten:
        """Return the messages that the model sees and that are kept."""
        raise NotImplementedError

    async def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> Rewritten:
        """Return the history; its last message decides how the run goes on."""
        raise NotImplementedError

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Call a tool through ``next``, or not."""
        raise NotImplementedError

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Call a streaming tool through ``next``, or not."""
        raise NotImplementedError

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> Message | MessageStream:
        """Call the model through ``next``, or not; the result is of next's kind."""
        raise NotImplementedError

    async def after_agent(self, ctx: Context, messages: Sequence[Message]) -> Context:
        """See the history of a run that succeeded."""
        raise NotImplementedError


class InstructionModifier(Protocol):
    """Capability (seed 000 P0.1): returns the new instruction."""

    name: str

    def modify_instruction(self, ctx: Context, instruction: str) -> str:
        """Return the whole new instruction."""
        ...


class ToolsModifier(Protocol):
    """Capability (seed 000 P0.1): returns the whole set; the rest is removed."""

    name: str

    def modify_tools(
        self, ctx: Context, tools: Sequence[ToolMeta]
    ) -> Sequence[ToolMeta]:
        """Return the whole new set."""
        ...


class MessageStatePreProcessor(Protocol):
    """Capability (seed 000 P0.1): rewrites the history before the model sees it."""

    name: str

    def pre_process_message_state(
        self, ctx: Context, messages: Sequence[Message]
    ) -> Sequence[Message]:
        """Return the whole new history."""
        ...


class MessageStatePostProcessor(Protocol):
    """Capability (seed 000 P0.1): rewrites the history after the model answered."""

    name: str

    def post_process_message_state(
        self, ctx: Context, messages: Sequence[Message]
    ) -> Sequence[Message]:
        """Return the whole new history."""
        ...


class InvokableToolCallWrapper(Protocol):
    """Capability (seed 000 P0.1): wraps calls of invokable tools."""

    name: str

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Call the tool through ``next``, or not."""
        ...


class StreamableToolCallWrapper(Protocol):
    """Capability (seed 000 P0.1): wraps calls of streamable tools."""

    name: str

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Call the tool through ``next``, or not."""
        ...


def hooks_of(handler: object, spelt: set[type]) -> tuple[str, dict[str, AnyHook]]:
    """Return an object's name and its hooks by name.

    ``spelt`` collects the classes whose spelling was looked at, so that 10,000 handlers
    of one class cost one look. Raises NoHookError, MisspeltHookError,
    MixedCapabilityError or NotAsyncError.
    """
    if isinstance(handler, type):
        raise HandlerArgumentError("handlers=", handler, "an instance of that class")
    name = getattr(handler, "name", None)
    if not isinstance(name, str) or not name:
        raise NoHookError(handler, "name", HOOKS)
    found = _declared(name, handler)
    if found is None:
        _refuse_misspelt(name, handler, spelt)
        found = {
            hook: getattr(handler, hook) for hook in _KNOWN if _overrides(handler, hook)
        }
    if not found:
        raise NoHookError(handler, "hook", HOOKS)
    for hook, method in found.items():
        if not callable(method):
            raise NoHookError(handler, f"callable {hook}", HOOKS)
    _refuse_mixed(name, found)
    for hook in ONION_HOOKS:
        if hook in found and not is_async(found[hook]):
            raise NotAsyncError(name, hook)
    return name, found


def legacy_names(handler: object, found: Mapping[str, AnyHook]) -> LegacyNames | None:
    """Return an adapted handler's ``legacy_hooks``; None if it is not an adapted one.

    They say, hook by hook, which field of the older interface it stands for (contract
    §1), and errors and ``explain`` use that name. Raises NoHookError for a hook that
    the handler does not have.
    """
    given = getattr(handler, "legacy_hooks", None)
    if not isinstance(given, Mapping):
        return None
    names = {str(k): str(v) for k, v in cast("LegacyNames", given).items()}
    for hook in sorted(names.keys() - found.keys()):
        raise NoHookError(handler, f"{hook!r}, which its legacy_hooks name", HOOKS)
    return names


def _declared(name: str, handler: object) -> dict[str, AnyHook] | None:
    declared = getattr(handler, "hooks", None)
    if not isinstance(declared, (set, frozenset)):
        return None
    hooks = sorted(map(str, cast("AbstractSet[object]", declared)))
    for hook in hooks:
        if hook not in _KNOWN:
            close = difflib.get_close_matches(hook, _KNOWN, 1, 0)
            raise MisspeltHookError(name, hook, close[0])
    found: dict[str, Any] = {hook: getattr(handler, hook, None) for hook in hooks}
    return found


def _overrides(handler: object, hook: str) -> bool:
    """Tell whether an object has a hook of its own, not one a protocol handed down."""
    if getattr(handler, hook, None) is None:
        return False
    for kind in type(handler).__mro__:
        if hook in vars(kind):
            return kind not in _PROTOCOLS
    return True  # the instance's own


def _refuse_mixed(name: str, found: dict[str, AnyHook]) -> None:
    capabilities = sorted(CAPABILITY_HOOKS & found.keys())
    if "before_agent" in found and capabilities:
        raise MixedCapabilityError(name, capabilities)
    for capability, hook in CAPABILITY_REWRITES.items():
        if capability in found and hook in found:
            raise MixedCapabilityError(name, [capability], hook)


def _refuse_misspelt(name: str, handler: object, spelt: set[type]) -> None:
    kind = type(handler)
    methods: set[str] = set(getattr(handler, "__dict__", ()))
    if kind not in spelt:
        spelt.add(kind)
        methods.update(dir(kind))
    near = {each for each in methods if len(each) in _LENGTHS and each[0] != "_"}
    for method in sorted(near.difference(_SPELLINGS)):
        close = _hook_like(method)
        # Only then is it looked at: a property runs code of its own.
        if close is not None and callable(getattr(handler, method, None)):
            raise MisspeltHookError(name, method, close)


@lru_cache(maxsize=1024)
def _hook_like(method: str) -> str | None:
    """Return a hook that is spelt nearly so; agents are mostly built of known names."""
    return next((hook for hook in _SPELLINGS if _within_two(method, hook)), None)


def _within_two(a: str, b: str) -> bool:
    """Tell whether at most two letters have to be changed, added or dropped."""
    if abs(len(a) - len(b)) > 2:
        return False
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            best = min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != other))
            diagonal, row[j] = row[j], best
    return row[-1] <= 2


_PROTOCOLS: Final = frozenset(
    (
        AgentHandler,
        InstructionModifier,
        ToolsModifier,
        MessageStatePreProcessor,
        MessageStatePostProcessor,
        InvokableToolCallWrapper,
        StreamableToolCallWrapper,
    )
)
