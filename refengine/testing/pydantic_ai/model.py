"""A model of pydantic-ai that answers in our messages, in one piece or in chunks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from refengine.messages import Message, MessageChunk, join_chunks
from refengine.testing.pydantic_ai.messages import MODEL, beside, ours, their_answer

_FIELDS: Final = ModelProfile.__annotations__
"""What a profile may say, which older releases have less of."""
_SAYS: Final[Mapping[str, Any]] = {
    "supports_inline_system_prompts": True,
    "tool_addition_mode": "by_reference",
}
_TAKES_ALL: Final = cast("Any", ModelProfile)(
    **{name: said for name, said in _SAYS.items() if name in _FIELDS}
)
"""A world's model takes system messages anywhere, and tools as they come and go.

For another one the framework writes both as messages of the user.
"""


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """What a request carries, the instructions as its first message."""

    messages: tuple[Message, ...]
    tools: Sequence[ToolDefinition]
    settings: Mapping[str, Any]


class AnsweringModel(Model):
    """Answers in our messages: a subclass says what."""

    supported_tool_addition_modes = frozenset(("by_reference",))

    def __init__(self, name: str = MODEL) -> None:
        super().__init__(profile=_TAKES_ALL)
        self._name = name

    @abstractmethod
    async def answer(self, asked: ModelAsked) -> Message:
        """Return the whole answer."""

    @abstractmethod
    async def chunks(self, asked: ModelAsked) -> AsyncIterator[MessageChunk]:
        """Return what yields the answer in its chunks."""

    @property
    def model_name(self) -> str:
        """What responses are marked with."""
        return self._name

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
        asked = _asked(messages, model_settings, model_request_parameters)
        return their_answer(await self.answer(asked))

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Yield what gives the answer in its chunks."""
        del run_context
        asked = _asked(messages, model_settings, model_request_parameters)
        yield _Streamed(model_request_parameters, await self.chunks(asked))


def _asked(
    messages: Sequence[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
) -> ModelAsked:
    told = (*system(parameters), *ours(messages))
    tools = getattr(parameters, "declared_function_tools", parameters.function_tools)
    return ModelAsked(told, tools, {**(settings or {})})


def system(parameters: ModelRequestParameters) -> tuple[Message, ...]:
    """Return the instructions of a request as a message, if it has some."""
    text = InstructionPart.join(parameters.instruction_parts or [])
    return (Message("system", text),) if text else ()


class _Streamed(StreamedResponse):
    """An answer in the chunks in which a world's model gives it."""

    def __init__(
        self, parameters: ModelRequestParameters, chunks: AsyncIterator[MessageChunk]
    ) -> None:
        super().__init__(parameters)
        self._chunks = chunks
        self._calls: set[int | str] = set()

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        seen: list[MessageChunk] = []
        async for chunk in self._chunks:
            seen.append(chunk)
            self.metadata = beside(join_chunks(seen), "id", "name", "extra")
            for event in self._events(chunk):
                yield event

    def _events(self, chunk: MessageChunk) -> Iterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        if chunk.content:
            yield from manager.handle_text_delta(
                vendor_part_id="text", content=chunk.content
            )
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
