"""The world's tools as tools of ADK: scripted, and seen by the world."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from refengine.messages import Json
from refengine.testing.json_values import is_mapping
from refengine.testing.ops import ToolSpec
from refengine.testing.tool_runs import ToolRuns, calling, written
from refengine.testing.world import World

SCHEMA: Final[Mapping[str, Any]] = MappingProxyType(
    {"type": "object", "properties": {}, "additionalProperties": True}
)
"""Any arguments: a script may call a tool with whatever a subject looks for."""


class WorldAdkTool(BaseTool):
    """A tool that gives what its spec says and records each execution.

    A result that is not a JSON object is told as ``{"result": ...}``, as most tools do.
    """

    def __init__(self, spec: ToolSpec, world: World) -> None:
        described = spec.description or f"tool {spec.name}"
        super().__init__(name=spec.name, description=described)
        self._runs = ToolRuns(spec, world)
        self._parameters = dict(SCHEMA if spec.parameters is None else spec.parameters)
        self._direct = world.returns_directly(spec.name)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._parameters,
        )

    async def run_async(
        self, *, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Json]:
        """Give the result of the script; raises what is scripted."""
        text = written(args)
        with calling(tool_context.function_call_id):
            self._runs.begin(text)
            if self._runs.seconds:
                await asyncio.sleep(self._runs.seconds)
            result = self._runs.end(text)
        if self._direct:
            tool_context.actions.skip_summarization = True
        return as_result(result)


def as_result(text: str) -> dict[str, Json]:
    """Return a scripted result as an object."""
    try:
        found: object = json.loads(text)
    except ValueError:
        found = None
    return dict(found) if is_mapping(found) else {"result": text}
