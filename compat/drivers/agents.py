"""One agent behind a driver: what it is asked for, and what it calls.

That is the same for agents with handlers, for those of a dialect and for a world of the
Flow dialect: each is named by a number, serves a table of calls, and knows its own
exceptions when they come back. ``DialectAgent`` has what dialects share beside that:
model, tools, callbacks and a clock. Time is the harness's: a driver that waits asks for
it by ``sleep``. What it no longer waits for it gives up by ``abandon``, and what the
harness does for it is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
)
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

from compat.drivers.connection import (
    CANCELLED,
    DriverProcess,
    Params,
    UnknownMethodError,
)
from compat.drivers.values import Wire, chunk_told, kind_of, message_read, message_told
from refengine.awaiting import settled
from refengine.context import Context
from refengine.errors import RefengineError, error
from refengine.messages import Message, ToolCall
from refengine.model import ChatModel, streamed, streamer
from refengine.tools import NO_OPTIONS, Tool, ToolInfo, ToolMeta, as_meta

Tell: TypeAlias = Callable[[Any], Mapping[str, object]]
"""Says a chunk as it stands in a frame."""


class Held:
    """The objects of one agent that a driver names by number, and back."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._messages: dict[int, Message] = {}
        self._refs: dict[int, int] = {}
        self._infos: dict[tuple[str, str], ToolInfo] = {}

    def number(self, value: object) -> int:
        """Return the number of an object: the same one each time."""
        found = self._numbers.get(id(value))
        if found is None:
            found = self._numbers[id(value)] = len(self._objects) + 1
            self._objects[found] = value
        return found

    def get(self, number: int) -> Any:  # noqa: ANN401  # whatever was numbered
        """Return the object of a number; raises LookupError if there is none."""
        return self._objects[number]

    # Messages

    def read(self, told: Wire) -> Message:
        """Return a message: the one of that reference, if it still says the same.

        Raises LookupError for a reference alone that was told with nothing before.
        """
        ref = told.get("ref")
        if ref is not None and len(told) == 1:
            return self._messages[ref]
        made = message_read(told)
        if not ref:
            return made
        known = self._messages.get(ref)
        if known is not None and known == made:
            return known
        self._messages[ref] = made
        self._refs[id(made)] = ref
        return made

    def read_all(self, told: Iterable[Wire] | None) -> tuple[Message, ...]:
        """Return a history."""
        return tuple(map(self.read, told or ()))

    def tell(self, message: Message) -> Mapping[str, object]:
        """Return a message as it stands in a frame: its reference, if it has one."""
        ref = self._refs.get(id(message))
        known = ref is not None and self._messages[ref] is message
        return {"ref": ref} if known else message_told(message)

    def tell_all(self, messages: Iterable[Message]) -> list[Mapping[str, object]]:
        """Return a history as it stands in a frame."""
        return list(map(self.tell, messages))

    # Tools

    def tool(self, given: Tool | ToolMeta) -> Mapping[str, object]:
        """Return a tool as a driver is told of it."""
        tool = as_meta(given).tool
        info = tool.info
        self._infos[info.name, info.description] = info
        return {
            "tool": self.number(tool),
            "name": info.name,
            "description": info.description,
            "kind": kind_of(tool),
        }

    def info(self, told: Wire) -> ToolInfo:
        """Return what the model is told of a tool: what the tool itself says.

        A driver need not tell its number; then one that has these words is meant.
        """
        if number := told.get("tool"):
            return cast("Tool", self.get(number)).info
        said = told["name"], told["description"]
        return self._infos.get(said) or ToolInfo(*said, told.get("parameters") or {})

    def infos(self, told: Iterable[Wire]) -> tuple[ToolInfo, ...]:
        """Return what the model is told of tools."""
        return tuple(map(self.info, told))

    # Streams

    def offer(self, stream: AsyncIterator[Any], tell: Tell) -> int:
        """Return the number of a stream that the driver will pull."""
        number = len(self._objects) + 1
        self._objects[number] = (stream, tell)
        return number

    async def pull(self, number: int) -> Mapping[str, object]:
        """Return the next chunk of a stream, or that it has ended."""
        stream, tell = self._objects[number]
        try:
            return cast("Mapping[str, object]", tell(await anext(stream)))
        except StopAsyncIteration:
            return {"end": True}

    async def close(self, number: int) -> Mapping[str, object]:
        """Close a stream that the driver reads no further."""
        stream, _ = self._objects[number]
        await stream.aclose()
        return {}


class Errors:
    """Exceptions of the harness that are on their way through an engine, by number."""

    def __init__(self) -> None:
        self._errors: list[BaseException] = []

    def tell(self, error: BaseException) -> Mapping[str, object]:
        """Return what travels of an exception: its number."""
        for at, each in enumerate(self._errors, 1):
            if each is error:
                return {"number": at}
        self._errors.append(error)
        return {"number": len(self._errors)}

    def known(self, number: int) -> BaseException | None:
        """Return the exception of a number; None if the engine made its error."""
        return self._errors[number - 1] if 0 < number <= len(self._errors) else None


Served: TypeAlias = Callable[[Params], Coroutine[Any, Any, object]]
"""Answers a call."""
Notice: TypeAlias = Callable[[Params], None]
"""Takes a notification."""


@error
class DriverRaisedError(RefengineError):
    """A driver's own error came out; ``kind`` is a stable name for what it is."""

    text: str
    kind: str = ""
    says = "{text}"


class DriverAgent:
    """One agent of a driver, under its number."""

    def __init__(self, driver: DriverProcess) -> None:
        self.driver = driver
        self.held = Held()
        self.number = driver.add(self)
        self._errors = Errors()
        self._functions: dict[str, Served] = {
            "pull": lambda params: self.held.pull(params["stream"]),
            "close": lambda params: self.held.close(params["stream"]),
        }
        self._notices: dict[str, Notice] = {}

    def serves(self, **functions: Served) -> None:
        """Answer these methods, too."""
        self._functions.update(functions)

    def takes(self, **notices: Notice) -> None:
        """Take these notifications, too; others say nothing here."""
        self._notices.update(notices)

    # How the driver is asked

    @contextmanager
    def attached(self) -> Generator[None, None, None]:
        """Hear the driver in the loop that runs."""
        self.driver.attach()
        try:
            yield
        finally:
            self.driver.detach()

    async def call(self, method: str, **params: object) -> Any:  # noqa: ANN401  # any JSON
        """Return what the driver returns for a call; it may call back meanwhile."""
        asked = {"agent": self.number, **params}
        return await self.driver.call(method, asked, self)

    def ask(self, method: str, **params: object) -> Any:  # noqa: ANN401  # any JSON
        """Return the same of a function that calls nobody: the loop stands still."""
        return self.driver.ask(method, {"agent": self.number, **params}, self)

    async def pulled(
        self, stream: int, make: Callable[[Wire], Any] = lambda piece: piece
    ) -> AsyncGenerator[Any, None]:
        """Yield what the pieces of a stream of the driver are, asked for one by one."""
        ended = False
        try:
            while True:
                piece = await self.call("pull", stream=stream)
                ended = bool(piece.get("end"))
                if ended:
                    return
                yield make(piece)
        finally:
            if not ended and self.driver.over is None:
                await self.call("close", stream=stream)

    # What the driver calls

    def served(self, method: str, params: Params) -> Coroutine[Any, Any, object]:
        """Return what answers a call; raises UnknownMethodError."""
        function = self._functions.get(method)
        if function is None:
            raise UnknownMethodError(method)
        return function(params)

    def notified(self, method: str, params: Params) -> None:
        """Take a notification, if anybody wants it."""
        notice = self._notices.get(method)
        if notice is not None:
            notice(params)

    # Errors

    def error_data(self, error: BaseException) -> Mapping[str, object]:
        """Return what travels of an exception: its number."""
        return self._errors.tell(error)

    def error_of(self, message: str, data: Params) -> BaseException:
        """Return the exception that came back, or one for what the driver says."""
        known = self._errors.known(data.get("number", 0))
        return known or self.raised(message, data)

    def raised(self, message: str, data: Params) -> BaseException:
        """Return an exception for an error that the driver has made itself."""
        return DriverRaisedError(message, data.get("kind", ""))

    def error_read(self, told: Wire) -> BaseException:
        """Return the exception that stands in a frame as ``message`` and ``data``."""
        return self.error_of(str(told["message"]), told.get("data") or {})


class DialectAgent(DriverAgent):
    """One agent of a dialect: with a model, tools, callbacks and a clock."""

    def __init__(self, driver: DriverProcess, model: ChatModel) -> None:
        super().__init__(driver)
        self._ask = streamer(model)
        self._last_run = 0
        self._is_cancelled = False
        self._callbacks: dict[int, Callable[..., object]] = {}
        self.serves(
            model=self._model_called,
            tool=self._tool_called,
            callback=self._callback_called,
            now=_now,
            sleep=_slept,
        )

    # What a driver is told

    async def ran(self, **params: object) -> Any:  # noqa: ANN401  # any JSON
        """Return what a run returns; cancelled, it waits until the driver has ended it.

        Raises what came out of the run, which a cancellation may be.
        """
        self._last_run += 1
        asked = {"agent": self.number, "run": self._last_run, **params}
        reply = self.driver.start("run", asked, self)
        try:
            return await asyncio.shield(reply)
        except asyncio.CancelledError:
            if reply.done():  # the run says so itself
                raise
            self._is_cancelled = True
            await self.call("cancel", run=asked["run"])
            await asyncio.wait((reply,))
            raised = reply.exception()
            if raised is not None and not isinstance(raised, asyncio.CancelledError):
                raise raised from None
            raise

    def hears(self, number: int, deliver: Callable[..., object]) -> None:
        """Let callbacks of that number go to a function: name, and what is told."""
        self._callbacks[number] = deliver

    # What a driver calls

    def error_data(self, error: BaseException) -> Mapping[str, object]:
        """Return what travels of an exception: its number, and what it is called."""
        return {**super().error_data(error), "name": type(error).__name__}

    def error_of(self, message: str, data: Params) -> BaseException:
        """Return the exception that came back, or one for what the driver says.

        That something was cancelled is an error like another where nobody cancelled.
        """
        if data.get("kind") == CANCELLED and self._is_cancelled:
            return asyncio.CancelledError()
        return super().error_of(message, data)

    async def _model_called(self, params: Params) -> object:
        messages = self.held.read_all(params["messages"])
        infos = self.held.infos(params["tools"])
        opened = streamed(await self._ask(Context(), messages, infos, NO_OPTIONS))
        return {"stream": self.held.offer(opened, _piece)}

    async def _tool_called(self, params: Params) -> object:
        tool = self.held.get(params["tool"])
        arguments = params["arguments"]
        given = await settled(tool.invoke(Context(), arguments, NO_OPTIONS))
        return self.tool_told(given)

    def tool_told(self, given: object) -> Mapping[str, object]:
        """Return what a tool gave as it stands in a frame."""
        return {"result": given}

    async def _callback_called(self, params: Params) -> object:
        deliver = self._callbacks[params["callbacks"]]
        return {"given": await settled(deliver(params["name"], params["data"]))}


async def _now(_: Params) -> object:
    return {"seconds": asyncio.get_running_loop().time()}


async def _slept(params: Params) -> object:
    await asyncio.sleep(params["seconds"])
    return {}


def _piece(chunk: Any) -> Mapping[str, object]:  # noqa: ANN401  # a MessageChunk
    return {"message": chunk_told(chunk)}


def call_read(told: Wire) -> ToolCall:
    """Return the call of a tool that stands in a frame."""
    return ToolCall(told["id"], told["name"], told["arguments"])
