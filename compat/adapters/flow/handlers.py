"""Callbacks and plugins of one Flow agent as a handler of the engine (FLOW-COMPAT).

The handler stands around the model and around each tool, and runs there the stages that
a flow runs, which decide as ever who is asked, who wins, and which exception becomes
the data that a model is told. Only what stands inside of them is the engine's.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast, final

from compat.adapters.flow.carried import (
    CarriedRun,
    carried_run,
    refuse_parts,
)
from compat.adapters.flow.converting import (
    answer_of,
    call_of,
    config_of,
    declaration_of,
    info_of,
    message_groups,
    messages_of,
    refused,
    response_of_message,
    settings_of,
    text_of,
    value_of,
)
from compat.adapters.flow.plugins import LLM_HOOKS
from compat.dialects.flow import (
    Content,
    Event,
    FlowModel,
    FlowProfile,
    FunctionDeclaration,
    LlmAgent,
    LlmRequest,
    LlmResponse,
    Plugin,
    Tool,
    ToolContext,
)
from compat.dialects.flow.contents import OWN_ID
from compat.dialects.flow.contexts import ActionsDraft
from compat.dialects.flow.flow import Flow
from compat.dialects.flow.model_calls import ModelStage
from compat.dialects.flow.processors import (
    add_instructions,
    fill_config,
    tell_identity,
)
from compat.dialects.flow.state import checked_json
from compat.dialects.flow.tool_calls import ToolHooks, ToolStage
from refengine.agent import ChatModelAgentConfig
from refengine.awaiting import settled
from refengine.context import Context, get_run_local, set_run_local
from refengine.hooks import AnyHook, ModelEndpoint
from refengine.messages import Message, ToolCall
from refengine.model import ModelRequest, whole
from refengine.profile import SEED_001, Profile
from refengine.tools import (
    Endpoint,
    Options,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
    ToolsConfig,
)

RUN: Final = "refengine.compat.adapters.flow"
MODEL: Final = "model"
"""The option that names the model, where a hook asked for another one."""
UNLIMITED: Final = 1_000_000
"""Iterations: a flow has no limit but that of its profile, which its stage has."""


def engine_profile(profile: FlowProfile) -> Profile:
    """Return the engine's profile under which a ported agent is to be built.

    A call of a tool that is not there goes through the handler, which answers it, and
    what a hook hides of the request can be called all the same, as in a flow.
    """
    cancelled = profile.failing_call == "siblings_cancelled"
    return replace(
        SEED_001,
        name=f"{SEED_001.name} for {profile.name}",
        unknown_tool="answered",
        hidden_tool="runs",
        failing_call="siblings_cancelled" if cancelled else "siblings_finish",
    )


async def agent_to_config(
    agent: LlmAgent, profile: FlowProfile, plugins: Sequence[Plugin] = ()
) -> ChatModelAgentConfig:
    """Return the engine's configuration that does what a runner of this agent does.

    Build it under ``engine_profile``. Requests, tool executions, effects and answer are
    equal; runs are whole ones, not streamed. Raises NotCarriedError for what has no
    place there: more agents, state, artifacts, agent and run hooks, actions, schemas
    and processors, and tools that wait.
    """
    handler = FlowStages.of(agent, profile, plugins)
    request = LlmRequest()
    run = handler.begin(None)
    fill_config(run.ctx, request, Flow())
    await add_instructions(run.ctx, request, Flow())
    tell_identity(run.ctx, request, Flow())
    return ChatModelAgentConfig(
        name=agent.name,
        description=agent.description,
        model=EngineModel(cast("FlowModel", agent.model)),
        instruction=request.config.system_instruction,
        tools_config=ToolsConfig(
            tools=[EngineTool(each) for each in handler.tools.values()],
            sequential=profile.parallel_calls == "sequential",
        ),
        handlers=[handler],
        max_iterations=UNLIMITED,
    )


@final
@dataclass(frozen=True, slots=True)
class EngineModel:
    """A model of the dialect as the engine asks it; it is asked for whole answers."""

    model: FlowModel

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        """Ask it; raises what it raises, NotCarriedError for several responses."""
        del ctx
        named = options.get(MODEL, self.model.name)
        request = request_of(messages, tools, options, str(named))
        found = [x async for x in self.model.generate(request, stream=False)]
        if len(found) != 1:
            what = f"{len(found)} responses to one request"
            raise refused(f"model {self.model.name}", what, "let it give one")
        return answer_of(found[0], f"model {self.model.name}")


@final
@dataclass(frozen=True, slots=True)
class EngineTool:
    """A tool of the dialect as the engine calls it, within a run of its handler."""

    tool: Tool

    @property
    def info(self) -> ToolInfo:
        """What the model is told about it."""
        return info_of(self.tool.declaration)

    async def invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        """Call it; its result is JSON text. Raises what it raises."""
        del options
        run = cast("CarriedRun", get_run_local(ctx, RUN))
        draft = ActionsDraft()
        shown = ToolContext(run.ctx, draft, ctx.tool_call_id or "")
        value = await settled(cast("Any", self.tool.run)(shown, value_of(arguments)))
        run.refusals.check(draft.made())
        return text_of(checked_json(value, f"the result of tool {self.tool.name!r}"))


def request_of(
    messages: Sequence[Message],
    tools: Sequence[ToolInfo],
    options: Options,
    model: str,
    known: Sequence[FunctionDeclaration] = (),
) -> LlmRequest:
    """Return a request of the engine as the dialect has it; raises NotCarriedError."""
    instruction, rest = _parted(messages)
    config = replace(
        config_of(options),
        system_instruction=instruction,
        tools=tuple(declaration_of(each, known) for each in tools),
    )
    contents = [content for content, _ in message_groups(rest)]
    return LlmRequest(model=model, contents=contents, config=config)


def _parted(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    if messages and messages[0].role == "system":
        return messages[0].content, messages[1:]
    return "", messages


@final
class _Inner:
    """The rest of the engine's onion, as a model of the dialect."""

    def __init__(
        self, ctx: Context, request: ModelRequest, call: ModelEndpoint, name: str
    ) -> None:
        self._ctx, self._request, self._call = ctx, request, call
        self.name = name
        self.given: LlmResponse | None = None
        self.message: Message | None = None

    async def generate(
        self, request: LlmRequest, *, stream: bool
    ) -> AsyncIterator[LlmResponse]:
        """Ask on with the request as the hooks left it."""
        del stream
        asked = replace(
            self._request,
            messages=tuple(self._messages(request)),
            tools=tuple(map(info_of, request.config.tools)),
            options=self._options(request),
        )
        self.message = whole(await self._call(self._ctx, asked))
        self.given = response_of_message(self.message)
        yield self.given

    def _messages(self, request: LlmRequest) -> Iterator[Message]:
        """Yield the messages of the contents: for those left alone, the ones given."""
        _, rest = _parted(self._request.messages)
        given = list(message_groups(rest))
        if request.config.system_instruction:
            yield Message("system", request.config.system_instruction)
        for content in request.contents:
            at = next((n for n, (x, _) in enumerate(given) if x == content), None)
            if at is None:
                yield from messages_of(content, "a request of a hook")
            else:
                yield from given.pop(at)[1]

    def _options(self, request: LlmRequest) -> Options:
        found: Mapping[str, object] = {
            **self._request.options,
            **settings_of(request.config),
        }
        return found if request.model == self.name else {**found, MODEL: request.model}


@final
@dataclass(frozen=True, slots=True, eq=False)
class FlowStages:
    """The handler: hooks of an agent and of plugins around its model and its tools."""

    name: str
    agent: LlmAgent
    profile: FlowProfile
    plugins: tuple[Plugin, ...]
    tools: Mapping[str, Tool]
    ids: Iterator[str] = field(default_factory=lambda: map(str, itertools.count(1)))

    @classmethod
    def of(
        cls, agent: LlmAgent, profile: FlowProfile, plugins: Sequence[Plugin] = ()
    ) -> FlowStages:
        """Return the handler of an agent; raises NotCarriedError, PluginNameError."""
        refuse_parts(agent, plugins)
        tools = {each.name: each for each in cast("Sequence[Tool]", agent.tools)}
        made = cls(f"flow:{agent.name}", agent, profile, tuple(plugins), tools)
        made.begin(None)  # so that a name that stands twice is refused now
        return made

    def begin(self, said: Content | None) -> CarriedRun:
        """Return the context of a new run."""
        return carried_run(self.agent, self.plugins, self.profile, said, self.ids)

    def hooks(self, *names: str) -> list[Sequence[AnyHook]]:
        """Return the agent's callbacks of these stages."""
        return [getattr(self.agent, each) for each in names]

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> Message:
        """Ask the model through its stage, as a flow does."""
        if request.streaming:
            raise refused(self.name, "a streamed run", "run it with stream=False")
        run = self._run(ctx, request.messages)
        model = _Inner(ctx, request, next, cast("FlowModel", self.agent.model).name)
        declared = [each.declaration for each in self.tools.values()]
        asked = self._asked(request, model.name, declared)
        stage = ModelStage(run.ctx, model, *map(tuple, self.hooks(*LLM_HOOKS[:3])))
        try:
            found = [each async for each in stage.responses(asked)]
        finally:
            run.refusals.check(stage.actions.made())
        if asked.tools != self.tools:
            run.refusals.refuse("request.tools, changed by a hook,")
        [response] = found
        if response is model.given and model.message is not None:
            answer = self._identified(model.message)
        else:
            answer = self._identified(answer_of(response, self.name))
        _refuse_used_ids(answer, request.messages, run)
        return answer

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Call the tool through its stage; an exception becomes data as in a flow."""
        run = self._run(ctx, ())
        called = call_of(ToolCall(input.call_id, input.name, input.arguments))
        tools = dict(self.tools)
        if input.name in tools:
            tools[input.name] = replace(tools[input.name], run=_inner(ctx, input, next))
        before, after, on_error = self.hooks(*LLM_HOOKS[3:])
        hooks = ToolHooks(before=before, after=after, on_error=on_error)
        stage = ToolStage(run.ctx, hooks, called)
        try:
            event = await stage.response(tools)
        finally:
            run.refusals.check(stage.actions.made())
        # There is one, since no tool here is a long-running one.
        [response] = cast("Event", event).responses
        return ToolCallResult(text_of(response.response))

    def _run(self, ctx: Context, messages: Sequence[Message]) -> CarriedRun:
        found = get_run_local(ctx, RUN)
        if isinstance(found, CarriedRun):
            return found
        _, rest = _parted(messages)
        said = [content for content, _ in message_groups(rest)]
        made = self.begin(said[-1] if said else None)
        set_run_local(ctx, RUN, made)
        return made

    def _asked(
        self, request: ModelRequest, model: str, known: Sequence[FunctionDeclaration]
    ) -> LlmRequest:
        options = request.options
        if self.agent.config is not None:
            options = {**settings_of(self.agent.config), **options}
        made = request_of(request.messages, request.tools, options, model, known)
        made.tools.update(self.tools)
        return made

    def _identified(self, message: Message) -> Message:
        """Return the message with an id for each call that has none."""
        if all(each.id for each in message.tool_calls):
            return message
        calls = tuple(
            each if each.id else replace(each, id=f"{OWN_ID}{next(self.ids)}")
            for each in message.tool_calls
        )
        return replace(message, tool_calls=calls)


def _refuse_used_ids(
    answer: Message, messages: Sequence[Message], run: CarriedRun
) -> None:
    """Refuse an id that two calls have: versions differ in whose result is whose."""
    used = Counter(call.id for each in (*messages, answer) for call in each.tool_calls)
    for call in answer.tool_calls:
        if used[call.id] > 1:
            run.refusals.refuse(f"the second call of the id {call.id!r}")


def _inner(ctx: Context, input: ToolCallInput, call: Endpoint) -> AnyHook:
    """Return the rest of the engine's onion as the function of a tool."""

    async def run(_: ToolContext, args: dict[str, Any]) -> object:
        found = await call(ctx, replace(input, arguments=text_of(args)))
        return value_of(found.result)

    return run
