"""What the driver of a Flow engine calls: models, tools and hooks of a world."""

from __future__ import annotations

import copy
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Mapping,
)
from dataclasses import dataclass, is_dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast

from compat.dialects.flow.content import Content
from compat.dialects.flow.events import Event
from compat.dialects.flow.model import GenerateConfig, LlmRequest, LlmResponse
from compat.dialects.flow.values import as_json, from_json, plain
from compat.drivers.agents import DriverAgent
from compat.drivers.connection import DriverProcess, Params
from compat.drivers.flow.contexts import RemoteFlowContext
from compat.drivers.saying import EngineFailedError
from compat.engines.flow.observing import plain_schema
from compat.engines.flow.operations import FlowContext
from compat.engines.flow.world import SUBJECTS, FlowWorldTool, WorldModel

OF_A_RUN: Final = frozenset(("on_user_message", "before_run", "on_event", "after_run"))
"""The hooks that are given no context."""


@dataclass(frozen=True, slots=True)
class NamedTool:
    """What a hook is given of a tool."""

    name: str


@dataclass(frozen=True, slots=True)
class VendorChunk:
    """A chunk of a vendor's stream on its way to an engine, which aggregates it."""

    response: LlmResponse | None


class EngineLookupError(EngineFailedError, LookupError):
    """It looked for something that is not there: an agent, a session."""


class EngineKeyError(EngineFailedError, KeyError):
    """A template names what the state, or what keeps files, does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class EngineValueError(EngineFailedError, ValueError):
    """What it was given cannot be used."""


FLOW_KINDS: Final[Mapping[str, type[EngineFailedError]]] = MappingProxyType(
    {
        "agent_not_found": EngineLookupError,
        "no_session": EngineLookupError,
        "no_variable": EngineKeyError,
        "no_artifact": EngineKeyError,
        "no_artifacts": EngineValueError,
        "no_call_found": EngineValueError,
        "responses_mixed": EngineValueError,
        "plugin_name": EngineValueError,
        "unknown_tool": EngineValueError,
        "agent_place": EngineValueError,
    }
)
"""What an error of that kind is in Python; one of no other is an exception."""


def said_by_flow_engine(text: str, data: Mapping[str, Any]) -> EngineFailedError:
    """Return the error that a driver told of, which is none of the world's."""
    kind = data.get("kind", "")
    return FLOW_KINDS.get(kind, EngineFailedError)(text, kind)


class FlowCalls(DriverAgent):
    """All that the driver of one world may call, and how that driver is asked."""

    def __init__(self, driver: DriverProcess) -> None:
        super().__init__(driver)
        self.serves(
            model=self._model_called, tool=self._tool_called, hook=self._hook_called
        )

    async def left(self, run: Mapping[str, Any]) -> None:
        """Let go of a run whose consumer has left, and wait until it has ended."""
        if self.driver.over is None:
            await self.call("close", **run)

    def raised(self, message: str, data: Params) -> Exception:
        """Return an exception for what the engine says."""
        return said_by_flow_engine(message, data)

    # What the driver calls

    async def _model_called(self, params: Params) -> object:
        model: WorldModel = self.held.get(params["model"])
        answers = model.generate(
            request_read(params["request"]),
            stream=params["stream"],
            aggregate=cast("Any", _as_chunks),
        )
        return {"stream": self.held.offer(answers, piece_told)}

    async def _tool_called(self, params: Params) -> object:
        tool: FlowWorldTool = self.held.get(params["tool"])
        ctx = cast("FlowContext", self._context(params))
        result = await tool.run(ctx, params.get("args") or {})
        return {"result": plain(result)}

    async def _hook_called(self, params: Params) -> object:
        hook = self.held.get(params["extension"])
        given = {name: self._subject(name, params) for name in SUBJECTS[params["hook"]]}
        before = copy.deepcopy(
            {name: given[name] for name in _CHANGED if name in given}
        )
        ctx = None if params["hook"] in OF_A_RUN else self._context(params)
        try:
            value = await hook(ctx, *given.values())
        finally:
            self._leave(params, before, given)
        return {} if value is None else {"value": _told(value)}

    def _context(self, params: Params) -> RemoteFlowContext:
        return RemoteFlowContext(partial(self._of_context, params["ctx"]), params)

    def _of_context(self, ctx: int, do: str, **told: object) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.ask("context", ctx=ctx, do=do, **told)
        return found

    def _subject(self, name: str, params: Params) -> Any:  # noqa: ANN401  # each has its type
        if name == "error":
            told = params.get("error")
            return None if told is None else self.error_read(told)
        if name == "result":
            return params.get("result", {}) if params.get("has_result") else None
        return _SUBJECTS[name](params.get(name) or {})

    def _leave(
        self, params: Params, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> None:
        """Tell the engine what a hook has changed in place, if it has."""
        changed = {
            name: _CHANGED[name](before[name], after[name])
            for name in before
            if before[name] != after[name]
        }
        if changed:
            self._of_context(params["ctx"], "change", **changed)


def _request_change(before: LlmRequest, after: LlmRequest) -> Mapping[str, object]:
    """Return what a hook changed of a request; what it left alone is not there."""
    changed: dict[str, object] = {}
    if after.contents != before.contents:
        changed["contents"] = [plain(as_json(each)) for each in after.contents]
    if after.config.system_instruction != before.config.system_instruction:
        changed["system_instruction"] = after.config.system_instruction
    if after.config.tools != before.config.tools:
        changed["tools"] = [each.name for each in after.config.tools]
    return changed


def _whole(_: object, after: object) -> object:
    return after


_CHANGED: Final[Mapping[str, Callable[[Any, Any], object]]] = MappingProxyType(
    {"request": _request_change, "args": _whole, "result": _whole}
)
"""What hooks may change in place, and what of it the engine is told."""


def request_read(told: Mapping[str, Any]) -> LlmRequest:
    """Return a request; its schemas are plain JSON, however the vendor writes them."""
    config = dict(told.get("config") or {})
    if config.get("response_schema") is not None:
        config["response_schema"] = plain_schema(config["response_schema"])
    config["tools"] = [
        {**each, "parameters": _parameters(each.get("parameters"))}
        for each in config.get("tools", ())
    ]
    return LlmRequest(
        model=told.get("model", ""),
        contents=[from_json(Content, each) for each in told.get("contents", ())],
        config=from_json(GenerateConfig, config),
    )


def _parameters(schema: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return the schema of a tool's arguments, None if it says that they are some."""
    said = plain_schema(schema)
    return None if said == {"type": "object"} else said


_SUBJECTS: Final[Mapping[str, Callable[[Any], object]]] = MappingProxyType(
    {
        "request": request_read,
        "response": partial(from_json, LlmResponse),
        "content": partial(from_json, Content),
        "event": partial(from_json, Event),
        "tool": NamedTool,
        "args": dict[str, Any],
    }
)
"""How each thing that a hook is given is read."""


async def _as_chunks(
    chunks: AsyncIterator[LlmResponse | None],
) -> AsyncGenerator[VendorChunk, None]:
    """Yield a vendor's chunks as they are: the engine aggregates them itself."""
    async for chunk in chunks:
        yield VendorChunk(chunk)


def piece_told(brought: LlmResponse | VendorChunk) -> Mapping[str, object]:
    """Return what a pull of a model's stream brings."""
    if isinstance(brought, LlmResponse):
        return {"response": _told(brought)}
    said = brought.response
    return {"chunk": True, **({} if said is None else {"response": _told(said)})}


def _told(value: object) -> object:
    return plain(as_json(value) if is_dataclass(value) else cast("Any", value))
