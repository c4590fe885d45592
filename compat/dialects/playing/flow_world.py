"""What a subject builds agents of the Flow dialect from: ``as_flow(world)``.

It is to the dialect what ``world.as_adk()`` is to the installed google-adk: the world's
model, its tools, and the instruction of its agent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, final

from compat.dialects.flow.contexts import ToolContext
from compat.dialects.flow.model import (
    FunctionDeclaration,
    GenerateConfig,
    LlmRequest,
    LlmResponse,
    Usage,
)
from compat.dialects.flow.run_errors import ModelCallsExceededError
from compat.dialects.flow.tools import Tool
from compat.dialects.flow.values import plain
from compat.dialects.playing.flow_values import content_of, said
from refengine.messages import Json, Message, MessageChunk, join_chunks
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import pieces_of
from refengine.testing.ops import ToolSpec
from refengine.testing.own_tools import with_own_tools
from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import ToolRuns, calling, error_at, written
from refengine.testing.world import World

MODEL: Final = "world"
"""The name of the model that a subject is given."""
TRANSFER: Final = "transfer_to_agent"
"""The flow's own tool, which is none of the subject's."""
SETTINGS: Final = (
    "response_schema",
    "response_mime_type",
    "temperature",
    "top_p",
    "max_output_tokens",
    "stop_sequences",
)
ANY: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {},
    "additionalProperties": True,
}
"""Any arguments: a script may call a tool with whatever a subject looks for."""


@final
class FlowFace:
    """A world as the Flow dialect sees it.

    Agents may have other tools too, which are observed when they run, but no other
    model. A second model plays the same script, and requests name it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.model = self.model_named(MODEL)
        self.instruction: str = world.instruction or ""
        self._tools = [_tool(spec, world) for spec in world.tool_specs]

    @property
    def tools(self) -> Sequence[Tool]:
        """The world's tools, in a list that may be changed."""
        return list(self._tools)

    def model_named(self, name: str) -> FlowWorldModel:
        """Return a second model; it plays the same script, and requests name it."""
        return FlowWorldModel(self._world, name)


def as_flow(world: World) -> FlowFace:
    """Return model and tools of a world for agents of the Flow dialect."""
    return FlowFace(world)


@final
class FlowWorldModel:
    """Answers from the world's script, and puts down what each request carries.

    ``most`` is so many calls of the world's model that it answers no further one, and
    None means no limit.
    """

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.most: int | None = None

    async def generate(
        self, request: LlmRequest, *, stream: bool
    ) -> AsyncIterator[LlmResponse]:
        """Yield the script's next answer; raises what is scripted."""
        if self.most is not None and self.world.model.calls >= self.most:
            raise ModelCallsExceededError(self.name, self.most)
        shown = self._ask(request)
        await asyncio.sleep(self.world.model.seconds)
        answer, failure = self._next(shown)
        if stream:
            for piece in _pieces(answer):
                partial = content_of(Message("assistant", piece))
                yield LlmResponse(content=partial, partial=True)
        if failure is not None:
            self.world.recorder.add("model_error", {"error": failure})
            raise error_at(failure, "model")
        whole = answer if isinstance(answer, Message) else join_chunks(answer)
        content = content_of(whole)
        self.world.recorder.add("model_response", {"message": next(said(content))})
        yield LlmResponse(content=content, usage=_usage(request, whole))

    def _ask(self, request: LlmRequest) -> Sequence[Mapping[str, Any]]:
        """Put a request down; return the tools that it shows."""
        config = request.config
        messages: list[Json] = [each for one in request.contents for each in said(one)]
        if config.system_instruction:
            system = {"role": "system", "content": config.system_instruction}
            messages.insert(0, system)
        options = _options(config)
        named = request.model or self.name
        if named != MODEL:
            options["model"] = named
        tools = [*map(_shown, config.tools)]
        self.world.model.begin_call(
            {"messages": messages, "tools": tools, "options": options, "ctx": "-"}
        )
        return tools

    def _next(
        self, shown: Sequence[Mapping[str, Any]]
    ) -> tuple[Message | Sequence[MessageChunk], str | None]:
        answer, failure = self.world.model.next_answer()
        if isinstance(answer, Message):
            others = [spec.name for spec in self.world.tool_specs]
            answer = with_own_tools(answer, shown, [*others, TRANSFER])
        return answer, failure


def _options(config: GenerateConfig) -> dict[str, Json]:
    """Return the settings of a request that are set."""
    given: dict[str, Any] = {each: getattr(config, each) for each in SETTINGS}
    found = {**given, **plain(config.extra)}
    empty: tuple[object, ...] = (None, "", ())
    return {k: snapshot(plain(v)) for k, v in found.items() if v not in empty}


def _shown(declared: FunctionDeclaration) -> dict[str, Any]:
    schema: Any = plain(declared.parameters or {})
    return {
        "name": declared.name,
        "description": declared.description,
        "parameters": schema,
    }


def _pieces(answer: Message | Sequence[MessageChunk]) -> Sequence[str]:
    """Return the texts that a stream brings before the whole answer."""
    chunks = pieces_of(answer) if isinstance(answer, Message) else answer
    return [each.content for each in chunks if each.content]


def _usage(request: LlmRequest, answer: Message) -> Usage:
    """Return usage in words, so that what counts it has something to count."""
    texts = [part.text for each in request.contents for part in each.parts]
    asked = sum(len(text.split()) for text in texts)
    told = len(answer.content.split()) + len(answer.tool_calls)
    return Usage(prompt=asked, answer=told, total=asked + told)


@final
class FlowScriptedTool:
    """What a tool of the world runs: it gives what its spec says, and is observed.

    A result that is not a JSON object is told as ``{"result": ...}``.
    """

    def __init__(self, spec: ToolSpec, world: World) -> None:
        self._runs = ToolRuns(spec, world)
        self._direct = world.returns_directly(spec.name)

    async def __call__(self, ctx: ToolContext, args: dict[str, Any]) -> Json:
        """Give the result of the script; raises what is scripted."""
        text = written(args)
        with calling(ctx.call_id):
            self._runs.begin(text)
            if self._runs.seconds:
                await asyncio.sleep(self._runs.seconds)
            result = self._runs.end(text)
        if self._direct:
            ctx.actions.skip_summarization = True
        return _as_result(result)


def _tool(spec: ToolSpec, world: World) -> Tool:
    return Tool(
        name=spec.name,
        description=spec.description or f"tool {spec.name}",
        parameters=ANY if spec.parameters is None else spec.parameters,
        run=FlowScriptedTool(spec, world),
    )


def _as_result(text: str) -> Json:
    try:
        found: object = json.loads(text)
    except ValueError:
        found = None
    return dict(found) if is_mapping(found) else {"result": text}
