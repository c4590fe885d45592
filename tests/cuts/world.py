"""A world that can be cut: its tools have points, and its extensions are dressed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from refengine.agent import ChatModelAgentConfig
from refengine.awaiting import is_async
from refengine.context import Context
from refengine.hooks import ONION_HOOKS, AnyHook
from refengine.stream import StreamReader
from refengine.testing.extensions import EDITED
from refengine.testing.notation import parse_message, show_message
from refengine.testing.observers import HookDress, Wrapping
from refengine.testing.ops import ToolSpec
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.world import World
from refengine.tools import Options, Tool
from tests.cuts.points import INSIDE, Cutter, Inside

BUILDING: Final = "before_agent"
"""The hook that is never cut: an interrupt there comes too early, by name."""


class Dress(HookDress):
    """Puts points into extensions; what they do stays as it is."""

    def __init__(self, cutter: Cutter) -> None:
        super().__init__()
        self._cutter = cutter

    def hook(self, where: str, hook: str, method: AnyHook) -> AnyHook:
        """Return the hook with points in it."""
        dressed = self._wrapper if hook in ONION_HOOKS else self._hook
        return dressed(f"{where}.{hook}", hook, method)

    def factory(self, where: str, hook: str, factory: Wrapping) -> Wrapping:
        """Return the factory, with points in what it makes."""
        cutter, key = self._cutter, f"{where}.{hook}"
        phase = "wrap_tool_call" if "wrap_tool" in hook else "tool_call_middlewares"

        def make(endpoint: AnyHook) -> AnyHook:
            async def inner(ctx: Context, value: Any) -> Any:
                around = [each for each in INSIDE.get() if each.startswith(f"{key} ")]
                return await _passing(around[-1], endpoint)(ctx, value)

            made = factory(inner)
            if made is inner:
                return endpoint

            async def outer(ctx: Context, value: Any) -> Any:
                with cutter.enter(_own(key, value), phase) as inside:
                    inside.point("start")
                    result = await made(ctx, value)
                    inside.point("end")
                    return result

            return outer

        return make

    def _hook(self, key: str, phase: str, hook: AnyHook) -> AnyHook:
        if phase == BUILDING:
            return hook
        cutter = self._cutter
        if phase == "after_agent":
            hook = _after_agent(hook)
        if is_async(hook):

            async def entered(*given: Any) -> Any:
                with cutter.enter(key, phase, leaf=True) as inside:
                    inside.point("start")
                    result = await hook(*given)
                    inside.point("end")
                    return result

            return entered

        def enter(*given: Any) -> Any:
            with cutter.enter(key, phase, leaf=True) as inside:
                inside.point("start")
                result = hook(*given)
                inside.point("end")
                return result

        return enter

    def _wrapper(self, key: str, phase: str, hook: AnyHook) -> AnyHook:
        cutter = self._cutter

        async def entered(ctx: Context, value: Any, inner: AnyHook) -> Any:
            own = _own(key, value)
            with cutter.enter(own, phase) as inside:
                inside.point("start")
                result = await hook(ctx, value, _passing(own, inner))
                inside.point("end")
                return result

        return entered


def _after_agent(hook: AnyHook) -> AnyHook:
    """Let what a world's hooks hand on be kept: messages are no such values."""

    def before(ctx: Context) -> Context:
        texts = ctx.get(EDITED)
        if texts is None:
            return ctx
        return ctx.with_value(EDITED, tuple(map(parse_message, cast("Any", texts))))

    def after(ctx: Context) -> Context:
        edited = ctx.get(EDITED)
        if edited is None:
            return ctx
        return ctx.with_value(EDITED, list(map(show_message, cast("Any", edited))))

    if is_async(hook):

        async def wait(ctx: Context, messages: object) -> Context:
            return after(await hook(before(ctx), messages))

        return wait

    def enter(ctx: Context, messages: object) -> Context:
        return after(hook(before(ctx), messages))

    return enter


def _own(key: str, value: object) -> str:
    """Return the key of an entry for one call: an input, or a request of the model."""
    call_id = getattr(value, "call_id", None)
    return key if call_id is None else f"{key} {call_id}"


def _passing(own: str, inner: AnyHook) -> AnyHook:
    """Return ``next`` with a point before it and one after it, however it ends."""

    async def pass_on(ctx: Context, value: Any) -> Any:
        inside = INSIDE.get()[own]
        inside.point("before next")
        try:
            with inside.calling():
                result = await inner(ctx, value)
        except Exception:
            inside.point("after next failed")
            raise
        inside.point("after next")
        return result

    return pass_on


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
