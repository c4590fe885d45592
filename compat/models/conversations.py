"""Which exchanges of a file belong together, and what happened between them.

A request goes on with a conversation if its messages begin with those of the last
request and, where that was answered, with the answer. Conversations may be told one
inside the other, as an agent does that is a tool of another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from compat.models.exchanges import RecordedStep
from refengine.messages import Message, ToolCall

SAME: Final = 2
CHANGED: Final = 1
FAILED: Final = 0


@dataclass(frozen=True, slots=True)
class Link:
    """How a step goes on from the one before: in its run, or in a turn of its own.

    ``results`` are what the calls of the answer gave, in their order; ``added`` are the
    messages that the client put behind, the input of a turn. ``notes`` tell where the
    client sent something back otherwise than it had come; the more alike, the surer.
    """

    turn: bool
    added: tuple[Message, ...]
    results: tuple[tuple[ToolCall, str], ...] = ()
    notes: tuple[str, ...] = ()
    likeness: int = SAME


@dataclass(slots=True)
class Conversation:
    """Steps in their order, each but the first with its link to the one before."""

    steps: list[RecordedStep]
    links: list[Link] = field(default_factory=list[Link])


def conversations(steps: Sequence[RecordedStep]) -> list[Conversation]:
    """Put steps into conversations, in the order in which they began."""
    found: list[Conversation] = []
    for step in steps:
        fitting = [
            (link.likeness, at, each, link)
            for at, each in enumerate(found)
            if (link := link_of(each.steps[-1], step)) is not None
        ]
        if not fitting:
            found.append(Conversation([step]))
            continue
        *_, best, link = max(fitting, key=lambda each: each[:2])
        best.steps.append(step)
        best.links.append(link)
    return found


def link_of(last: RecordedStep, step: RecordedStep) -> Link | None:
    """Return how a step goes on from another, or None if it does not."""
    before, now = last.request.messages, step.request.messages
    if len(now) <= len(before) or not all(map(_equal, before, now)):
        return None
    rest = now[len(before) :]
    answer = last.answer.whole
    if answer is None:
        return Link(turn=True, added=rest, likeness=FAILED)
    for length in range(1, _assistants(rest) + 1):
        link = _after(answer, rest[:length], rest[length:])
        if link is not None:
            return link
    return None


def echo_of(last: RecordedStep, step: RecordedStep) -> Link | None:
    """Return how a step goes on from one whose history it tells otherwise, or None.

    An agent that keeps a history short, or rewrites it, sends other messages than it
    did before. What tells then is the answer, if it is the last one that is sent back.
    """
    answer, now = last.answer.whole, step.request.messages
    places = [at for at, each in enumerate(now) if each.role == "assistant"]
    if answer is None or not places or not (answer.content or answer.tool_calls):
        return None
    at = places[-1]
    return _after(answer, now[at : at + 1], now[at + 1 :])


def _after(
    answer: Message, echo: Sequence[Message], rest: Sequence[Message]
) -> Link | None:
    """Return the link if ``echo`` is the answer as the client sent it back."""
    calls = [call for each in echo for call in each.tool_calls]
    if list(map(_named, calls)) != list(map(_named, answer.tool_calls)):
        return None
    text = "".join(each.content for each in echo)
    if not _same_text(answer.content, text):
        return None
    notes = tuple(_changes(answer, text, calls, len(echo)))
    likeness = CHANGED if text != answer.content else SAME
    if not calls:
        return Link(turn=True, added=tuple(rest), notes=notes, likeness=likeness)
    count = next((n for n, each in enumerate(rest) if each.role != "tool"), len(rest))
    results = _results(answer.tool_calls, rest[:count])
    if results is None:
        return None
    notes += tuple(_ordered(answer.tool_calls, rest[:count]))
    added = tuple(rest[count:])
    return Link(
        turn=False, added=added, results=results, notes=notes, likeness=likeness
    )


def _ordered(calls: Sequence[ToolCall], given: Sequence[Message]) -> Iterator[str]:
    ids, found = [call.id for call in calls], [each.tool_call_id for each in given]
    if ids != found:
        how = "in another order than" if any(found) else "without the ids of"
        yield f"the client sent the results {how} their calls"


def _results(
    calls: Sequence[ToolCall], given: Sequence[Message]
) -> tuple[tuple[ToolCall, str], ...] | None:
    """Return what each call gave, or None if that is not said of each.

    By their ids; by their places where the results have no ids, or calls the same.
    """
    ids = [call.id for call in calls]
    by_id = {each.tool_call_id: each.content for each in given}
    if len(given) != len(calls):
        return None
    if len(set(ids)) == len(ids) and by_id.keys() == set(ids):
        return tuple((call, by_id[call.id]) for call in calls)
    pairs = list(zip(calls, given, strict=True))
    if any(each.tool_call_id not in {"", call.id} for call, each in pairs):
        return None
    return tuple((call, each.content) for call, each in pairs)


def _changes(
    answer: Message, text: str, calls: Sequence[ToolCall], length: int
) -> Iterator[str]:
    if text != answer.content:
        yield "the client sent the answer back with another text"
    if length > 1:
        yield f"the client sent the answer back in {length} messages"
    for ours, theirs in zip(answer.tool_calls, calls, strict=True):
        if ours.arguments != theirs.arguments:
            same = _tree(ours.arguments) == _tree(theirs.arguments)
            how = "written otherwise" if same else "of another value"
            yield f"the client sent arguments back {how}"


def _tree(arguments: str) -> object:
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def _named(call: ToolCall) -> tuple[str, str]:
    return call.id, call.name


def _same_text(said: str, back: str) -> bool:
    """Tell whether a text may be the answer's: clients trim it, or add reasoning."""
    said, back = said.strip(), back.strip()
    return said == back or not said or bool(back and (said in back or back in said))


def _assistants(messages: Sequence[Message]) -> int:
    """Return how many messages of the model stand first."""
    others = (n for n, each in enumerate(messages) if each.role != "assistant")
    return next(others, len(messages))


def _equal(one: Message, other: Message) -> bool:
    return key_of(one) == key_of(other)


def key_of(message: Message) -> tuple[object, ...]:
    """Return what a client sends back of a message, whatever the vendor."""
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return message.role, message.content, calls, message.tool_call_id
