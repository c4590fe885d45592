"""What a driver calls: the model, the tools and the hooks of a world.

An exception travels under its number, and whose it is is noted where it was raised
(``refengine.testing.blaming``): the engine hands it on as it is, or does not.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Mapping,
    Sequence,
)
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, cast

from compat.drivers.connection import Params
from compat.drivers.state import AgentState
from compat.drivers.values import Wire, chunk_read, chunk_told, message_told
from refengine.awaiting import settled
from refengine.context import Context
from refengine.errors import HookError, ModelError, ToolError
from refengine.hooks import AgentConfig
from refengine.messages import Message
from refengine.model import ModelRequest, invoker, streamer
from refengine.stream import StreamReader
from refengine.struct_middleware import AgentMiddleware, ChatModelAgentState
from refengine.testing.blaming import AsyncHook, blame, named_hooks
from refengine.tools import (
    NO_OPTIONS,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolMeta,
)

WRAP_MODEL: Final = "wrap_model_call"


@dataclass(frozen=True, slots=True)
class NamedWrapper:
    """An endpoint that a factory made, or the factory, and whose it is."""

    call: Callable[..., Any]
    kind: str
    name: str
    at: int
    hook: str

    def blame(self, error: Exception, call: Params | None = None) -> None:
        """Note that this raised it."""
        told = (call or {}).get("of") or call or {}
        tool, call_id = told.get("name"), told.get("call_id")
        named = HookError(
            self.name, self.at, self.hook, error, tool=tool, call_id=call_id
        )
        blame(error, named)


ENTERED_CALL: Final[ContextVar[tuple[Params, ToolCallInput]]] = ContextVar(
    "refengine_entered_call"
)
"""The call that a wrapper of a struct stands around: its factory was called before."""


class Calls:
    """All that the driver of one agent may call."""

    def __init__(self, agent: AgentState) -> None:
        self._agent = agent
        self._held = agent.held
        config = agent.config
        self._model = config.model
        self._handlers = named_hooks(config.handlers)
        wraps = (at for at, each in enumerate(self._handlers) if WRAP_MODEL in each)
        self._outermost = next(wraps, None)
        self._states: dict[int, ChatModelAgentState] = {}
        self._raised_with: dict[int, tuple[Exception, ToolCallInput]] = {}
        """By an error: it, and the input of the wrapper that raised it last."""
        agent.serves(
            model=self._model_called,
            tool=self._tool_called,
            hook=self._hook_called,
            struct=self._struct_called,
            factory=self._factory_called,
            endpoint=self._endpoint_called,
            unknown_tool=self._unknown_tool,
        )
        self._hooks: Mapping[str, Callable[[Params, AsyncHook], Any]] = {
            "before_agent": self._before_agent,
            "before_model_rewrite_history": self._rewrite,
            "after_model_rewrite_history": self._rewrite,
            "after_agent": self._after_agent,
            "wrap_invokable_tool_call": self._wrap_tool,
            "wrap_streamable_tool_call": self._wrap_tool,
            WRAP_MODEL: self._wrap_model,
        }

    @property
    def hook_names(self) -> list[list[str]]:
        """The hooks of each handler."""
        return [sorted(each) for each in self._handlers]

    # Model and tools

    async def _model_called(self, params: Params) -> object:
        ctx, run = self._agent.place_of(params)
        await run.has_results()
        await run.caught_up(within_answer=True)
        messages = self._held.read_all(params["messages"])
        if self._outermost is None:
            run.seen.ask(messages)
        tools = self._held.infos(params["tools"])
        options = params.get("options") or NO_OPTIONS
        try:
            if params["mode"] == "invoke":
                ask = invoker(self._model)
                return message_told(await ask(ctx, messages, tools, options))
            stream = await streamer(self._model)(ctx, messages, tools, options)
        except Exception as error:
            blame(error, ModelError(error))
            raise
        source = _blaming(stream, ModelError)
        return {"stream": self._held.offer(source, _chunk)}

    async def _tool_called(self, params: Params) -> object:
        call_id = params["call_id"]
        ctx, run = self._agent.place_of(params, call_id)
        await run.caught_up()
        tool = self._held.get(params["tool"])

        def named(error: Exception) -> Exception:
            return ToolError(tool.info.name, call_id, error)

        try:
            if params["mode"] == "invoke":
                arguments = params["arguments"]
                return {"result": await tool.invoke(ctx, arguments, NO_OPTIONS)}
            stream = await tool.stream(ctx, params["arguments"], NO_OPTIONS)
        except Exception as error:
            blame(error, named(error))
            raise
        return {"stream": self._held.offer(_blaming(stream, named), _text)}

    async def _unknown_tool(self, params: Params) -> object:
        _, run = self._agent.place_of(params)
        await run.caught_up()
        name, call_id = params["name"], params["call_id"]
        answer = cast("Any", self._agent.config.tools_config.unknown_tools_handler)
        result: str = answer(name, params["arguments"])
        run.seen.answer(Message("tool", result, (), call_id, name))
        return {"result": result}

    # Hooks of handlers

    async def _hook_called(self, params: Params) -> object:
        at: int = params["handler"]
        name: str = params["hook"]
        hook = self._handlers[at][name]
        return await self._hooks[name](params, hook)

    async def _before_agent(self, params: Params, hook: AsyncHook) -> object:
        ctx, run = self._agent.before_run(params)
        await run.caught_up()
        metas = [ToolMeta(self._held.get(each["tool"])) for each in params["tools"]]
        flags = dict(params["return_directly"] or {})
        given = (run.given, NO_OPTIONS)
        config = AgentConfig(params["instruction"], metas, given, flags)
        ctx = await hook(ctx, config)
        run.seen.has_instruction = bool(config.instruction)
        tools: Any = config.tools  # a hook may leave none at all
        return {
            "ctx": self._agent.number_of(ctx, run),
            "instruction": config.instruction,
            "tools": None if tools is None else list(map(self._held.tool, tools)),
            "return_directly": config.return_directly,
        }

    async def _rewrite(self, params: Params, hook: AsyncHook) -> object:
        ctx, run = self._agent.place_of(params)
        await run.has_results()
        await run.caught_up()
        messages = self._held.read_all(params["messages"])
        after = params["hook"].startswith("after")
        with run.seen.hook(messages, after=after) as leave:
            ctx, left = await hook(ctx, messages)
            leave(left)
        number = self._agent.number_of(ctx, run)
        return {"ctx": number, "messages": self._held.tell_all(left)}

    async def _after_agent(self, params: Params, hook: AsyncHook) -> object:
        ctx, run = self._agent.place_of(params)
        await run.has_results()
        await run.caught_up()
        ctx = await hook(ctx, self._held.read_all(params["messages"]))
        return {"ctx": self._agent.number_of(ctx, run)}

    async def _wrap_tool(self, params: Params, hook: AsyncHook) -> object:
        ctx, run = self._agent.place_of(params, params["call_id"])
        await run.caught_up()
        value = _input(params)
        in_pieces = params["hook"] == "wrap_streamable_tool_call"

        async def inner(ctx: Context, given: ToolCallInput) -> object:
            return await self._into(params, value, in_pieces, ctx, given)

        return self._result(await hook(ctx, value, inner))

    async def _wrap_model(self, params: Params, hook: AsyncHook) -> object:
        ctx, run = self._agent.place_of(params)
        await run.has_results()
        await run.caught_up(within_answer=True)
        messages = self._held.read_all(params["messages"])
        if params["handler"] == self._outermost:
            run.seen.ask(messages)
        tools = self._held.infos(params["tools"])
        streaming = params["streaming"]
        request = ModelRequest(messages, tools, NO_OPTIONS, streaming)

        async def inner(ctx: Context, asked: ModelRequest) -> object:
            told: dict[str, object] = {
                "ctx": self._agent.number_of(ctx, run),
                "messages": self._held.tell_all(asked.messages),
            }
            names = [each.name for each in asked.tools]
            if names != [each.name for each in tools]:
                told["tools"] = names
            got = await self._next(params["token"], told)
            if not streaming:
                return self._held.read(got)
            return self._agent.reader(got["stream"], _chunk_of)

        answer = await hook(ctx, request, inner)
        if isinstance(answer, Message):
            return self._held.tell(answer)
        return {"stream": self._held.offer(answer, _chunk)}

    async def _next(self, token: int, told: Mapping[str, object]) -> Any:  # noqa: ANN401  # any JSON
        return await self._agent.call("next", token=token, **told)

    async def _into(  # a call, and what is handed on
        self,
        params: Params,
        value: ToolCallInput,
        in_pieces: bool,  # the kind of the call
        ctx: Context,
        given: ToolCallInput,
    ) -> object:
        """Go on into what a wrapper of a tool stands around."""
        _, run = self._agent.place_of(params)
        told = {
            "ctx": self._agent.number_of(ctx, run),
            "name": given.name,
            "arguments": given.arguments,
            "call_id": given.call_id,
            "same": given is value,
        }
        got = await self._next(params["token"], told)
        if "input" in got:  # others further in share what is handed on
            _leave(got["input"], given)
        if in_pieces:
            return StreamToolCallResult(self._agent.reader(got["stream"], _text_of))
        return ToolCallResult(got["result"])

    def _result(self, got: ToolCallResult | StreamToolCallResult) -> dict[str, object]:
        if isinstance(got, ToolCallResult):
            return {"result": got.result}
        return {"stream": self._held.offer(got.result, _text)}

    # Structs

    async def _struct_called(self, params: Params) -> object:
        at: int = params["struct"]
        field: str = params["field"]
        ctx, run = self._agent.place_of(params)
        await run.has_results()
        await run.caught_up()
        state = self._states.setdefault(params["state"], ChatModelAgentState([]))
        state.messages = list(self._held.read_all(params["messages"]))
        structs: Sequence[AgentMiddleware] = self._agent.config.middlewares
        callback: Any = getattr(structs[at], field)
        after = field == "after_chat_model"
        try:
            with run.seen.hook(tuple(state.messages), after=after) as leave:
                await settled(callback(ctx, state))
                leave(state.messages)
        except Exception as error:
            blame(error, HookError(f"middleware[{at}]", at, field, error))
            raise
        return {"messages": self._held.tell_all(state.messages)}

    def factory(
        self, make: Callable[..., Any], kind: str, name: str, at: int, hook: str
    ) -> int:
        """Return the number of a factory of tool wrappers."""
        return self._held.number(NamedWrapper(make, kind, name, at, hook))

    async def _factory_called(self, params: Params) -> object:
        factory: NamedWrapper = self._held.get(params["factory"])

        async def inner(ctx: Context, given: ToolCallInput) -> object:
            entered, value = ENTERED_CALL.get()
            in_pieces = factory.kind == "streamable"
            try:
                return await self._into(entered, value, in_pieces, ctx, given)
            except Exception as error:
                # Who raised it further in shares what is handed on.
                _, left = self._raised_with.get(id(error), (error, given))
                _leave(_left_in(left), given)
                raise

        try:
            call = factory.call(inner)
        except Exception as error:
            factory.blame(error)
            raise
        made = NamedWrapper(call, factory.kind, factory.name, factory.at, factory.hook)
        return {"endpoint": self._held.number(made)}

    async def _endpoint_called(self, params: Params) -> object:
        made: NamedWrapper = self._held.get(params["endpoint"])
        ctx, run = self._agent.place_of(params, params["call_id"])
        await run.caught_up()
        value = _input(params)
        ENTERED_CALL.set((params, value))
        try:
            got = await settled(made.call(ctx, value))
        except Exception as error:
            made.blame(error, params)
            self._raised_with[id(error)] = error, value
            raise
        return {**self._result(got), "input": _left_in(value)}


async def _blaming(
    stream: AsyncIterator[Any], named: Callable[[Exception], Exception]
) -> AsyncGenerator[Any, None]:
    """Yield a stream on; whose its error is, is noted."""
    try:
        async for chunk in stream:
            yield chunk
    except Exception as error:
        blame(error, named(error))
        raise
    finally:
        if isinstance(stream, StreamReader):
            await stream.aclose()


def _input(params: Params) -> ToolCallInput:
    return ToolCallInput(params["name"], params["arguments"], params["call_id"])


def _left_in(value: ToolCallInput) -> Wire:
    """Return what wrappers have left in an input that they share."""
    return {
        "name": value.name,
        "arguments": value.arguments,
        "call_id": value.call_id,
    }


def _leave(told: Wire, value: ToolCallInput) -> None:
    value.name, value.arguments = told["name"], told["arguments"]
    value.call_id = told["call_id"]


def _text(chunk: str) -> Mapping[str, object]:
    return {"text": chunk}


def _text_of(piece: Wire) -> str:
    return str(piece.get("text", ""))


def _chunk(chunk: Any) -> Mapping[str, object]:  # noqa: ANN401  # a MessageChunk
    return {"message": chunk_told(chunk)}


def _chunk_of(piece: Wire) -> object:
    return chunk_read(piece.get("message") or {})
