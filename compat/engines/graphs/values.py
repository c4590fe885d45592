"""A world's messages, model and tools as LangChain has them, and back.

The framework gives every message an id of its own. What it has no place for travels in
``additional_kwargs``, which it hands on as it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from compat.engines.graphs.frame import (
    FRAME,
    Frame,
    our_call,
    passed_call,
    their_arguments,
)
from refengine.messages import (
    NOTHING,
    Message,
    MessageChunk,
    Role,
    ToolCall,
    ToolCallChunk,
)
from refengine.model import ChatModel, Invoke, Stream, invoker, streamer
from refengine.testing.graphs.messages import as_chunk, as_langchain
from refengine.tools import Tool, ToolInfo

_OURS: Final = "refengine"
_ROLES: Final[Mapping[type[BaseMessage], Role]] = MappingProxyType(
    {
        SystemMessage: "system",
        HumanMessage: "user",
        AIMessage: "assistant",
        AIMessageChunk: "assistant",
        ToolMessage: "tool",
    }
)


def theirs(frame: Frame, messages: Iterable[Message]) -> list[AnyMessage]:
    """Return our messages as the framework's."""
    return [their_message(frame, message) for message in messages]


def ours(frame: Frame, messages: Iterable[BaseMessage]) -> tuple[Message, ...]:
    """Return the framework's messages as ours."""
    return tuple(our_message(frame, message) for message in messages)


def their_message(frame: Frame, message: Message) -> AnyMessage:
    """Return one of our messages; refuses arguments that are not a JSON object."""
    args_of = partial(their_arguments, frame)
    return as_langchain(message, args_of, **_beside(message))


def _beside(said: Message | MessageChunk) -> dict[str, Any]:
    kept = {"id": said.id, "extra": dict(said.extra)}
    own = {key: value for key, value in kept.items() if value}
    return {"name": said.name, "additional_kwargs": {_OURS: own} if own else {}}


def our_message(frame: Frame, message: BaseMessage) -> Message:
    """Return one of the framework's messages."""
    own = message.additional_kwargs.get(_OURS, {})
    calls: tuple[ToolCall, ...] = ()
    call_id = None
    if isinstance(message, AIMessage):
        calls = tuple(
            our_call(frame, cast("Mapping[str, Any]", c)) for c in message.tool_calls
        )
    if isinstance(message, ToolMessage):
        call_id = message.tool_call_id
    return Message(
        _ROLES[type(message)],
        str(message.text),
        calls,
        call_id,
        message.name,
        own.get("id"),
        own.get("extra", NOTHING),
    )


def their_chunk(frame: Frame, chunk: MessageChunk, first_index: int) -> AIMessageChunk:
    """Return a piece of an answer; pieces without an index are given one from there."""
    for piece in chunk.tool_calls:
        if piece.index is None:  # a whole call
            their_arguments(frame, ToolCall(piece.id, piece.name, piece.arguments))
    return as_chunk(chunk, first_index, **_beside(chunk))


def our_chunk(chunk: AIMessageChunk) -> MessageChunk:
    """Return a piece of an answer as the consumer of a run gets it."""
    return MessageChunk(str(chunk.text), tuple(_pieces(chunk.tool_call_chunks)))


def _pieces(chunks: Sequence[Mapping[str, Any]]) -> Iterable[ToolCallChunk]:
    for each in chunks:
        yield ToolCallChunk(
            each.get("index"),
            each.get("id") or "",
            each.get("name") or "",
            each.get("args") or "",
        )


_CALL: Final[ContextVar[Mapping[str, Any]]] = ContextVar("refengine_graph_call")
"""The tool call that is running: a tool is given its arguments alone."""


class DoorModel(BaseChatModel):
    """Answers with what the world's model says."""

    _invoke: Invoke = PrivateAttr()
    _open: Stream = PrivateAttr()

    def __init__(self, model: ChatModel) -> None:
        super().__init__()
        self._invoke = invoker(model)
        self._open = streamer(model)

    @property
    def _llm_type(self) -> str:
        return "refengine"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,  # noqa: ARG002  # the framework passes it by name
        **kwargs: Any,  # noqa: ANN401  # as the framework has it
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Hand the tools on with every call, as vendors' clients are given them.

        Who observes a model is shown what it was bound to, and reads that form.
        """
        return self.bind(tools=[*map(_bound, tools)], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401  # as the framework has it
    ) -> ChatResult:
        """Refuse: a world is asynchronous, and its door never calls this."""
        raise NotImplementedError

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # the framework passes it by name
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002  # the framework passes it by name
        **kwargs: Any,  # noqa: ANN401  # as the framework has it
    ) -> ChatResult:
        """Return the whole answer."""
        frame = FRAME.get()
        given = ours(frame, messages), infos(kwargs), frame.options
        try:
            answer = await self._invoke(frame.context(), *given)
        except Exception as error:
            frame.blame_model(error)
            raise
        message = their_message(frame, answer)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # the framework passes it by name
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401  # as the framework has it
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Yield the answer in its chunks."""
        frame = FRAME.get()
        given = ours(frame, messages), infos(kwargs), frame.options
        index = 0
        try:
            reader = await self._open(frame.context(), *given)
            async for chunk in reader:
                made = their_chunk(frame, chunk, index)
                index += len(chunk.tool_calls)
                piece = ChatGenerationChunk(message=made)
                if run_manager is not None:
                    text = chunk.content
                    await run_manager.on_llm_new_token(text, chunk=piece)
                yield piece
        except Exception as error:
            frame.blame_model(error)
            raise


class DoorTool(BaseTool):
    """Runs a world's tool."""

    _tool: Any = PrivateAttr()
    _info: ToolInfo = PrivateAttr()

    def __init__(self, tool: Tool, *, return_direct: bool = False) -> None:
        info = tool.info
        schema: dict[str, Any] = {"type": "object", "properties": {}, **info.parameters}
        super().__init__(
            name=info.name,
            description=info.description,
            args_schema=schema,
            return_direct=return_direct,
        )
        self._tool = tool
        self._info = info

    @property
    def info(self) -> ToolInfo:
        """What the model is told about it."""
        return self._info

    async def ainvoke(
        self,
        input: str | dict[str, Any] | Any,  # noqa: ANN401  # as the framework has it
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ANN401  # as the framework has it
    ) -> Any:  # noqa: ANN401  # as the framework has it
        """Run it, remembering which call this is."""
        token = _CALL.set(cast("Mapping[str, Any]", input))
        try:
            return await super().ainvoke(input, config, **kwargs)
        finally:
            _CALL.reset(token)

    def _run(self, /, **arguments: Any) -> str:  # noqa: ANN401  # the model's
        """Refuse: a world is asynchronous, and its door never calls this."""
        raise NotImplementedError

    async def _arun(self, /, **arguments: Any) -> str:  # noqa: ANN401  # the model's
        frame = FRAME.get()
        call = passed_call(frame, {**_CALL.get(), "args": arguments})
        ctx = frame.context(call.id)
        try:
            result = await self._tool.invoke(ctx, call.arguments, frame.options)
        except Exception as error:
            frame.blame_tool(error, self.name, call.id)
            raise
        return str(result)


def infos(bound: Mapping[str, Any]) -> tuple[ToolInfo, ...]:
    """Return what the model is told about the tools that were bound to it."""
    return tuple(map(_info, bound.get("tools", ())))


def _bound(tool: object) -> object:
    """Return one of our tools as a vendor's client is told of it."""
    if not isinstance(tool, DoorTool):
        return tool
    info = tool.info
    told = {"name": info.name, "description": info.description}
    return {"type": "function", "function": {**told, "parameters": info.parameters}}


def _info(tool: DoorTool | Mapping[str, Any]) -> ToolInfo:
    """Return what is told about a tool, before it was bound or since."""
    return tool.info if isinstance(tool, DoorTool) else ToolInfo(**tool["function"])
