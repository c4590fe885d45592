"""A world's messages, model and tools as pydantic-ai has them, and back.

A request there holds the parts of many messages of ours, and requests that follow one
another are joined; a response is one message. What is beside a text travels in the
``metadata`` of its part or response. Arguments of calls stay the text they were.
"""

from __future__ import annotations

import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    RetryFeedbackPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import Tool as TheirTool
from pydantic_ai.tools import ToolDefinition

from compat.engines.frame import Refusals
from refengine.context import Context
from refengine.errors import ModelError, ToolError
from refengine.messages import (
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
    join_chunks,
)
from refengine.model import ChatModel, invoker, streamer
from refengine.testing.blaming import blame
from refengine.testing.doors import at_call
from refengine.tools import NO_OPTIONS, Tool, ToolInfo

_OURS: Final = "refengine"
MODEL: Final = "world"
"""The name of the model: responses without one are joined when they meet."""
NOTHING: Final = ()
"""A prompt of no content, where the framework wants one and there is none."""


def theirs(messages: Iterable[Message]) -> list[ModelMessage]:
    """Return our messages as the framework's, a request for all between two answers."""
    made: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for message in messages:
        if message.role != "assistant":
            parts.append(_part(message))
            continue
        if parts:
            made.append(ModelRequest(parts))
            parts = []
        made.append(their_answer(message))
    return [*made, ModelRequest(parts)] if parts else made


def _part(message: Message) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(message.content)
    if message.role == "tool":
        given = message.name or "", message.content, message.tool_call_id or ""
        return ToolReturnPart(*given, metadata=_beside(message, "id", "extra"))
    beside = _beside(message, "id", "name", "extra")
    if not beside:
        return UserPromptPart(message.content)
    return UserPromptPart([TextContent(message.content, metadata=beside)])


def _beside(said: Message | MessageChunk, *fields: str) -> dict[str, Any] | None:
    kept = {field: getattr(said, field) for field in fields}
    own = {field: value for field, value in kept.items() if value}
    return {_OURS: own} if own else None


def _own(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (metadata or {}).get(_OURS, {})
    return found


def their_answer(message: Message) -> ModelResponse:
    """Return an answer of ours as the framework's."""
    text = [TextPart(message.content)] if message.content else []
    calls = [ToolCallPart(c.name, c.arguments, c.id) for c in message.tool_calls]
    parts: list[ModelResponsePart] = [*text, *calls]
    beside = _beside(message, "id", "name", "extra")
    return ModelResponse(parts, model_name=MODEL, metadata=beside)


def ours(messages: Iterable[ModelMessage]) -> tuple[Message, ...]:
    """Return the framework's messages as ours."""
    return tuple(one for each in messages for one in _ours(each))


def _ours(message: ModelMessage) -> Iterator[Message]:
    if isinstance(message, ModelResponse):
        yield our_answer(message)
        return
    for part in message.parts:
        if isinstance(part, SystemPromptPart):
            yield Message("system", part.content)
        elif isinstance(part, ToolReturnPart):
            yield our_result(part)
        elif isinstance(part, UserPromptPart):
            yield from _prompts(part)
        elif isinstance(part, RetryFeedbackPart):
            yield Message("user", str(part.content))


def _prompts(part: UserPromptPart) -> Iterator[Message]:
    several = [part.content] if isinstance(part.content, str) else part.content
    for each in several:
        if isinstance(each, TextContent):
            yield Message("user", each.content, **_own(each.metadata))
        else:
            yield Message("user", str(each))


def our_result(part: ToolReturnPart) -> Message:
    """Return a result of a tool, as the model is told it."""
    return Message(
        "tool",
        part.model_response_str(wrap_if_error=False),
        tool_call_id=part.tool_call_id,
        name=part.tool_name or None,
        **_own(part.metadata),
    )


def our_answer(response: ModelResponse) -> Message:
    """Return an answer of the framework's as ours."""
    text = [part.content for part in response.parts if isinstance(part, TextPart)]
    calls = [
        ToolCall(part.tool_call_id, part.tool_name, written(part.args))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]
    own = _own(response.metadata)
    return Message("assistant", "".join(text), tuple(calls), **own)


def our_chunk(event: object) -> MessageChunk | None:
    """Return a piece of an answer; None for an event that brings no piece."""
    if isinstance(event, PartStartEvent):
        part = event.part
        if isinstance(part, TextPart):
            return MessageChunk(part.content)
        if isinstance(part, ToolCallPart):
            given = part.tool_call_id, part.tool_name, written(part.args)
            return MessageChunk("", (ToolCallChunk(event.index, *given),))
    if isinstance(event, PartDeltaEvent):
        delta = event.delta
        if isinstance(delta, TextPartDelta):
            return MessageChunk(delta.content_delta)
        if isinstance(delta, ToolCallPartDelta):
            name = delta.tool_name_delta or ""  # the id came when the part began
            piece = ToolCallChunk(event.index, "", name, written(delta.args_delta))
            return MessageChunk("", (piece,))
    return None


@dataclass(slots=True)
class Deps(Refusals):
    """What belongs to one run, which all hooks and tools of it are given.

    ``answered`` tells of an answer; ``asked`` counts the iterations begun.
    """

    ctx: Context
    answered: Callable[[Message], Awaitable[None]]
    asked: int = 0


class Written(dict[str, Any]):
    """Arguments of a call that a wrapper wrote, with the text that it wrote."""

    def __init__(self, text: str, meant: Mapping[str, Any]) -> None:
        super().__init__(meant)
        self.text = text


def written(arguments: str | Mapping[str, Any] | None) -> str:
    """Return arguments as text, as whoever wrote them did."""
    if isinstance(arguments, Written):
        return arguments.text
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments)


TEXT: Final[ContextVar[str]] = ContextVar("refengine_pydantic_ai_text")
"""How the arguments of the running call were written: a tool gets what they mean."""


def tool_of(tool: Tool, *, sequential: bool) -> TheirTool[Deps]:
    """Return a world's tool as the framework takes one."""
    info = tool.info
    schema: dict[str, Any] = {"type": "object", "properties": {}, **info.parameters}

    async def run(ctx: RunContext[Deps], /, **arguments: Any) -> str:  # noqa: ANN401  # the model's
        del arguments  # parsed; a world's tool takes the text
        call_id = ctx.tool_call_id or ""
        given = at_call(ctx.deps.ctx, ctx.deps.ctx, call_id), TEXT.get(), NO_OPTIONS
        try:
            return str(await tool.invoke(*given))
        except Exception as error:
            blame(error, ToolError(info.name, call_id, error))
            raise

    about = info.name, info.description, schema
    return TheirTool.from_schema(run, *about, takes_ctx=True, sequential=sequential)


_TAKES_ALL: Final = ModelProfile(
    supports_inline_system_prompts=True, tool_addition_mode="by_reference"
)
"""A world's model takes system messages anywhere, and tools as they come and go.

For another one the framework writes both as messages of the user.
"""


class DoorModel(Model):
    """Answers with what the world's model says, in one run."""

    supported_tool_addition_modes = frozenset(("by_reference",))

    def __init__(
        self, model: ChatModel, tools: Mapping[str, ToolInfo], deps: Deps
    ) -> None:
        super().__init__(profile=_TAKES_ALL)
        self._invoke = invoker(model)
        self._open = streamer(model)
        self._tools = tools
        self._deps = deps

    @property
    def model_name(self) -> str:
        """What responses are marked with."""
        return MODEL

    @property
    def system(self) -> str:
        """Whose model it is."""
        return "refengine"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the whole answer."""
        del model_settings  # a world has none
        given = self._given(messages, model_request_parameters)
        try:
            answer = await self._invoke(self._deps.ctx, *given, NO_OPTIONS)
        except Exception as error:
            blame(error, ModelError(error))
            raise
        return their_answer(usual(self._deps, answer))

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Yield what gives the answer in its chunks."""
        del model_settings, run_context  # a world has none
        given = self._given(messages, model_request_parameters)
        try:
            reader = await self._open(self._deps.ctx, *given, NO_OPTIONS)
        except Exception as error:
            blame(error, ModelError(error))
            raise
        yield _Streamed(model_request_parameters, reader, self._deps)

    def _given(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> tuple[tuple[Message, ...], tuple[ToolInfo, ...]]:
        shown = infos(self._tools, parameters.declared_function_tools)
        return (*system(parameters), *ours(messages)), shown


def usual(deps: Deps, answer: Message) -> Message:
    """Return an answer; refuses calls that the framework would take for others."""
    for call in answer.tool_calls:
        deps.parsed(call)
    if len({call.id for call in answer.tool_calls}) < len(answer.tool_calls):
        deps.refuse("equal_call_ids", "an answer of the model")
    return answer


def system(parameters: ModelRequestParameters) -> tuple[Message, ...]:
    """Return the instructions of a request as a message, if it has some."""
    text = InstructionPart.join(parameters.instruction_parts or [])
    return (Message("system", text),) if text else ()


def infos(
    known: Mapping[str, ToolInfo], definitions: Iterable[ToolDefinition]
) -> tuple[ToolInfo, ...]:
    """Return what the model is told about tools."""
    return tuple(known[each.name] for each in definitions)


class _Streamed(StreamedResponse):
    """An answer in the chunks in which a world's model gives it."""

    def __init__(
        self,
        parameters: ModelRequestParameters,
        chunks: AsyncIterator[MessageChunk],
        deps: Deps,
    ) -> None:
        super().__init__(parameters)
        self._chunks = chunks
        self._deps = deps
        self._calls: set[int | str] = set()

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        seen: list[MessageChunk] = []
        try:
            async for chunk in self._chunks:
                seen.append(chunk)
                self.metadata = _beside(join_chunks(seen), "id", "name", "extra")
                for event in self._events(chunk):
                    yield event
        except Exception as error:
            blame(error, ModelError(error))
            raise
        usual(self._deps, join_chunks(seen))

    def _events(self, chunk: MessageChunk) -> Iterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        if chunk.content:
            given = {"vendor_part_id": "text", "content": chunk.content}
            yield from manager.handle_text_delta(**given)
        for piece in chunk.tool_calls:
            part = f"whole {len(self._calls)}" if piece.index is None else piece.index
            if part not in self._calls and piece.name:
                begun = ToolCallPart(piece.name, piece.arguments, piece.id)
                yield manager.handle_part(vendor_part_id=part, part=begun)
            else:
                yield from manager.handle_tool_call_delta_events(
                    vendor_part_id=part,
                    tool_name=piece.name or None,
                    args=piece.arguments,
                    tool_call_id=piece.id or None,
                )
            self._calls.add(part)

    async def close_stream(self) -> None:
        """Do nothing: nothing was opened that outlives the run."""

    @property
    def model_name(self) -> str:
        """What the response is marked with."""
        return MODEL

    @property
    def provider_name(self) -> None:
        """No provider: a world."""

    @property
    def provider_url(self) -> None:
        """No provider: a world."""

    @property
    def timestamp(self) -> datetime:
        """Any time: nobody reads it."""
        return datetime.now(UTC)
