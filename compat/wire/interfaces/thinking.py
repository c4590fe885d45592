"""What a model thought, and a program sends back with its history.

Each vendor has a form of its own for it, sealed or signed, and nobody else can read it.
So it is not part of a canonical message: it is taken out, with the place where it
stood, and put back there when a request is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from compat.wire.interfaces.request import Tree, parts_of, with_parts
from compat.wire.interfaces.said import REASONING
from refengine.messages import Json, Message
from refengine.testing.json_values import is_list, is_mapping, thawed

THOUGHTS: Final = "thoughts"
"""Key among what is an interface's own; each has ``message``, ``at`` and ``part``."""


def thought_of(message: Message) -> str:
    """Return what a model thinks before it says an answer of a script."""
    return str(message.extra.get(REASONING) or "")


def without_thoughts(
    messages: Iterable[Message], is_thought: Callable[[Tree], bool]
) -> tuple[tuple[Message, ...], list[Json]]:
    """Return messages without thoughts, and these with their places."""
    kept: list[Message] = []
    thoughts: list[Json] = []
    for each in messages:
        parts = parts_of(each)
        places = [at for at, p in enumerate(parts) if is_mapping(p) and is_thought(p)]
        for at in places:
            place: dict[str, Json] = {"message": len(kept), "at": at}
            thoughts.append({**place, "part": thawed(parts[at])})
        rest = [part for at, part in enumerate(parts) if at not in places]
        plain = with_parts(each, rest) if places else each
        if not places or plain.content or plain.tool_calls or plain.extra:
            kept.append(plain)
    return tuple(kept), thoughts


def with_thoughts(messages: Sequence[Message], thoughts: object) -> Iterator[Message]:
    """Yield messages with the thoughts that were taken out of them."""
    given = [each for each in thoughts if is_mapping(each)] if is_list(thoughts) else []
    for number in range(len(messages) + 1):
        mine = [each for each in given if each["message"] == number]
        here = messages[number] if number < len(messages) else None
        if mine and (here is None or here.role != "assistant"):
            yield with_parts(Message("assistant", ""), _put([], mine))
        elif mine and here is not None:
            yield with_parts(here, _put(parts_of(here), mine))
        if here is not None and not (mine and here.role == "assistant"):
            yield here


def _put(parts: Sequence[Json], thoughts: Sequence[Mapping[str, Any]]) -> list[Json]:
    found = list(parts)
    for each in thoughts:
        found.insert(each["at"], each["part"])
    return found
