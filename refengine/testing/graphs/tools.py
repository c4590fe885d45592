"""The world's tools as tools of LangChain: scripted, and seen by the world."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field, create_model

from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.ops import ToolSpec
from refengine.testing.tool_runs import ToolRuns, calling, given_by_name
from refengine.testing.world import CALLING, World

OWN: Final = "refengine_world"
"""The metadata key of a tool that observes itself."""
SCHEMA: Final[Mapping[str, Any]] = MappingProxyType(
    {"type": "object", "properties": {}, "additionalProperties": True}
)
"""Any arguments: a script may call a tool with whatever a subject looks for."""
TYPES: Final[Mapping[str, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}


class WorldTool(BaseTool):
    """A tool that gives what its spec says and records each execution."""

    world: Any = Field(exclude=True, repr=False)
    spec: Any = Field(exclude=True, repr=False)

    def run(
        self,
        *given: Any,  # noqa: ANN401  # as BaseTool.run
        tool_call_id: str | None = None,
        **more: Any,  # noqa: ANN401  # as BaseTool.run
    ) -> Any:  # noqa: ANN401  # as BaseTool.run
        """Run it, and remember for which call."""
        self._checked(given)
        with calling(tool_call_id or CALLING.get()):
            return super().run(*given, tool_call_id=tool_call_id, **more)

    async def arun(
        self,
        *given: Any,  # noqa: ANN401  # as BaseTool.arun
        tool_call_id: str | None = None,
        **more: Any,  # noqa: ANN401  # as BaseTool.arun
    ) -> Any:  # noqa: ANN401  # as BaseTool.arun
        """Run it, and remember for which call."""
        self._checked(given)
        with calling(tool_call_id or CALLING.get()):
            return await super().arun(*given, tool_call_id=tool_call_id, **more)

    def _run(self, /, *_: object, **arguments: object) -> str:
        text = given_by_name(arguments)
        self._runs.begin(text)
        self._world.clock.sleep(self._runs.seconds)
        return self._runs.end(text)

    async def _arun(self, /, *_: object, **arguments: object) -> str:
        text = given_by_name(arguments)
        self._runs.begin(text)
        if self._runs.seconds:
            await asyncio.sleep(self._runs.seconds)
        return self._runs.end(text)

    def _checked(self, given: Sequence[object]) -> None:
        """Refuse arguments that the schema does not take, as a typed tool does."""
        if self.spec.parameters is not None and given and isinstance(given[0], dict):
            arguments_model(self.name, self.spec.parameters).model_validate(given[0])

    @property
    def _world(self) -> World:
        return cast("World", self.world)

    @property
    def _runs(self) -> ToolRuns:
        return ToolRuns(cast("ToolSpec", self.spec), self._world)


def world_tool(spec: ToolSpec, world: World) -> WorldTool:
    """Return the tool that does what the spec says, in this world."""
    return WorldTool(
        name=spec.name,
        description=spec.description or f"tool {spec.name}",
        args_schema=dict(SCHEMA if spec.parameters is None else spec.parameters),
        return_direct=world.returns_directly(spec.name),
        metadata={OWN: True},
        world=world,
        spec=spec,
    )


def arguments_model(name: str, parameters: Mapping[str, Any]) -> type[BaseModel]:
    """Return the class of a tool's arguments, which refuses what does not fit.

    LangChain hands on arguments unseen where a tool has a schema and no class for them;
    tools that are functions refuse, and both frameworks tell the model why. So that
    worlds have such refusals, the first level of a schema is a class here: names,
    types, choices.
    """
    return _made(name, json.dumps(parameters, sort_keys=True))


@lru_cache(maxsize=256)
def _made(name: str, text: str) -> type[BaseModel]:
    schema: dict[str, Any] = json.loads(text)
    found = schema.get("properties")
    fields: Mapping[str, Any] = found if is_mapping(found) else {}
    required = schema.get("required")
    needed = set(map(str, required)) if is_list(required) else set[str]()
    closed = schema.get("additionalProperties") is False
    config = ConfigDict(extra="forbid" if closed else "allow", protected_namespaces=())
    given: dict[str, Any] = {
        key: (_kind(each), ...) if key in needed else (_kind(each) | None, None)
        for key, each in fields.items()
        if key.isidentifier() and key[:1] != "_" and not hasattr(BaseModel, key)
    }
    return create_model(name, __config__=config, **given)


def _kind(schema: object) -> Any:  # noqa: ANN401  # a type
    if not is_mapping(schema):
        return Any
    choices = schema.get("enum")
    if is_list(choices) and choices and all(isinstance(c, str) for c in choices):
        return Literal[tuple(choices)]
    kind = schema.get("type")
    if is_list(kind):
        known = [TYPES.get(str(each)) for each in kind if each != "null"]
        return known[0] | None if known and known[0] is not None else Any
    return TYPES.get(str(kind), Any)
