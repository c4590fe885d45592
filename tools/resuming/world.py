"""A world that can be cut: its tools have points, and its extensions are dressed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.stream import StreamReader
from refengine.testing.ops import ToolSpec
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.world import World
from refengine.tools import Options, Tool
from tools.resuming.dress import Dress
from tools.resuming.points import Cutter, Inside


class CutWorld(World):
    """A world whose tools, handlers and struct middlewares have points."""

    def __init__(
        self, spec: AgentSpec, scenario: Scenario, recorder: Recorder, cutter: Cutter
    ) -> None:
        self.cutter = cutter
        self.made: list[CutTool] = []
        super().__init__(spec, scenario, recorder)

    def tool(self, spec: ToolSpec) -> Tool:
        """Return the recording tool with a point at its start and at its end."""
        made = CutTool(super().tool(spec), self.cutter)
        self.made.append(made)
        return cast("Tool", made)

    def dressed(self) -> ChatModelAgentConfig:
        """Return the configuration of the agent, its extensions dressed."""
        config = self.config()
        dress = Dress(self.cutter)
        wraps = [
            dress.tool_middleware(each, f"tool_call_middlewares[{at}]")
            for at, each in enumerate(config.tools_config.tool_call_middlewares)
        ]
        return replace(
            config,
            tools_config=replace(
                config.tools_config, tool_call_middlewares=tuple(wraps)
            ),
            middlewares=[
                dress.middleware(each, at) for at, each in enumerate(config.middlewares)
            ],
            handlers=dress.handlers(config.handlers),
        )


class CutTool:
    """A tool with points: where it starts, and where it has a result or a stream."""

    def __init__(self, tool: Tool, cutter: Cutter) -> None:
        self.info = tool.info
        self._tool: Any = tool
        self._cutter = cutter
        if hasattr(tool, "invoke"):
            self.invoke = self._invoke
        if hasattr(tool, "stream"):
            self.stream = self._stream

    @property
    def executions(self) -> int:
        """How often it ran, as the world counts it."""
        return cast("int", self._tool.executions)

    @executions.setter
    def executions(self, count: int) -> None:
        self._tool.executions = count

    async def _invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        with self._entered(ctx) as inside:
            inside.point("start")
            result: str = await self._tool.invoke(ctx, arguments, options)
            inside.point("end")
            return result

    async def _stream(
        self, ctx: Context, arguments: str, options: Options
    ) -> StreamReader[str]:
        with self._entered(ctx) as inside:
            inside.point("start")
            reader: StreamReader[str] = await self._tool.stream(ctx, arguments, options)
            try:
                inside.point("end")
            except BaseException:
                await reader.aclose()
                raise
            return reader

    def _entered(self, ctx: Context) -> Inside:
        key = f"tool {self.info.name} {ctx.tool_call_id}"
        return self._cutter.enter(key, "tool", leaf=True)
