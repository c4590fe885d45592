"""Conversations as scenarios: what the model answered, and the world around it.

The client's part is played as well: results of tools stand by the ids of their calls,
and messages that a client put into a running conversation are put there by a handler.
What was not recorded is not made up: a tool that was called last gives
``(not recorded)``, and the model call after that fails by that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compat.models.chat_answers import RecordedAnswer
from compat.models.conversations import Conversation, Link, conversations
from compat.models.exchanges import RecordedStep
from refengine.messages import Message
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
    script = [entry_of(step.answer) for step in conversation.steps]
    if _open(conversation):
        script.append({"error": NOT_RECORDED})
    scenario = {
        "agent": _agent(conversation),
        "model_script": script,
        "runs": _runs(conversation),
    }
    numbers = tuple(step.number for step in conversation.steps)
    return RecordedSession(
        read_scenario(scenario), numbers, tuple(_notes(conversation))
    )


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


def _agent(conversation: Conversation) -> dict[str, Any]:
    agent: dict[str, Any] = {}
    tools = _tools(conversation)
    if tools:
        agent["tools"] = tools
    added = list(_added(conversation))
    if added:
        agent["handlers"] = [{"id": CLIENT, "before_model": added}]
    longest = max(map(len, _run_steps(conversation))) + _open(conversation)
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
            zip(inputs, _run_steps(conversation), strict=True)
        )
    ]


def _run_steps(conversation: Conversation) -> list[list[RecordedStep]]:
    """Return the steps of each run."""
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
