"""The world's model as a chat model of LangChain: the same script, seen as there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

from refengine.messages import Json, Message, MessageChunk, join_chunks
from refengine.testing.graphs.messages import as_chunk, as_langchain, said
from refengine.testing.json_values import is_mapping
from refengine.testing.notation import pieces_of
from refengine.testing.own_tools import with_own_tools
from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import error_at
from refengine.testing.world import World

MODEL: Final = "world"
"""The name of the model that a subject is given."""


class WorldChatModel(BaseChatModel):
    """Answers from the world's script, and puts down what each request carries.

    Bound tools, ``tool_choice``, stop words and all other settings are seen. A model of
    another name plays the same script: what falls back to it asks the same world.
    """

    world: Any = Field(exclude=True, repr=False)
    model_name: str = MODEL
    _shown: Sequence[Mapping[str, Any]] = PrivateAttr(default=())

    @property
    def _llm_type(self) -> str:
        return "refengine"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,  # noqa: ANN401  # settings of any vendor
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with these tools, written as vendors are sent them."""
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=list(map(convert_to_openai_tool, tools)), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  # as BaseChatModel
        **kwargs: Any,  # noqa: ANN401  # what was bound
    ) -> ChatResult:
        self._ask(messages, stop, kwargs)
        self._world.clock.sleep(self._world.model.seconds)
        return self._answer()

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002  # as BaseChatModel
        **kwargs: Any,  # noqa: ANN401  # what was bound
    ) -> ChatResult:
        self._ask(messages, stop, kwargs)
        await asyncio.sleep(self._world.model.seconds)
        return self._answer()

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401  # what was bound
    ) -> Iterator[ChatGenerationChunk]:
        self._ask(messages, stop, kwargs)
        self._world.clock.sleep(self._world.model.seconds)
        for chunk in self._chunks():
            if run_manager is not None:
                run_manager.on_llm_new_token(_text(chunk), chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401  # what was bound
    ) -> AsyncIterator[ChatGenerationChunk]:
        self._ask(messages, stop, kwargs)
        await asyncio.sleep(self._world.model.seconds)
        for chunk in self._chunks():
            if run_manager is not None:
                await run_manager.on_llm_new_token(_text(chunk), chunk=chunk)
            yield chunk

    @property
    def _world(self) -> World:
        return cast("World", self.world)

    def _ask(
        self, messages: Sequence[BaseMessage], stop: object, bound: Mapping[str, Any]
    ) -> None:
        options = {key: snapshot(each) for key, each in bound.items() if _is_sent(key)}
        if stop:
            options["stop"] = snapshot(stop)
        if self.model_name != MODEL:
            options["model"] = self.model_name
        tools = [shown_tool(each) for each in bound.get("tools") or ()]
        self._shown = cast("Sequence[Mapping[str, Any]]", tools)
        self._world.model.begin_call(
            {"messages": said(messages), "tools": tools, "options": options, "ctx": "-"}
        )

    def _answer(self) -> ChatResult:
        answer, failure = self._next()
        if failure is not None:
            raise self._failed(failure)
        whole = answer if isinstance(answer, Message) else join_chunks(answer)
        message = as_langchain(whole)
        self._answered(message)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _chunks(self) -> Iterator[ChatGenerationChunk]:
        answer, failure = self._next()
        if isinstance(answer, Message):
            if failure is not None:
                raise self._failed(failure)
            answer = pieces_of(answer)
        for at, piece in enumerate(answer):
            last = at == len(answer) - 1 and failure is None
            position = "last" if last else None
            made = as_chunk(piece, 1000 * at, chunk_position=position)
            yield ChatGenerationChunk(message=made)
        if failure is not None:
            raise self._failed(failure)
        self._answered(as_langchain(join_chunks(answer)))

    def _next(self) -> tuple[Message | Sequence[MessageChunk], str | None]:
        answer, failure = self._world.model.next_answer()
        if isinstance(answer, Message):
            others = [spec.name for spec in self._world.tool_specs]
            answer = with_own_tools(answer, self._shown, others)
        return answer, failure

    def _answered(self, message: BaseMessage) -> None:
        self._world.recorder.add("model_response", {"message": said([message])[0]})

    def _failed(self, name: str) -> Exception:
        self._world.recorder.add("model_error", {"error": name})
        return error_at(name, "model")


def _is_sent(key: str) -> bool:
    """Tell whether a bound value reaches a vendor: not the tools, which are told apart.

    Keys of the framework itself start with ``ls_``.
    """
    return key != "tools" and not key.startswith("ls_")


def shown_tool(tool: Mapping[str, Any]) -> Json:
    """Return a tool as requests show it; one of a vendor's own stays as it is."""
    function = tool.get("function")
    if not is_mapping(function):
        return snapshot(tool)
    extra = {key: each for key, each in tool.items() if key not in {"type", "function"}}
    return snapshot({**function, **extra})


def _text(chunk: ChatGenerationChunk) -> str:
    return str(chunk.message.text)
