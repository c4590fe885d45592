"""Watching what a subject brings: callbacks, plugins, and tools of its own.

Each is put into a wrapper that counts it and says where an exception of it was raised,
and changes nothing else: lists keep their length, functions their signature.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from google.adk.agents import BaseAgent
from google.adk.plugins import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool

from refengine.testing.adk.bridge import WorldAdkTool
from refengine.testing.flows.watching import (
    STAGES,
    CountedHooks,
    Hook,
    OwnExecution,
    marking,
)
from refengine.testing.json_values import is_list
from refengine.testing.tool_runs import calling, given_by_name
from refengine.testing.world import World

OF_PLUGINS: Final = (
    "on_user_message",
    "before_run",
    "on_event",
    "after_run",
    "on_agent_error",
    "on_run_error",
)
"""What only plugins have."""


class AdkWatch:
    """Counts hooks of one subject, and puts down what its own tools do."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._hooks = CountedHooks(_call_of)
        self.agents: list[BaseAgent] = []

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each hook of the subject ran."""
        return dict(self._hooks.counts)

    def dress(self, root: BaseAgent, plugins: Sequence[BasePlugin]) -> None:
        """Watch all that is attached to a root agent, and these plugins."""
        self._agent(root)
        for plugin in plugins:
            for stage in (*STAGES, *OF_PLUGINS):
                self._plugin(plugin, stage)

    def _plugin(self, plugin: BasePlugin, stage: str) -> None:
        name = f"{stage}_callback"
        written_by = getattr(type(plugin), name, None)
        if written_by is getattr(BasePlugin, name, None):
            return
        hook = getattr(plugin, name)
        setattr(
            plugin, name, self._hooks.watched(hook, f"{plugin.name}.{stage}", stage)
        )

    def _agent(self, agent: BaseAgent) -> None:
        if any(agent is each for each in self.agents):
            return
        self.agents.append(agent)
        for stage in STAGES:
            given = getattr(agent, f"{stage}_callback", None)
            if given:
                watched = self._callbacks(given, f"{agent.name}.{stage}", stage)
                setattr(agent, f"{stage}_callback", watched)
        tools = getattr(agent, "tools", None)
        if tools:
            setattr(agent, "tools", [*map(self._tool, tools)])  # noqa: B010  # not every agent has
        for each in agent.sub_agents:
            self._agent(each)

    def _callbacks(self, given: Any, name: str, stage: str) -> Any:  # noqa: ANN401  # one, or a list
        if not is_list(given):
            return self._hooks.watched(given, name, stage)
        return [
            self._hooks.watched(each, f"{name}[{at}]", stage)
            for at, each in enumerate(given)
        ]

    def _tool(self, given: Any) -> Any:  # noqa: ANN401  # what an agent takes for a tool
        if isinstance(given, BaseToolset):
            return self._toolset(given)
        if isinstance(given, WorldAdkTool):
            return given
        if isinstance(given, AgentTool):
            self._agent(given.agent)
            return given
        if isinstance(given, BaseTool):
            return self._own(given)
        if inspect.isroutine(given):
            return self._own(FunctionTool(given))
        return given

    def _toolset(self, toolset: BaseToolset) -> BaseToolset:
        hook = toolset.get_tools

        @functools.wraps(hook)
        async def watched(*args: Any, **kwargs: Any) -> list[BaseTool]:  # noqa: ANN401  # as get_tools
            return [self._tool(each) for each in await hook(*args, **kwargs)]

        setattr(toolset, "get_tools", watched)  # noqa: B010  # a method
        return toolset

    def _own(self, tool: BaseTool) -> BaseTool:
        """Watch a tool of the subject's own: its function, or else all of its run."""
        if getattr(tool, WATCHED, None) is self:
            return tool
        setattr(tool, WATCHED, self)
        plain = isinstance(tool, FunctionTool) and inspect.isroutine(tool.func)
        run: Hook = tool.run_async
        if isinstance(tool, FunctionTool) and plain:
            tool.func = self._function(tool.func, tool.name)

        @functools.wraps(run)
        async def watched(*, args: dict[str, Any], tool_context: Any) -> Any:  # noqa: ANN401  # as run_async
            with calling(tool_context.function_call_id), marking("tool"):
                if plain:
                    return await run(args=args, tool_context=tool_context)
                with self._execution(tool.name, args) as done:
                    return done(await run(args=args, tool_context=tool_context))

        setattr(tool, "run_async", watched)  # noqa: B010  # a method
        return tool

    def _function(self, function: Hook, name: str) -> Hook:
        """Watch a tool's function, which is reached only if the call is let through."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as the function
                with self._execution(name, kwargs) as done:
                    return done(await function(*args, **kwargs))

            return awaited

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as the function
            with self._execution(name, kwargs) as done:
                return done(function(*args, **kwargs))

        return watched

    def _execution(self, name: str, args: Mapping[str, Any]) -> OwnExecution:
        given = {key: each for key, each in args.items() if not _is_context(each)}
        return OwnExecution(self._world, name, given_by_name(given))


WATCHED: Final = "__refengine_watch__"
"""The attribute of a tool that is watched, with who does."""


def _call_of(values: Sequence[object]) -> str | None:
    """Return the id of the call that a hook is given the context of, if it is."""
    found: Iterator[object] = (
        getattr(each, "function_call_id", None) for each in values if _is_context(each)
    )
    return next((each for each in found if isinstance(each, str)), None)


def _is_context(value: object) -> bool:
    return type(value).__module__.startswith("google.adk.")
