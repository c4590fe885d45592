"""The world's tools as tools of LangChain: scripted, and seen by the world."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from langchain_core.tools import BaseTool
from pydantic import Field

from refengine.testing.graphs.schemas import arguments_model
from refengine.testing.ops import ToolSpec
from refengine.testing.tool_runs import ToolRuns, calling, written
from refengine.testing.world import CALLING, World

OWN: Final = "refengine_world"
"""The metadata key of a tool that observes itself."""
SCHEMA: Final[Mapping[str, Any]] = MappingProxyType(
    {"type": "object", "properties": {}, "additionalProperties": True}
)
"""Any arguments: a script may call a tool with whatever a subject looks for."""


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
        text = written(arguments)
        self._runs.begin(text)
        self._world.clock.sleep(self._runs.seconds)
        return self._runs.end(text)

    async def _arun(self, /, *_: object, **arguments: object) -> str:
        text = written(arguments)
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
