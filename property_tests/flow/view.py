"""What the checks of the Flow dialect read a trace by: turns, stages, requests, events.

A trace is a row of observations; a check asks for things such as "the hooks of one
stage" or "what was sent for the second time". All of that is here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from compat.dialects.flow.profile import FlowProfile
from compat.engines.flow.scenario import FlowAgentSpec, FlowScenario, FlowTurnSpec
from compat.engines.flow.world import PROCESSOR
from property_tests.dialects.dialect import PlayedDialect
from refengine.testing.trace import Observation, Trace

Data: TypeAlias = "Mapping[str, Any]"

USER: Final = "user"


@dataclass(frozen=True, slots=True)
class HookSeen:
    """One entry into a hook, and how it was left: with nothing, a value, an error.

    ``plugin`` is empty for a callback, which has a ``number`` in its list.
    """

    place: int
    hook: str
    agent: str
    plugin: str
    number: int
    call_id: str
    left: str
    value: Any
    end: int

    @property
    def owner(self) -> str:
        """Who it is, in words."""
        if self.plugin:
            return f"plugin {self.plugin}"
        return f"callback {self.number} of {self.agent}"

    @property
    def rank(self) -> tuple[int, int]:
        """Where it stands among those of its stage, plugins being first."""
        return (0, 0) if self.plugin else (1, self.number)


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """What a model was sent."""

    place: int
    agent: str
    contents: Sequence[Data] = ()
    instruction: str = ""
    tools: Sequence[str] = ()

    @property
    def parts(self) -> list[Data]:
        """All parts that it was sent, in order."""
        return [part for each in self.contents for part in each.get("parts", ())]

    @property
    def text(self) -> str:
        """All text that it was sent."""
        return "\n".join(each.get("text", "") for each in self.parts)


@dataclass(frozen=True, slots=True)
class ToolSeen:
    """One time that a tool was really run."""

    place: int
    agent: str
    name: str
    call_id: str
    args: Data


def response_in(response: Data) -> Data:
    """Return what a function response says, nothing if it is empty."""
    found: Data | None = response.get("response")
    return found or {}


@dataclass(frozen=True, slots=True)
class EventSeen:
    """One event, as it was told or as it was kept."""

    place: int
    data: Data

    @property
    def author(self) -> str:
        """Who it is of."""
        return str(self.data.get("author", ""))

    @property
    def partial(self) -> bool:
        """Whether it is a piece of an event to come."""
        return bool(self.data.get("partial"))

    @property
    def content(self) -> Data | None:
        """What it says, None if nothing."""
        found: Data | None = self.data.get("content")
        return found

    @property
    def parts(self) -> Sequence[Data]:
        """The parts of what it says."""
        return () if self.content is None else self.content.get("parts", ())

    @property
    def text(self) -> str:
        """Its text, without thoughts."""
        return "".join(
            each.get("text", "") for each in self.parts if not each.get("thought")
        )

    @property
    def calls(self) -> list[Data]:
        """The calls in it."""
        return [each["call"] for each in self.parts if each.get("call")]

    @property
    def responses(self) -> list[Data]:
        """The responses in it."""
        return [each["response"] for each in self.parts if each.get("response")]

    @property
    def actions(self) -> Data:
        """What it does besides."""
        found: Data = self.data.get("actions", {})
        return found


@dataclass(frozen=True, slots=True)
class FailureSeen:
    """A model or a tool that failed; ``name`` is the tool's."""

    place: int
    agent: str
    name: str
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ValueSeen:
    """A value that a tool gave, or that stood or was put under a key of the state."""

    place: int
    name: str
    call_id: str
    value: Any


@dataclass(slots=True)
class FlowTurn:
    """One turn as it was seen."""

    number: int
    spec: FlowTurnSpec
    hooks: list[HookSeen] = field(default_factory=list[HookSeen])
    requests: list[RequestSeen] = field(default_factory=list[RequestSeen])
    model_responses: list[RequestSeen] = field(default_factory=list[RequestSeen])
    model_errors: list[FailureSeen] = field(default_factory=list[FailureSeen])
    tool_errors: list[FailureSeen] = field(default_factory=list[FailureSeen])
    tool_results: list[ValueSeen] = field(default_factory=list[ValueSeen])
    reads: list[ValueSeen] = field(default_factory=list[ValueSeen])
    tools: list[ToolSeen] = field(default_factory=list[ToolSeen])
    events: list[EventSeen] = field(default_factory=list[EventSeen])
    kept: list[EventSeen] = field(default_factory=list[EventSeen])
    state: Data = field(default_factory=dict[str, Any])
    error: Data | None = None
    left: bool = False
    end: int = 0

    def of(self, *names: str) -> list[HookSeen]:
        """Return the entries into these hooks."""
        return [each for each in self.hooks if each.hook in names]

    @property
    def failed(self) -> bool:
        """Whether an error came out of it."""
        return self.error is not None


@dataclass(frozen=True, slots=True)
class FlowView:
    """A played world."""

    scenario: FlowScenario
    profile: FlowProfile
    turns: Sequence[FlowTurn]
    trace: Trace

    @property
    def agents(self) -> Mapping[str, FlowAgentSpec]:
        """All agents by name."""
        return {each.name: each for each in self.scenario.agents()}

    @property
    def edits_events(self) -> bool:
        """Whether a plugin may change events on their way out."""
        return any(each.hooks.get("on_event") for each in self.scenario.plugins)

    @property
    def is_parallel(self) -> bool:
        """Whether agents run at the same time, so that they stand between others."""
        return any(each.kind == "parallel" for each in self.agents.values())

    def held(self, session: str) -> Mapping[str, Any]:
        """Return what a session reads of the initial state of all sessions."""
        sessions = self.scenario.sessions
        mine = sessions[session]
        found: dict[str, Any] = {}
        for each in sessions.values():
            scopes = ("app:", "user:") if each.user == mine.user else ("app:",)
            found |= {k: v for k, v in each.state.items() if k.startswith(scopes)}
        return found | {k: v for k, v in mine.state.items() if k not in found}

    def does(self, hook: HookSeen) -> tuple[Any, ...]:
        """Return what a hook is told to do in the scenario."""
        if hook.plugin:
            [own] = [e for e in self.scenario.plugins if e.name == hook.plugin]
            return own.hooks.get(hook.hook, ())
        agent = self.agents[hook.agent]
        if hook.hook == PROCESSOR:
            return agent.processors[hook.number].do
        return agent.callbacks[hook.hook][hook.number]


def view_of(played: PlayedDialect) -> FlowView:
    """Return what the checks read of a played world."""
    turns = [FlowTurn(at, spec) for at, spec in enumerate(played.scenario.turns)]
    trace: Trace = played.trace
    reader = _Reader(turns)
    for place, each in enumerate(trace):
        reader.take(place, each)
    ran = [each for each in turns if each.end]
    return FlowView(played.scenario, played.profile, ran, trace)


class _Reader:
    """What makes turns of observations, one after the other."""

    def __init__(self, turns: Sequence[FlowTurn]) -> None:
        self._turns = turns
        self._open: dict[tuple[Any, ...], list[tuple[int, Data]]] = {}
        self._kept: dict[str, int] = {}
        self._taking: Mapping[str, Callable[[FlowTurn, int, Data, str], None]] = {
            "hook_enter": self._enter,
            "hook_exit": self._exit,
            "model_request": _request,
            "model_response": _response,
            "model_error": _model_error,
            "tool_start": _tool,
            "tool_end": _result,
            "tool_error": _tool_error,
            "effect": _effect,
            "event": _event,
            "run_end": _end,
            "checkpoint": self._checkpoint,
        }

    def take(self, place: int, each: Observation) -> None:
        """Take the next observation."""
        take = self._taking.get(each.kind)
        if take is not None and each.run:
            data: Data = each.data
            take(self._turns[each.run - 1], place, data, each.call_id or "")

    def _enter(self, turn: FlowTurn, place: int, data: Data, call_id: str) -> None:
        self._open.setdefault(_key(data, call_id), []).append((place, data))
        del turn

    def _exit(self, turn: FlowTurn, place: int, data: Data, call_id: str) -> None:
        entered, _ = self._open[_key(data, call_id)].pop()
        error, value = data.get("error"), data.get("value")
        left = "error" if error is not None else "none" if value is None else "value"
        seen = HookSeen(
            place=entered,
            hook=data["hook"],
            agent=data["agent"],
            plugin=data.get("plugin", ""),
            number=data.get("callback", 0),
            call_id=call_id,
            left=left,
            value=value,
            end=place,
        )
        turn.hooks.append(seen)
        turn.hooks.sort(key=lambda each: each.place)

    def _checkpoint(self, turn: FlowTurn, place: int, data: Data, _: str) -> None:
        known = self._kept.get(data["session"], 0)
        turn.kept += [EventSeen(place, each) for each in data["events"][known:]]
        self._kept[data["session"]] = len(data["events"])
        turn.state = data["state"]


def _key(data: Data, call_id: str) -> tuple[Any, ...]:
    owner = data.get("plugin"), data.get("callback")
    return data["hook"], data["agent"], *owner, call_id


def _request(turn: FlowTurn, place: int, data: Data, _: str) -> None:
    request = data["request"]
    config = request.get("config", {})
    turn.requests.append(
        RequestSeen(
            place,
            data["agent"],
            request.get("contents", ()),
            config.get("system_instruction", ""),
            [each["name"] for each in config.get("tools", ())],
        )
    )


def _response(turn: FlowTurn, place: int, data: Data, _: str) -> None:
    content = data["response"].get("content")
    said = () if content is None else (content,)
    turn.model_responses.append(RequestSeen(place, data["agent"], said))


def _model_error(turn: FlowTurn, place: int, data: Data, _: str) -> None:
    text = data["error"]["text"]
    turn.model_errors.append(FailureSeen(place, data["agent"], "", "", text))


def _tool(turn: FlowTurn, place: int, data: Data, call_id: str) -> None:
    ran = ToolSeen(place, data["agent"], data["tool"], call_id, data.get("args", {}))
    turn.tools.append(ran)


def _result(turn: FlowTurn, place: int, data: Data, call_id: str) -> None:
    found = ValueSeen(place, data["tool"], call_id, data.get("result"))
    turn.tool_results.append(found)


def _tool_error(turn: FlowTurn, place: int, data: Data, call_id: str) -> None:
    text = data["error"]["text"]
    failed = FailureSeen(place, data["agent"], data["tool"], call_id, text)
    turn.tool_errors.append(failed)


def _effect(turn: FlowTurn, place: int, data: Data, call_id: str) -> None:
    noted: Any = data.get("data", {})
    if "state" in noted:
        found = ValueSeen(place, noted["state"], call_id, noted.get("value"))
        turn.reads.append(found)


def _event(turn: FlowTurn, place: int, data: Data, _: str) -> None:
    turn.events.append(EventSeen(place, data["event"]))


def _end(turn: FlowTurn, place: int, data: Data, _: str) -> None:
    turn.error, turn.left, turn.end = data.get("error"), bool(data.get("left")), place
