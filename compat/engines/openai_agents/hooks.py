"""Where a handler's hooks stand in openai-agents: hooks of an agent, and a filter.

A run has one filter of what the model is shown, and an agent one ``AgentHooks``, which
is called at the same time as the hooks of the run; those are the door's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agents import Agent, AgentHookContext, AgentHooks, RunContextWrapper, RunHooks
from agents.agent import StopAtTools
from agents.items import ModelResponse
from agents.run_config import CallModelData, ModelInputData

from compat.engines.openai_agents.messages import our_answer, ours, theirs
from compat.engines.openai_agents.values import RunDeps, tool_of
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.hooks import AgentConfig
from refengine.messages import Message
from refengine.testing.blaming import AsyncHook
from refengine.tools import NO_OPTIONS, ToolMeta, as_meta

Found = Mapping[str, AsyncHook]
"""The hooks of the handler of an agent, if it has one, by name."""


def made_of(
    instruction: str, metas: Iterable[ToolMeta] | None, direct: Mapping[str, bool]
) -> dict[str, Any]:
    """Return what an agent has of an instruction and tools; flags are by name there."""
    given = [*metas] if metas is not None else None
    stops = [each.name for each in given or () if _is_direct(each, direct)]
    return {
        "instructions": instruction or None,
        "tools": given and [tool_of(each.tool) for each in given],
        "tool_use_behavior": StopAtTools(stop_at_tool_names=stops),
    }


def _is_direct(meta: ToolMeta, direct: Mapping[str, bool]) -> bool:
    own = meta.return_directly
    return direct.get(meta.name, False) if own is None else own


class HandlerHooks(AgentHooks[RunDeps]):
    """The hooks of a handler that stand around a run."""

    def __init__(self, config: ChatModelAgentConfig, found: Found) -> None:
        self._config = config
        self._found = found

    async def on_start(self, context: AgentHookContext[RunDeps], agent: Any) -> None:  # noqa: ANN401  # as the framework has it
        """Let the handler edit the agent, which is this run's own."""
        hook = self._found.get("before_agent")
        if hook is None:
            return
        tools = self._config.tools_config
        run = ours(context.turn_input), NO_OPTIONS
        shown = AgentConfig(
            self._config.instruction, [as_meta(each) for each in tools.tools], run
        )
        left = await hook(Context(), shown)
        context.context.unchanged(left, "before_agent")
        made = made_of(shown.instruction, shown.tools, tools.return_directly)
        for name, value in made.items():
            setattr(agent, name, value)

    async def on_end(
        self, context: AgentHookContext[RunDeps], agent: object, output: object
    ) -> None:
        """Show the handler the history; the framework hands over the output alone."""
        del agent, output
        deps = context.context
        deps.all_called()
        hook = self._found.get("after_agent")
        if hook is not None:
            left = await hook(deps.ctx, deps.history)
            deps.unchanged(left, "after_agent")


class TellingHooks(RunHooks[RunDeps]):
    """The door's own hooks of a run: what there is to tell of."""

    async def on_llm_end(
        self,
        context: RunContextWrapper[RunDeps],
        agent: Agent[RunDeps],
        response: ModelResponse,
    ) -> None:
        """Tell of an answer."""
        del agent
        deps, answer = context.context, our_answer(response.output)
        deps.history = (*deps.history, answer)
        await deps.answered(answer)

    async def on_tool_end(
        self,
        context: Any,  # noqa: ANN401  # that of a call of a function
        agent: Agent[RunDeps],
        tool: Any,  # noqa: ANN401  # as the framework has it
        result: object,
    ) -> None:
        """Tell of a result."""
        del agent
        called = context.tool_call_id
        about = {"tool_call_id": called, "name": tool.name}
        found = Message("tool", str(result), **about)
        context.context.results[called] = found
        await context.context.resulted(found)


async def filtered(data: CallModelData[RunDeps], found: Found) -> ModelInputData:
    """Return what the model is shown, as the handler leaves it."""
    deps: Any = data.context
    deps.asked += 1
    deps.history = given = ours(data.model_data.input)
    hook = found.get("before_model_rewrite_history")
    if hook is None:
        return data.model_data
    ctx, left = await hook(deps.ctx, given)
    deps.unchanged(ctx, "before_model_rewrite_history")
    if tuple(left) == given:
        return data.model_data
    return ModelInputData(theirs(left), data.model_data.instructions)
