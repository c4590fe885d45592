"""The door to ``create_agent`` of LangChain.

Each handler becomes a middleware with just its hooks, each tool and the model what the
framework takes for one; the framework is driven through its public interface alone.
Needs the extra ``langchain``, when it builds and not before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from compat.engines.capabilities import (
    OF_GRAPHS,
    OF_HOOKS,
    needs,
    of_extra,
    refuse_undeclared,
)
from refengine.agent import ChatModelAgentConfig
from refengine.plan import OnNotice
from refengine.profile import LANGCHAIN_1
from refengine.testing.doors import EngineAgent

DECLARED: Final = (
    OF_GRAPHS | {"struct_tools"} | (OF_HOOKS - {"wrap_streamable", "adapted_structs"})
)


class LangChainEngine:
    """Builds agents with ``langchain.agents.create_agent``.

    A struct middleware may bring tools, which are its middleware's ``tools``; the rest
    of a struct has no place there. ``max_iterations`` becomes a limit of steps: an
    ``after_agent`` hook takes one that the last iteration then lacks.
    """

    profile = LANGCHAIN_1
    capabilities = DECLARED

    def __init__(
        self,
        version: str = "",
        *,
        name: str = "langchain",
        create: Callable[..., Any] | None = None,
    ) -> None:
        """Build with ``create``, if it is given, instead of ``create_agent``.

        It is called as that is, ``create(model, tools, system_prompt=, middleware=)``,
        and returns the compiled graph: so a service's own agents are judged, with the
        middleware that they always have.
        """
        self.version = version
        self.name = name
        self._create = create

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent.

        Raises MissingExtraError, CapabilityError, or what the framework refuses.
        """
        del on_notice  # the framework says nothing beside its state
        refuse_undeclared(self.name, self.capabilities, config)
        with of_extra(self.name, "langchain"):
            from compat.engines.graphs.building import langchain_agent  # noqa: PLC0415  # an extra
        return langchain_agent(self.name, config, self._create)


def installed() -> LangChainEngine:
    """Return the engine as it is installed; raises MissingExtraError."""
    return LangChainEngine(needs("langchain", "langchain", "langchain", "langchain"))
