"""What doors to frameworks share: the engine, and what its runs are refused.

Much of what an engine lacks only shows when a hook acts. It ends the run with a
CapabilityError: a door never leaves out what it was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias, cast

from compat.engines.capabilities import CapabilityError, of_extra, refuse_undeclared
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.hooks import AgentConfig
from refengine.messages import Message, ToolCall
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.testing.doors import EngineAgent
from refengine.tools import Options, ToolMeta, as_meta, normalise

AgentOf: TypeAlias = Callable[[str, ChatModelAgentConfig], EngineAgent]
"""Builds an agent of the engine of that name; raises what the framework refuses."""


@dataclass(frozen=True, slots=True)
class FrameworkEngine:
    """An engine that a framework of Python is; its package is imported when it builds.

    ``agents`` imports what the extra brings, and returns what builds an agent.
    """

    name: str
    extra: str
    profile: Profile
    capabilities: frozenset[str]
    agents: Callable[[], AgentOf]
    version: str = ""

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent.

        Raises MissingExtraError, CapabilityError, or what the framework refuses.
        """
        del on_notice  # a framework says nothing beside its messages
        refuse_undeclared(self.name, self.capabilities, config)
        with of_extra(self.name, self.extra):
            agent_of = self.agents()
        return agent_of(self.name, config)


@dataclass(slots=True)
class FrameRefusals:
    """What a run was refused."""

    engine: str
    refusal: CapabilityError | None = field(default=None, kw_only=True)

    def refuse(self, capability: str, where: str) -> NoReturn:
        """End the run: it needs what the engine does not declare.

        Kept, too, because a wrapper may catch everything.
        """
        self.refusal = CapabilityError(self.engine, capability, where)
        raise self.refusal

    def stop_if_refused(self) -> None:
        """Raise the refusal, if there was one that somebody caught."""
        if self.refusal is not None:
            raise self.refusal

    def unchanged(self, ctx: Context, where: str) -> None:
        """Refuse a context that holds something: nobody would hand it on."""
        if any(True for _ in ctx.items()):
            self.refuse("context", where)

    def parsed(self, call: ToolCall) -> dict[str, Any]:
        """Return a call's arguments parsed; refuses what is not a JSON object."""
        try:
            found: object = json.loads(call.arguments)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            self.refuse("arguments_text", f"call {call.id!r} of tool {call.name!r}")
        return cast("dict[str, Any]", found)


class Shown:
    """The configuration as ``before_agent`` is shown it, by an engine that keeps it.

    ``as_given`` refuses what a hook edited there.
    """

    def __init__(
        self, config: ChatModelAgentConfig, run: tuple[Sequence[Message], Options]
    ) -> None:
        self._config = config
        self._metas = normalise(as_meta(each) for each in config.tools_config.tools)
        self.config = AgentConfig(config.instruction, list(self._metas), run)

    def as_given(self, frame: FrameRefusals, where: str) -> None:
        """Refuse an instruction or tools that are others now."""
        same = self.config.instruction == self._config.instruction
        if not same or _told(self.config.tools) != _told(self._metas):
            frame.refuse("edited_config", where)


def _told(metas: Sequence[ToolMeta] | None) -> list[tuple[int, object]] | None:
    if metas is None:
        return None
    return [(id(each.tool), each.return_directly) for each in metas]
