"""Agents, models, tools and plugins of google-adk, made of what a world supplies."""

# Workflows are to come in place of these agents, and cannot yet be sub-agents.
# pyright: reportDeprecated=false

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, Final

from google.adk.agents import (
    BaseAgent,
    LlmAgent,
    LoopAgent,
    ParallelAgent,
    SequentialAgent,
)
from google.adk.models import BaseLlm
from google.adk.plugins import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.utils.streaming_utils import StreamingResponseAggregator
from google.genai import types
from pydantic import BaseModel, create_model

from compat.dialects.flow.content import Part
from compat.dialects.flow.events import ToolConfirmation
from compat.dialects.flow.model import LlmResponse
from compat.dialects.flow.values import plain
from compat.engines.flow.adk.values import (
    adk_chunk,
    adk_content,
    adk_part,
    adk_response,
    change_request,
    flow_confirmation,
    flow_content,
    flow_event,
    flow_part,
    flow_request,
    flow_response,
)
from compat.engines.flow.operations import RUN_HOOKS
from compat.engines.flow.scenario import FlowAgentSpec
from compat.engines.flow.world import (
    FlowHook,
    FlowWorld,
    FlowWorldTool,
    WorldModel,
    WorldPlugin,
)
from refengine.errors import ConfigurationError, error

_KINDS: Final[Mapping[str, type]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict,
    "array": list,
}


@error
class SchemaNotTakenError(ConfigurationError):
    """An input schema that no class of pydantic is made of here."""

    agent: str
    says = (
        "agent {agent!r}, input_schema: google-adk takes a class, made here of an"
        " object of plain properties; give one without nested schemas"
    )


class AdkContext:
    """A context of google-adk, as hooks and tools of a world take one."""

    def __init__(self, ctx: Any, response: Any = None) -> None:
        self._ctx, self._response = ctx, response
        self.agent_name: str = ctx.agent_name
        self.state = ctx.state
        self.actions = ctx.actions
        self.call_id: str = ctx.function_call_id or ""

    @property
    def confirmation(self) -> ToolConfirmation | None:
        """What the user said to this call."""
        asked = self._ctx.tool_confirmation
        return None if asked is None else flow_confirmation(asked)

    async def save_artifact(self, name: str, part: Part) -> int:
        """Keep one more version of a file."""
        version: int = await self._ctx.save_artifact(name, adk_part(part))
        return version

    async def load_artifact(self, name: str) -> Part | None:
        """Return the newest version of a file."""
        found = await self._ctx.load_artifact(name)
        return None if found is None else flow_part(found)

    def request_confirmation(self, hint: str = "", payload: object = None) -> None:
        """Ask the user before this call goes on."""
        self._ctx.request_confirmation(hint=hint, payload=payload)

    def edit_response(self, text: str) -> None:
        """Change the text of the response in place."""
        content = self._response.content
        if content is not None:
            content.parts = [types.Part(text=text)]


class ScriptedAdkModel(BaseLlm):
    """A model of a world."""

    asked: WorldModel

    async def generate_content_async(
        self,
        llm_request: Any,
        stream: bool = False,  # noqa: FBT002  # as google-adk declares it
    ) -> AsyncGenerator[Any, None]:
        """Answer as the script says."""
        asked = flow_request(llm_request)
        answers = self.asked.generate(asked, stream=stream, aggregate=_aggregated)
        async for response in answers:
            yield adk_response(response)


async def _aggregated(
    chunks: AsyncIterator[LlmResponse | None],
) -> AsyncGenerator[LlmResponse, None]:
    gathered = StreamingResponseAggregator()
    async for chunk in chunks:
        async for response in gathered.process_response(adk_chunk(chunk)):
            yield flow_response(response)
    last = gathered.close()
    if last is not None:
        yield flow_response(last)


class ScriptedAdkTool(FunctionTool):
    """A tool of a world; its arguments are given to it as they are."""

    def __init__(self, tool: FlowWorldTool) -> None:
        async def call(args: dict[str, Any], tool_context: Any) -> Any:
            return await tool.run(AdkContext(tool_context), args)

        super().__init__(call, require_confirmation=tool.spec.needs_confirmation)
        self.name, self.description = tool.spec.name, tool.spec.description
        self.is_long_running = tool.spec.long_running
        self._given = tool.spec.parameters

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=copy.deepcopy(self._given),
        )

    def _preprocess_args(self, args: dict[str, Any]) -> dict[str, Any]:
        return args

    def _prepare_invocation_args(
        self, args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any]:
        return {"args": args, "tool_context": tool_context}


def adk_agent(world: FlowWorld, spec: FlowAgentSpec) -> BaseAgent:
    """Return an agent and all below it, made of what the world supplies."""
    shared: dict[str, Any] = {
        "name": spec.name,
        "description": spec.description,
        "sub_agents": [adk_agent(world, each) for each in spec.sub_agents],
        **_callbacks(world, spec),
    }
    if spec.kind == "llm":
        return _llm_agent(world, spec, shared)
    if spec.kind == "loop":
        return LoopAgent(**shared, max_iterations=spec.max_iterations or None)
    return (SequentialAgent if spec.kind == "sequential" else ParallelAgent)(**shared)


def _llm_agent(
    world: FlowWorld, spec: FlowAgentSpec, shared: Mapping[str, Any]
) -> LlmAgent:
    provided, heat = spec.provided_instruction, spec.temperature
    return LlmAgent(
        **shared,
        model=ScriptedAdkModel(model=spec.model, asked=world.model(spec)),
        tools=[_tool(world, each) for each in world.tools(spec)],
        instruction=spec.instruction if provided is None else lambda _: provided,
        global_instruction=spec.global_instruction,
        include_contents=spec.include_contents,
        generate_content_config=None
        if heat is None
        else types.GenerateContentConfig(temperature=heat),
        disallow_transfer_to_parent=spec.disallow_transfer_to_parent,
        disallow_transfer_to_peers=spec.disallow_transfer_to_peers,
        input_schema=_input_schema(spec),
        output_schema=copy.deepcopy(spec.output_schema),
        output_key=spec.output_key or None,
    )


def _input_schema(spec: FlowAgentSpec) -> type[BaseModel] | None:
    if spec.input_schema is None:
        return None
    fields: dict[str, Any] = {}
    required: Any = spec.input_schema.get("required", ())
    properties: Any = spec.input_schema.get("properties", {})
    for name, each in properties.items():
        if set(each) != {"type"} or each["type"] not in _KINDS:
            raise SchemaNotTakenError(spec.name)
        kind = _KINDS[each["type"]]
        fields[name] = (kind, ...) if name in required else (kind | None, None)
    made: type[BaseModel] = create_model("Asked", **fields)
    return made


def _tool(world: FlowWorld, tool: FlowWorldTool) -> BaseTool:
    if tool.spec.agent is None:
        return ScriptedAdkTool(tool)
    inner = adk_agent(world, tool.spec.agent)
    return AgentTool(inner, skip_summarization=tool.spec.skip_summarization)


def _callbacks(world: FlowWorld, spec: FlowAgentSpec) -> dict[str, Any]:
    return {
        f"{hook}_callback": [
            _callback(hook, each) for each in world.callbacks(spec, hook)
        ]
        for hook in spec.callbacks
    }


def _callback(hook: str, call: FlowHook) -> Callable[..., Any]:
    """Return a hook of a world as google-adk calls it, which it does by keywords.

    ``more`` is what came of a tool or a model: a result or an error.
    """
    if "tool" in hook:

        async def of_tool(tool: Any, args: Any, tool_context: Any, **more: Any) -> Any:
            no_error = [None] if hook == "after_tool" else []
            given = AdkContext(tool_context), tool, args, *more.values(), *no_error
            return plain(await call(*given))

        return of_tool
    if hook == "after_model":

        async def of_response(callback_context: Any, llm_response: Any) -> Any:
            ctx = AdkContext(callback_context, llm_response)
            value = await call(ctx, flow_response(llm_response))
            return None if value is None else adk_response(value)

        return of_response
    if "model" in hook:

        async def of_request(
            callback_context: Any, llm_request: Any, **more: Any
        ) -> Any:
            given = callback_context, llm_request, *more.values()
            return await _asked(call, *given)

        return of_request

    async def of_agent(callback_context: Any) -> Any:
        return adk_content(await call(AdkContext(callback_context)))

    return of_agent


async def _asked(hook: FlowHook, ctx: Any, request: Any, *rest: Any) -> Any:
    """Call a hook that sees the request, and change that as the hook did."""
    before, shown = flow_request(request), flow_request(request)
    try:
        value = await hook(AdkContext(ctx), shown, *rest)
    finally:
        change_request(request, before, shown)
    return None if value is None else adk_response(value)


class ScriptedAdkPlugin(BasePlugin):
    """A plugin of a world; a hook that it does not have abstains, as the base's do."""

    def __init__(self, plugin: WorldPlugin) -> None:
        super().__init__(name=plugin.name)
        for hook, call in plugin.hooks.items():
            of_run = _of_run if hook in RUN_HOOKS else _of_runner
            setattr(self, f"{hook}_callback", of_run(hook, call))


def _of_run(hook: str, call: FlowHook) -> Callable[..., Any]:
    """Return a hook that plugins alone have: it is given no context."""

    async def called(
        *, invocation_context: Any, user_message: Any = None, event: Any = None
    ) -> Any:
        del invocation_context
        if hook == "on_event":
            told = await call(None, flow_event(event))
            if told is None:
                return None
            return event.model_copy(update={"content": adk_content(told.content)})
        given = [flow_content(user_message)] if hook == "on_user_message" else []
        return adk_content(await call(None, *given))

    return called


def _of_runner(hook: str, call: FlowHook) -> Callable[..., Any]:
    """Return a hook that agents have, too, with the names that plugins are given."""
    callback = _callback(hook, call)

    async def called(*, agent: Any = None, **given: Any) -> Any:
        del agent
        if "tool_args" in given:
            given["args"] = given.pop("tool_args")
        return await callback(**given)

    return called
