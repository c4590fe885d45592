"""The official client playing a scenario's runs: what a recording records.

It does what an application without extensions does: it sends messages and tools, runs
what the answer calls, and goes on until an answer calls nothing. A scenario that asks
for more than that is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeAlias

from compat.wire.errors import WireError
from compat.wire.interfaces.chat import chat_message
from refengine.messages import Message, ToolCall
from refengine.testing.notation import decoded, parse_message
from refengine.testing.ops import Spec, ToolSpec
from refengine.testing.scenario import AgentSpec, RunSpec, Scenario

Client: TypeAlias = Any
"""An ``openai.OpenAI``, which no extra for users brings; its answers are Any, too."""
MODEL: Final = "scripted"
_AGENT: Final = frozenset(
    {"name", "instruction", "tools", "max_iterations", "sequential"}
)
_RUN: Final = frozenset({"input", "continues", "streaming", "agent", "via"})
_TOOL: Final = frozenset({"name", "kind", "result", "by_call", "chunks", "error"})


class NotPlayableError(WireError, ValueError):
    """A scenario asks for more than sending messages and running tools."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(
            f"{where} cannot be recorded, because the client has no such thing:"
            " remove it from the scenario"
        )


class NothingToPlayError(WireError, ValueError):
    """A scenario without runs, so that nothing would be recorded."""

    def __init__(self) -> None:
        super().__init__("the scenario has no runs: add one, with its input")


def check_playable(scenario: Scenario) -> None:
    """Raise NotPlayableError or NothingToPlayError."""
    for where in _unplayable(scenario):
        raise NotPlayableError(where)
    if not scenario.runs:
        raise NothingToPlayError


def _unplayable(scenario: Scenario) -> Iterator[str]:
    for at, agent in enumerate(scenario.all_agents):
        yield from _beyond(agent, _AGENT, f"agents[{at}]")
        for number, tool in enumerate(agent.tools):
            yield from _beyond(tool, _TOOL, f"agents[{at}].tools[{number}]")
    for at, run in enumerate(scenario.runs):
        yield from _beyond(run, _RUN, f"runs[{at}]")


def _beyond(spec: Spec, known: frozenset[str], where: str) -> Iterator[str]:
    for name in sorted(spec.model_fields_set - known):
        yield f"{where}.{name}"


def play(scenario: Scenario, clients: Sequence[Client]) -> tuple[str, ...]:
    """Play the runs, each agent with its own client; return what came of each run.

    Raises NotPlayableError and NothingToPlayError.
    """
    check_playable(scenario)
    pairs = zip(clients, scenario.all_agents, strict=True)
    players = [ClientPlayer(client, agent, Tools.of(agent)) for client, agent in pairs]
    return tuple(players[run.agent].run(run) for run in scenario.runs)


@dataclass(slots=True)
class Tools:
    """The tools of an agent, which answer as their specs say."""

    specs: Mapping[str, ToolSpec]
    used: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def of(cls, agent: AgentSpec) -> Self:
        """Return the tools of an agent, none of them used yet."""
        return cls({spec.name: spec for spec in agent.tools})

    def result(self, call: ToolCall) -> str:
        """Return what a call gives; an error is told to the model as text."""
        spec = self.specs.get(call.name)
        if spec is None:
            return f"error: there is no tool '{call.name}'"
        if spec.error is not None:
            return f"error: {spec.error}"
        recorded = spec.by_call.get(call.id)
        if recorded is not None:
            self.used[call.id] += 1
            return decoded(recorded[min(self.used[call.id], len(recorded)) - 1])
        return decoded("".join(spec.chunks or ()) or spec.result).replace(
            "<args>", call.arguments
        )


@dataclass(slots=True)
class ClientPlayer:
    """Plays the runs of one agent, one after the other."""

    client: Client
    agent: AgentSpec
    tools: Tools
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def run(self, run: RunSpec) -> str:
        """Play one run; return its last answer, or how the model failed."""
        import openai  # noqa: PLC0415  # of the extra ``dev``

        if not run.continues:
            text = decoded(self.agent.instruction)
            self.history = [{"role": "system", "content": text}] if text else []
        self.history += [_sent(parse_message(text)) for text in run.input]
        try:
            return self._loop(streaming=run.streaming)
        except openai.APIError as error:
            return f"{type(error).__name__}: {error.message}"

    def _loop(self, *, streaming: bool) -> str:
        for _ in range(self.agent.max_iterations):
            answer = self._ask(streaming=streaming)
            self.history.append(_sent(answer))
            if not answer.tool_calls:
                return answer.content or str(answer.extra.get("refusal", ""))
            self.history += [
                {
                    "role": "tool",
                    "tool_call_id": call.id,
                    "content": self.tools.result(call),
                }
                for call in answer.tool_calls
            ]
        return "no iteration is left"

    def _ask(self, *, streaming: bool) -> Message:
        from openai.lib.streaming.chat import (  # noqa: PLC0415  # of the extra ``dev``
            ChatCompletionStreamState,
        )

        body: dict[str, Any] = {"model": MODEL, "messages": self.history}
        if self.agent.tools:
            body["tools"] = [_offered(spec) for spec in self.agent.tools]
        create: Callable[..., Any] = self.client.chat.completions.create
        if not streaming:
            return _message(create(**body))
        usage = {"include_usage": True}
        state = ChatCompletionStreamState()
        with create(**body, stream=True, stream_options=usage) as events:
            for each in events:
                state.handle_chunk(each)
        return _message(state.current_completion_snapshot)


def _offered(spec: ToolSpec) -> dict[str, Any]:
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    about = {"name": spec.name, "description": f"tool {spec.name}"}
    return {"type": "function", "function": {**about, "parameters": parameters}}


def _sent(message: Message) -> dict[str, Any]:
    return chat_message(message, message.extra)


def _message(answer: Any) -> Message:  # noqa: ANN401  # a ChatCompletion
    message = answer.choices[0].message
    calls = tuple(
        ToolCall(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or ()
        if call.type == "function"
    )
    extra = {"refusal": message.refusal} if message.refusal else {}
    return Message("assistant", message.content or "", calls, extra=extra)
