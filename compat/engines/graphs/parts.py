"""A world's model and tools as LangChain has them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from compat.engines.graphs.frame import FRAME
from compat.engines.graphs.messages import (
    our_call,
    ours,
    their_chunk,
    their_message,
)
from refengine.model import ChatModel, Invoke, Stream, invoker, streamer
from refengine.tools import Tool, ToolInfo

_CALL_ID: Final[ContextVar[str]] = ContextVar("refengine_graph_call")
"""The id of the tool call that is running: a tool is not given it otherwise."""


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
        """Hand the tools on with every call."""
        return self.bind(tools=tuple(tools), **kwargs)

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
        asked = ours(frame, messages), infos(kwargs), frame.options
        try:
            answer = await self._invoke(frame.context(), *asked)
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
        asked = ours(frame, messages), infos(kwargs), frame.options
        index = 0
        try:
            reader = await self._open(frame.context(), *asked)
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
        call = cast("Mapping[str, Any]", input)
        token = _CALL_ID.set(str(call["id"] or ""))
        try:
            return await super().ainvoke(input, config, **kwargs)
        finally:
            _CALL_ID.reset(token)

    def _run(self, /, **arguments: Any) -> str:  # noqa: ANN401  # the model's
        """Refuse: a world is asynchronous, and its door never calls this."""
        raise NotImplementedError

    async def _arun(self, /, **arguments: Any) -> str:  # noqa: ANN401  # the model's
        frame, call_id = FRAME.get(), _CALL_ID.get()
        call = our_call(frame, {"id": call_id, "name": self.name, "args": arguments})
        ctx = frame.context(call_id)
        try:
            result = await self._tool.invoke(ctx, call.arguments, frame.options)
        except Exception as error:
            frame.blame_tool(error, self.name, call_id)
            raise
        return str(result)


def infos(bound: Mapping[str, Any]) -> tuple[ToolInfo, ...]:
    """Return what the model is told about the tools that were bound to it."""
    return tuple(cast("DoorTool", tool).info for tool in bound.get("tools", ()))
