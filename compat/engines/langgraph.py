"""The door to ``create_react_agent`` of LangGraph.

It has one hook before the model and one after it. A list of handlers is called in
order inside that one, as teams do, and tool wrappers nest inside the one wrapper that
its ToolNode takes. Needs the extra ``langchain``, when it builds.
"""

from __future__ import annotations

from typing import Final

from compat.engines.capabilities import (
    OF_GRAPHS,
    needs,
    of_extra,
    refuse_undeclared,
)
from refengine.agent import ChatModelAgentConfig
from refengine.plan import OnNotice
from refengine.profile import LANGGRAPH_PREBUILT_1
from refengine.testing.doors import EngineAgent

DECLARED: Final = OF_GRAPHS | {"before_model", "after_model", "wrap_tool"}


class LangGraphEngine:
    """Builds agents with ``langgraph.prebuilt.create_react_agent``, version "v2".

    What before-model handlers leave is handed on as ``llm_input_messages``, which the
    model sees and the state does not keep; with ``keeps_edits`` it replaces the
    messages of the state. Both are in use.
    """

    capabilities = DECLARED
    profile = LANGGRAPH_PREBUILT_1
    """Without ``keeps_edits``: with it, ``before_model_edits`` is "kept"."""

    def __init__(self, version: str = "", *, keeps_edits: bool = False) -> None:
        self.version = version
        self.keeps_edits = keeps_edits
        self.name = "langgraph"

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent.

        Raises MissingExtraError, CapabilityError, or what the framework refuses.
        """
        del on_notice  # the framework says nothing beside its state
        refuse_undeclared(self.name, self.capabilities, config)
        with of_extra(self.name, "langchain"):
            from compat.engines.graphs.building import langgraph_agent  # noqa: PLC0415  # an extra
        return langgraph_agent(self.name, config, keeps_edits=self.keeps_edits)


def installed() -> LangGraphEngine:
    """Return the engine as it is installed; raises MissingExtraError."""
    found = needs("langgraph", "langchain", "langgraph", "langgraph-prebuilt")
    return LangGraphEngine(found)
