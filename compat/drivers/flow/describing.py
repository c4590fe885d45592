"""What a driver is told of a world: agents, plugins, and by number what is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from compat.drivers.held import Held
from compat.engines.flow.scenario import FlowAgentSpec
from compat.engines.flow.world import FlowWorld, FlowWorldTool

OF_A_MODEL: Final = (
    "instruction",
    "provided_instruction",
    "global_instruction",
    "include_contents",
    "temperature",
    "disallow_transfer_to_parent",
    "disallow_transfer_to_peers",
    "input_schema",
    "output_schema",
    "output_key",
)
"""The fields of an agent that a driver is told as they are, if they are not None."""


def described(world: FlowWorld, held: Held) -> Mapping[str, object]:
    """Return what a runner is built of."""
    return {
        "agent": _agent(world, world.scenario.agent, held),
        "plugins": [
            {
                "name": plugin.name,
                "hooks": {
                    hook: held.number(each) for hook, each in plugin.hooks.items()
                },
            }
            for plugin in world.plugins()
        ],
        "artifact_service": world.scenario.artifact_service,
    }


def _agent(world: FlowWorld, spec: FlowAgentSpec, held: Held) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": spec.name,
        "kind": spec.kind,
        "description": spec.description,
        "sub_agents": [_agent(world, each, held) for each in spec.sub_agents],
        "callbacks": {
            hook: [held.number(each) for each in world.callbacks(spec, hook)]
            for hook in spec.callbacks
        },
    }
    if spec.kind == "loop":
        told["max_iterations"] = spec.max_iterations
    if spec.kind != "llm":
        return told
    told["model"] = {"model": held.number(world.model(spec)), "name": spec.model}
    told["tools"] = [_tool(world, each, held) for each in world.tools(spec)]
    said = {name: getattr(spec, name) for name in OF_A_MODEL}
    return told | {name: each for name, each in said.items() if each is not None}


def _tool(world: FlowWorld, tool: FlowWorldTool, held: Held) -> dict[str, Any]:
    spec = tool.spec
    if spec.agent is not None:
        inner = _agent(world, spec.agent, held)
        return {"agent": inner, "skip_summarization": spec.skip_summarization}
    told: dict[str, Any] = {
        "tool": held.number(tool),
        "name": spec.name,
        "description": spec.description,
        "long_running": spec.long_running,
        "needs_confirmation": spec.needs_confirmation,
    }
    if spec.parameters is not None:
        told["parameters"] = spec.parameters
    return told
