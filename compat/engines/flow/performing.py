"""Doing what the hooks and tools of a Flow world are told to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Protocol, cast

from compat.dialects.flow.content import Part, text_content
from compat.dialects.flow.events import Event, ToolConfirmation
from compat.dialects.flow.model import LlmRequest, LlmResponse
from compat.engines.flow.observing import FlowNotes, ScriptedFlowError
from compat.engines.flow.operations import (
    AnyFlowOp,
    AskConfirmation,
    CountState,
    EditArgs,
    EditRequest,
    EditResponse,
    EditResult,
    FlowSaying,
    Give,
    GiveIfState,
    RaiseError,
    ReadArtifact,
    ReadState,
    SaveArtifact,
    SetFlag,
    TransferTo,
    WriteState,
)
from refengine.messages import Json

REJECTED: Final = {"rejected": True}
WAITS: Final = {"waits": True}
"""What a tool or a hook gives that asked for confirmation: no, or no answer yet."""


class FlowActions(Protocol):
    """The actions that a hook or a tool may set."""

    skip_summarization: bool | None
    escalate: bool | None
    transfer_to_agent: Any


class FlowState(Protocol):
    """The state that a hook or a tool has."""

    def __getitem__(self, key: str, /) -> Any: ...  # noqa: ANN401  # any JSON value
    def __setitem__(self, key: str, value: Any, /) -> None: ...  # noqa: ANN401  # any JSON value
    def __contains__(self, key: Any, /) -> bool: ...  # noqa: ANN401  # as Mapping has it


class FlowContext(Protocol):
    """What a door gives hooks of agents, models and tools, and tools themselves."""

    @property
    def agent_name(self) -> str:
        """The agent that runs."""
        ...

    @property
    def state(self) -> FlowState:
        """The state, to read and to write."""
        ...

    @property
    def actions(self) -> FlowActions:
        """The actions of the event that is being made."""
        ...

    async def save_artifact(self, name: str, part: Part) -> int:
        """Keep one more version of a file and return its number."""
        ...

    async def load_artifact(self, name: str) -> Part | None:
        """Return the newest version of a file, None if there is none."""
        ...


class FlowToolContext(FlowContext, Protocol):
    """What a door gives a tool and the hooks around it."""

    @property
    def call_id(self) -> str:
        """The id of the call."""
        ...

    @property
    def confirmation(self) -> ToolConfirmation | None:
        """What the user said to this call, None if he was not asked."""
        ...

    def request_confirmation(self, hint: str = "", payload: object = None) -> None:
        """Ask the user before this call goes on."""
        ...


@dataclass(frozen=True, slots=True)
class Performance:
    """One call of a hook, or of a tool: who, how often, and what it was given."""

    point: str
    hook: str
    ctx: Any
    given: Mapping[str, Any]
    number: int
    notes: FlowNotes

    @property
    def call_id(self) -> str | None:
        """The id of the call that it is about, None if it is about none."""
        return getattr(self.ctx, "call_id", None) or None

    def value(self, saying: FlowSaying, result: Any) -> Any:  # noqa: ANN401  # what the hook gives
        """Return what is said as this hook gives it."""
        if "tool" in self.hook:
            return result
        role = "user" if self.hook == "on_user_message" else "model"
        content = saying.content(role)
        if self.hook == "on_event":
            return replace(cast("Event", self.given["event"]), content=content)
        if "model" not in self.hook:
            return content
        if not isinstance(saying, Give):
            return LlmResponse(content=content)
        code, partial = saying.error_code, saying.partial
        return LlmResponse(content=content, error_code=code, partial=partial)


async def perform(todo: Iterable[AnyFlowOp], call: Performance) -> Any:  # noqa: ANN401  # what the hook gives
    """Do the operations in turn; return the value of the first that gives one.

    Raises ScriptedFlowError where it is told to.
    """
    for op in todo:
        if op.on_call in {None, call.number}:
            value = await _DOING[type(op)](op, call)
            if value is not None:
                return value
    return None


async def _give(op: Give, call: Performance) -> Any:  # noqa: ANN401  # what the hook gives
    return call.value(op, op.result)


async def _raise(op: RaiseError, call: Performance) -> None:
    raise ScriptedFlowError(op.text, call.point)


async def _edit_request(op: EditRequest, call: Performance) -> None:
    request: LlmRequest = call.given["request"]
    request.append_instructions(op.append_instruction)
    if op.keep_last is not None:
        kept = request.contents[max(len(request.contents) - op.keep_last, 0) :]
        request.contents[:] = kept
    if op.append_text:
        request.contents.append(text_content("user", op.append_text))
    if op.drop_tool:
        tools = tuple(x for x in request.config.tools if x.name != op.drop_tool)
        request.config = replace(request.config, tools=tools)


async def _edit_response(op: EditResponse, call: Performance) -> None:
    call.ctx.edit_response(op.text)


async def _edit_args(op: EditArgs, call: Performance) -> None:
    call.given["args"].update(op.values)


async def _edit_result(op: EditResult, call: Performance) -> None:
    result = call.given["result"]
    if isinstance(result, dict):
        cast("dict[str, Json]", result).update(op.values)


async def _write_state(op: WriteState, call: Performance) -> None:
    call.ctx.state[op.key] = op.value


async def _count_state(op: CountState, call: Performance) -> None:
    call.ctx.state[op.key] = _number(call, op.key) + 1


async def _read_state(op: ReadState, call: Performance) -> None:
    _note(call, {"state": op.key, "value": _read(call, op.key)})


async def _give_if_state(op: GiveIfState, call: Performance) -> Any:  # noqa: ANN401  # what the hook gives
    enough = _number(call, op.key) >= op.least
    return call.value(op, op.result) if enough else None


def _read(call: Performance, key: str) -> Any:  # noqa: ANN401  # any JSON value
    return call.ctx.state[key] if key in call.ctx.state else None  # noqa: SIM401  # a FlowState has no get()


def _number(call: Performance, key: str) -> int:
    found = _read(call, key)
    return found if type(found) is int else 0


async def _save(op: SaveArtifact, call: Performance) -> None:
    version = await call.ctx.save_artifact(op.name, Part(text=op.text))
    _note(call, {"artifact": op.name, "version": version})


async def _read_artifact(op: ReadArtifact, call: Performance) -> None:
    part = await call.ctx.load_artifact(op.name)
    _note(call, {"artifact": op.name, "text": None if part is None else part.text})


async def _set_flag(op: SetFlag, call: Performance) -> None:
    setattr(call.ctx.actions, op.op, op.value)


async def _transfer(op: TransferTo, call: Performance) -> None:
    call.ctx.actions.transfer_to_agent = op.agent


async def _ask(op: AskConfirmation, call: Performance) -> dict[str, bool] | None:
    answer: ToolConfirmation | None = call.ctx.confirmation
    if answer is None:
        call.ctx.request_confirmation(hint=op.hint, payload=op.payload)
        return dict(WAITS)
    told = {"confirmed": answer.confirmed, "payload": answer.payload}
    _note(call, {"confirmation": told})
    return None if answer.confirmed else dict(REJECTED)


def _note(call: Performance, told: Mapping[str, object]) -> None:
    call.notes.recorder.note({"at": call.point, **told}, call.call_id)


_DOING: Final[Mapping[type, Callable[[Any, Performance], Any]]] = MappingProxyType(
    {
        Give: _give,
        RaiseError: _raise,
        EditRequest: _edit_request,
        EditResponse: _edit_response,
        EditArgs: _edit_args,
        EditResult: _edit_result,
        WriteState: _write_state,
        CountState: _count_state,
        ReadState: _read_state,
        GiveIfState: _give_if_state,
        SaveArtifact: _save,
        ReadArtifact: _read_artifact,
        SetFlag: _set_flag,
        TransferTo: _transfer,
        AskConfirmation: _ask,
    }
)
