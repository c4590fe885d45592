"""Putting a configuration together as each of the two frameworks wants it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from langchain_core.messages import SystemMessage
from langgraph.prebuilt import ToolNode
from langgraph.warnings import LangGraphDeprecatedSinceV10

from compat.engines.capabilities import hooks_by_name
from compat.engines.graphs.hooks import Hook, after_node, before_node, tool_wrapper
from compat.engines.graphs.middlewares import middleware_of
from compat.engines.graphs.run import GraphAgent
from compat.engines.graphs.values import DoorModel, DoorTool
from refengine.agent import ChatModelAgentConfig
from refengine.chain import LayerName
from refengine.extensions import numbered
from refengine.tools import Tool, ToolMeta, as_meta

BEFORE = "before_model_rewrite_history"
AFTER = "after_model_rewrite_history"
WRAP_TOOL = "wrap_invokable_tool_call"
MODEL_HOOKS = (".before_model", ".after_model")
"""How the framework's nodes of hooks around the model end."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What an agent is made of, in the framework's types."""

    model: DoorModel
    tools: Sequence[DoorTool]
    structs: Sequence[Sequence[DoorTool]]
    handlers: Sequence[tuple[str, Mapping[str, Hook]]]
    prompt: SystemMessage | None

    def with_hook(self, hook: str) -> list[Hook]:
        """Return the handlers' hooks of that name, in order."""
        return [hooks[hook] for _, hooks in self.handlers if hook in hooks]


def parts_of(config: ChatModelAgentConfig) -> Parts:
    """Return the parts of a configuration that was found to need nothing undeclared."""
    direct = config.tools_config.return_directly

    def tool(given: Tool | ToolMeta) -> DoorTool:
        meta = as_meta(given)
        own = meta.return_directly
        flag = direct.get(meta.name, False) if own is None else own
        return DoorTool(meta.tool, return_direct=flag)

    found = [hooks_by_name(each) for each in config.handlers]
    owners = numbered([name for name, _ in found])
    first = len(config.middlewares)
    return Parts(
        DoorModel(config.model),
        [tool(each) for each in config.tools_config.tools],
        [[tool(t) for t in each.additional_tools] for each in config.middlewares],
        [
            (name, _layers(hooks, owner, first + at))
            for at, (owner, (name, hooks)) in enumerate(zip(owners, found, strict=True))
        ],
        SystemMessage(config.instruction) if config.instruction else None,
    )


def _layers(found: Mapping[str, Any], owner: str, position: int) -> Mapping[str, Hook]:
    """Return the hooks of a handler, each with whose it is, as errors tell it."""
    return {
        hook: Hook(LayerName(owner, position, hook), call)
        for hook, call in found.items()
    }


def langchain_agent(
    engine: str,
    config: ChatModelAgentConfig,
    create: Callable[..., Any] | None = None,
) -> GraphAgent:
    """Build with ``create_agent``, or what calls it; raises what that refuses."""
    parts = parts_of(config)
    create_agent: Any = create or import_module("langchain.agents").create_agent
    middlewares = [
        middleware_of(f"middleware[{at}]", {}, config, tools)
        for at, tools in enumerate(parts.structs)
    ]
    middlewares += [
        middleware_of(name, hooks, config) for name, hooks in parts.handlers
    ]
    graph: Any = create_agent(
        parts.model,
        list(parts.tools),
        system_prompt=parts.prompt,
        middleware=middlewares,
    )
    # A graph that somebody else made may have hooks besides ours.
    hooks = sum(str(node).endswith(MODEL_HOOKS) for node in graph.nodes)
    steps = config.max_iterations * (2 + hooks) + len(parts.with_hook("before_agent"))
    return GraphAgent(
        engine,
        config.name,
        graph,
        "model",
        config.max_iterations,
        steps,
        bool(parts.with_hook("wrap_model_call")),
    )


def langgraph_agent(
    engine: str, config: ChatModelAgentConfig, *, keeps_edits: bool
) -> GraphAgent:
    """Build with ``create_react_agent``; raises what it refuses."""
    parts = parts_of(config)
    node = ToolNode(
        parts.tools, awrap_tool_call=tool_wrapper(parts.with_hook(WRAP_TOOL))
    )
    before = before_node(parts.with_hook(BEFORE), keeps_edits=keeps_edits)
    after = after_node(parts.with_hook(AFTER))
    create_react_agent: Any = import_module("langgraph.prebuilt").create_react_agent
    with warnings.catch_warnings():
        # That it is deprecated is why somebody migrates from it.
        warnings.simplefilter("ignore", LangGraphDeprecatedSinceV10)
        graph: Any = create_react_agent(
            parts.model,
            node,
            prompt=parts.prompt,
            pre_model_hook=before,
            post_model_hook=after,
            version="v2",
        )
    hooks = (before is not None) + (after is not None)
    return GraphAgent(
        engine,
        config.name,
        graph,
        "agent",
        config.max_iterations,
        config.max_iterations * (2 + hooks),
    )
