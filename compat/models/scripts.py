"""Conversations and chats as scenarios: what the model said, and the world around it.

The client's part is played as well: results of tools stand by the ids of their calls,
and messages that a client put into a running conversation are put there by a handler.
What was not recorded is not made up: a tool that was called last gives
``(not recorded)``, and the model call after that fails by that name.

A chat of a log is played as it was, too: each message of a user begins a turn, what the
assistant said is the model's script, and tools give what they gave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from compat.models.conversations import Conversation, Link, conversations
from compat.models.errors import ShapeError
from compat.models.exchanges import RecordedStep
from compat.wire.interfaces.recorded import RecordedAnswer
from refengine.messages import Message, ToolCall
from refengine.testing.notation import decoded, encoded, write_chunk, write_message
from refengine.testing.scenario import Scenario
from refengine.testing.scenario_files import read_scenario

NOT_RECORDED: Final = "not recorded"
CLIENT: Final = "client"
ITERATIONS: Final = 20
"""What an agent has without ``max_iterations``."""


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """One conversation: its scenario, the numbers of its exchanges in the file.

    ``notes`` tell what the scenario plays otherwise than it was recorded.
    """

    scenario: Scenario
    exchanges: tuple[int, ...]
    notes: tuple[str, ...] = ()


def sessions(steps: Sequence[RecordedStep]) -> tuple[RecordedSession, ...]:
    """Return a session for each conversation."""
    return tuple(map(_session, conversations(steps)))


def _session(conversation: Conversation) -> RecordedSession:
    scenario = scenario_of(conversation, plays_client=True)
    numbers = tuple(step.number for step in conversation.steps)
    return RecordedSession(scenario, numbers, tuple(_notes(conversation)))


def scenario_of(conversation: Conversation, *, plays_client: bool) -> Scenario:
    """Return a conversation as a scenario.

    Without ``plays_client`` what the client put into a running conversation is left to
    whoever is played in it.
    """
    script = [entry_of(step.answer) for step in conversation.steps]
    if _open(conversation):
        script.append({"error": NOT_RECORDED})
    added = list(_added(conversation)) if plays_client else []
    scenario = {
        "agent": _agent(conversation, added),
        "model_script": script,
        "runs": _runs(conversation),
    }
    return read_scenario(scenario)


def entry_of(answer: RecordedAnswer) -> str | dict[str, Any]:
    """Return an answer as an entry of a model script."""
    if answer.chunks:
        chunks: dict[str, Any] = {"chunks": list(map(write_chunk, answer.chunks))}
        return chunks | ({"stream_error": answer.failure} if answer.failure else {})
    if answer.message is None:
        return {"error": answer.failure}
    return write_message(answer.message)


def _open(conversation: Conversation) -> bool:
    """Tell whether the recording ends before the last calls were answered."""
    last = conversation.steps[-1].answer.whole
    return last is not None and bool(last.tool_calls)


def _agent(
    conversation: Conversation, added: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    agent: dict[str, Any] = {}
    tools = _tools(conversation)
    if tools:
        agent["tools"] = tools
    if added:
        agent["handlers"] = [{"id": CLIENT, "before_model": list(added)}]
    longest = max(map(len, run_steps(conversation))) + _open(conversation)
    if longest > ITERATIONS:
        agent["max_iterations"] = longest
    return agent


def _tools(conversation: Conversation) -> list[dict[str, Any]]:
    """Return the tools of all requests, and those that were called without being any.

    A tool that a later request brings is there from the start.
    """
    names = [name for step in conversation.steps for name in step.request.tools]
    names += sorted(_called(conversation))
    return [_tool(name, conversation.links) for name in dict.fromkeys(names)]


def _called(conversation: Conversation) -> set[str]:
    answers = [
        each for step in conversation.steps if (each := step.answer.whole) is not None
    ]
    return {call.name for each in answers for call in each.tool_calls if call.name}


def _tool(name: str, links: Sequence[Link]) -> dict[str, Any]:
    by_call: dict[str, list[str]] = {}
    for call, result in (each for link in links for each in link.results):
        if call.name == name:
            by_call.setdefault(call.id, []).append(encoded(result))
    spec: dict[str, Any] = {"name": name, "result": f"({NOT_RECORDED})"}
    return spec | ({"by_call": by_call} if by_call else {})


def _added(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield operations that do what the client did before a model call."""
    for number, link in enumerate(conversation.links, 2):
        for message in () if link.turn else link.added:
            text = write_message(message)
            yield {"op": "append", "on_call": number, "msg": text}


def _runs(conversation: Conversation) -> list[dict[str, Any]]:
    inputs: list[tuple[Message, ...]] = [conversation.steps[0].request.messages]
    inputs += [link.added for link in conversation.links if link.turn]
    return [
        {
            "input": list(map(write_message, given)),
            **({"continues": True} if at else {}),
            **({"streaming": True} if steps[0].request.streaming else {}),
        }
        for at, (given, steps) in enumerate(
            zip(inputs, run_steps(conversation), strict=True)
        )
    ]


def run_steps(conversation: Conversation) -> list[list[RecordedStep]]:
    """Return the steps of each run of a conversation."""
    found = [[conversation.steps[0]]]
    for step, link in zip(conversation.steps[1:], conversation.links, strict=True):
        if link.turn:
            found.append([step])
        else:
            found[-1].append(step)
    return found


def _notes(conversation: Conversation) -> Iterator[str]:
    """Yield what the scenario plays otherwise, by the number of the exchange."""
    for step in conversation.steps:
        yield from (f"exchange {step.number}: {note}" for note in step.answer.notes)
    for step, link in zip(conversation.steps[1:], conversation.links, strict=True):
        notes = dict.fromkeys(link.notes)
        yield from (f"exchange {step.number}: {note}" for note in notes)
        if any(decoded(encoded(text)) != text for _, text in link.results):
            yield f"exchange {step.number}: a result has '<u+d…>', half a character"
        if link.added and not link.turn:
            count = len(link.added)
            yield f"exchange {step.number}: messages put in by a handler: {count}"
    offered = [set(step.request.tools) for step in conversation.steps]
    if any(each != offered[0] for each in offered):
        yield "the tools changed between requests: all are there from the start"
    for name in sorted(_called(conversation).difference(*offered)):
        yield f"{name!r} is called without being a tool of any request"
    if _open(conversation):
        yield "the recording ends with calls whose results are not in it"


_UNSAID: Final = f"assistant:({NOT_RECORDED})"


@dataclass
class _Chat:
    """What was read of a chat so far."""

    script: list[str] = field(default_factory=list[str])
    runs: list[list[str]] = field(default_factory=list[list[str]])
    lengths: list[int] = field(default_factory=list[int])
    input: list[str] = field(default_factory=list[str])
    open: list[ToolCall] = field(default_factory=list[ToolCall])
    results: dict[str, dict[str, list[str]]] = field(
        default_factory=dict[str, dict[str, list[str]]]
    )
    asked: bool = False
    """Whether the model is to speak: a user or a tool was the last who did."""

    def read(self, message: Message, place: str) -> None:
        """Take one message; raises ShapeError for one that no agent has there."""
        if message.role == "tool":
            self.result(message, place)
            return
        if self.open:
            raise ShapeError(
                place,
                f"comes before the result of call {self.open[0].id!r}:"
                " put a message of role 'tool' with that 'tool_call_id' before it",
            )
        if message.role == "assistant":
            self.answer(message, place)
            return
        if self.asked and not self.input:
            self.said(_UNSAID)  # who spoke into a running turn began another one
        self.input.append(write_message(message))
        self.asked = self.asked or message.role == "user"

    def answer(self, message: Message, place: str) -> None:
        """Take what the model said; before a user spoke it is a part of the input."""
        if self.asked:
            self.said(write_message(message))
            self.open = list(message.tool_calls)
            for call in message.tool_calls:
                self.results.setdefault(call.name, {})
        elif self.runs:
            raise ShapeError(
                place,
                "is an answer that nobody asked for: put what the user said before it,"
                " or join it with the answer before",
            )
        else:
            self.input.append(write_message(message))

    def said(self, text: str) -> None:
        """Put down an answer of the model."""
        if self.input:
            self.runs.append(self.input)
            self.lengths.append(0)
            self.input = []
        self.script.append(text)
        self.lengths[-1] += 1
        self.asked = False

    def result(self, message: Message, place: str) -> None:
        """Put down what a tool gave; by its place where it names no call."""
        id_ = message.tool_call_id or ""
        found = [call for call in self.open if call.id == id_ or not id_]
        if not found:
            raise ShapeError(
                place,
                f"is a result of call {id_!r}, which the assistant's message before it"
                " does not hold: give the 'tool_call_id' of one that it holds",
            )
        call = found[0]
        self.open.remove(call)
        by_call = self.results.setdefault(call.name, {})
        by_call.setdefault(call.id, []).append(encoded(message.content))
        self.asked = not self.open


def chat_scenario(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return a chat as the JSON of a scenario; raises ShapeError.

    ``tools`` are those that were offered, as a scenario has them; those that were
    called without being offered are there as well.
    """
    chat = _Chat()
    first = messages[0] if messages else None
    instruction = first.content if first and first.role == "system" else ""
    start = 1 if first is not None and first.role == "system" else 0
    for at, message in enumerate(messages[start:], start):
        chat.read(message, f"messages[{at}]")
    if chat.input:
        chat.runs.append(chat.input)
    if not any(text.startswith(("user:", "{")) for run in chat.runs for text in run):
        raise ShapeError("messages", "hold nothing that a user said: add it")
    agent: dict[str, Any] = {}
    if instruction:
        agent["instruction"] = encoded(instruction)
    declared = {str(each["name"]): dict(each) for each in tools}
    names = dict.fromkeys([*declared, *chat.results])
    if names:
        agent["tools"] = [
            _told(declared.get(name, {"name": name}), chat.results.get(name, {}))
            for name in names
        ]
    if max(chat.lengths, default=0) + 1 > ITERATIONS:
        agent["max_iterations"] = max(chat.lengths) + 1
    return {"agent": agent, "model_script": chat.script, "runs": _turns(chat.runs)}


def _turns(inputs: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    return [
        {"input": list(each), **({"continues": True} if at else {})}
        for at, each in enumerate(inputs)
    ]


def _told(spec: dict[str, Any], by_call: dict[str, list[str]]) -> dict[str, Any]:
    made = {"result": f"({NOT_RECORDED})", **spec}
    return made | ({"by_call": by_call} if any(by_call.values()) else {})
