"""Worlds without what an engine cannot be asked for, where that is beside the point.

A subject is looked at in as many worlds as there are. One that streams is played in one
piece on an engine that does not stream, its neighbours go where the engine has no hook
for them, and so on; what no change takes away is left out by ``worlds``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeAlias

from compat.engines.needs import is_usual
from refengine.messages import Message, join_chunks
from refengine.testing.notation import parse_chunk, parse_message, write_message
from refengine.testing.scenario import AgentSpec, ModelFailure, Scenario, ScriptEntry

Playable: TypeAlias = "Callable[[Scenario], bool]"

AGENTS: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        "unknown_tools_handler": {"unknown_tools_handler": None},
        "sequential": {"sequential": False},
        "return_directly": {"return_directly": {}},
    }
)
"""By capability: what an agent has where an engine does not declare it."""


def eased(world: Scenario, can: AbstractSet[str], playable: Playable) -> Scenario:
    """Return a world as near to this one as an engine with these capabilities has it."""
    if playable(world):
        return world
    if "streaming" not in can:
        runs = [each.model_copy(update={"streaming": False}) for each in world.runs]
        world = world.model_copy(update={"runs": tuple(runs)})
    if "arguments_text" not in can:
        script = map(_with_objects, world.model_script)
        world = world.model_copy(update={"model_script": tuple(script)})
    agents = tuple(_agent(each, can, playable) for each in world.all_agents)
    if world.agent is not None:
        return world.model_copy(update={"agent": agents[0]})
    return world.model_copy(update={"agents": agents})


def _agent(spec: AgentSpec, can: AbstractSet[str], playable: Playable) -> AgentSpec:
    changes = {
        key: value
        for capability, change in AGENTS.items()
        if capability not in can
        for key, value in change.items()
    }
    if "streamable_tools" not in can:
        whole = {"kind": "invokable"}
        changes["tools"] = tuple(each.model_copy(update=whole) for each in spec.tools)

    def has(**part: object) -> bool:
        alone = AgentSpec().model_copy(update=part)
        return playable(Scenario(agent=AgentSpec()).model_copy(update={"agent": alone}))

    for kind in ("tool_call_middlewares", "middlewares"):
        there: Sequence[object] = getattr(spec, kind)
        changes[kind] = tuple(each for each in there if has(**{kind: (each,)}))
    several = [each for each in spec.handlers if each.same_as is not None]
    if not several or not has(handlers=spec.handlers):
        kept = (each for each in spec.handlers if each.same_as is None)
        changes["handlers"] = tuple(each for each in kept if has(handlers=(each,)))
    return spec.model_copy(update=changes)


def _with_objects(entry: ScriptEntry) -> ScriptEntry:
    """Return an answer whose calls have objects for arguments."""
    message = _whole(entry)
    if message is None or all(is_usual(c.arguments) for c in message.tool_calls):
        return entry
    calls = [replace(c, arguments=_object(c.arguments)) for c in message.tool_calls]
    return write_message(replace(message, tool_calls=tuple(calls)))


def _whole(entry: ScriptEntry) -> Message | None:
    """Return the answer, None if it fails."""
    if isinstance(entry, str):
        return parse_message(entry)
    if isinstance(entry, ModelFailure) or entry.stream_error is not None:
        return None
    return join_chunks(map(parse_chunk, entry.chunks))


def _object(arguments: str) -> str:
    try:
        tree: object = json.loads(arguments)
    except ValueError:
        return "{}"
    return json.dumps(tree, ensure_ascii=False) if isinstance(tree, dict) else "{}"
