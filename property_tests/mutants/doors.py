"""Doors that mutants are made of: the reference engine, given other extensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from compat.adapters import AdaptedMiddleware, adapt
from compat.engines.adapted import Adapt, quiet, with_handlers
from property_tests.mutants.mutant import Door
from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.context import Context
from refengine.hooks import AgentConfig, AnyHook
from refengine.messages import Message
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.doors import EngineAgent, EngineRun
from refengine.tools import NO_OPTIONS, Options

Arrange: TypeAlias = Callable[[ChatModelAgentConfig, Profile], ChatModelAgentConfig]
Hooks: TypeAlias = "dict[str, AnyHook | None]"

GIVEN: Final = "given"
"""The name of the option that ``WithOptions`` gives to every run."""


class Hooked:
    """A handler that is given its hooks; those that are None are left out."""

    def __init__(
        self, name: str, hooks: Hooks, legacy_hooks: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        found = {hook: method for hook, method in hooks.items() if method is not None}
        self.hooks = frozenset(found)
        self.legacy_hooks = legacy_hooks
        for hook, method in found.items():
            setattr(self, hook, method)


class ArrangedEngine:
    """The reference engine, whose configuration is arranged before it is built."""

    def __init__(self, name: str, profile: Profile, arrange: Arrange) -> None:
        self.name = name
        self.profile = profile
        self._arrange = arrange

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent of the arranged configuration."""
        arranged = self._arrange(config, self.profile)
        return await build_agent(arranged, self.profile, on_notice=on_notice)


class OptionsAgent:
    """An agent whose runs are given one option more."""

    def __init__(self, agent: EngineAgent) -> None:
        self._agent = agent

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
    ) -> EngineRun:
        """Start a run with the option."""
        more = {**(options or NO_OPTIONS), GIVEN: "yes"}
        return self._agent.run(messages, stream, options=more)


class OptionsEngine(ArrangedEngine):
    """An arranged engine, all of whose runs are given one option more."""

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent; its runs have the option."""
        return OptionsAgent(await super().build(config, on_notice))


def arranged(name: str, arrange: Arrange) -> Door:
    """Return the door to an engine of that name."""
    return lambda profile: ArrangedEngine(name, quiet(profile), arrange)


def with_options(name: str, arrange: Arrange) -> Door:
    """Return the door to an engine whose runs are given one option more."""
    return lambda profile: OptionsEngine(name, quiet(profile), arrange)


def adapting(name: str, adapter: Adapt) -> Door:
    """Return the door to an engine whose structs that adapter turns into handlers."""
    return arranged(name, adapted_by(adapter))


def adapted_by(adapter: Adapt) -> Arrange:
    """Return the arrangement that puts what an adapter makes before the handlers."""

    def arrange(config: ChatModelAgentConfig, profile: Profile) -> ChatModelAgentConfig:
        return with_handlers(config, adapter, profile)

    return arrange


def as_given(config: ChatModelAgentConfig, _: Profile) -> ChatModelAgentConfig:
    """Arrange nothing: structs run natively."""
    return config


NATIVE: Final = arranged("native", as_given)
"""Structs as structs: what every adapter has to be equal to."""
ADAPTED: Final = adapting("adapted", adapt)
"""The adapter that is shipped."""


def passing(ctx: Context, _: AgentConfig) -> Context:
    """Take part in ``before_agent`` and change nothing."""
    return ctx


def remade(handler: AdaptedMiddleware, **changes: AnyHook | None) -> Hooked:
    """Return an adapted handler with some of its hooks replaced, or dropped by None."""
    hooks: Hooks = {hook: getattr(handler, hook) for hook in handler.hooks} | changes
    if all(method is None for method in hooks.values()):
        hooks["before_agent"] = passing
    kept = {hook for hook, method in hooks.items() if method is not None}
    names = {hook: n for hook, n in handler.legacy_hooks.items() if hook in kept}
    return Hooked(handler.name, hooks, names)


def each_remade(
    change: Callable[[AdaptedMiddleware, Profile], Hooked],
) -> Adapt:
    """Return the adapter whose handlers are changed one by one."""

    def adapter(structs: Sequence[AgentMiddleware], profile: Profile) -> list[Hooked]:
        return [change(each, profile) for each in adapt(structs, profile)]

    return adapter
