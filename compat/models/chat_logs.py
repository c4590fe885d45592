"""Chats as logs hold them: read whatever the shape, and told as scenarios.

Messages are those of chat completions, of Anthropic's blocks, or of LangChain, as
``{"role": "user", "content": "hi"}`` or ``{"type": "human", "data": {…}}``. A chat is
played as it was: each message of a user begins a turn, what the assistant said is the
model's script, and tools give what they gave. What was not recorded is not made up: a
tool whose result is missing at the end gives ``(not recorded)``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from compat.models.chat_parts import LeftOut
from compat.models.chat_requests import message_of
from compat.models.errors import ShapeError
from compat.models.scripts import ITERATIONS, NOT_RECORDED
from refengine.messages import Message, ToolCall
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import encoded, write_message

TYPES: Final[Mapping[str, str]] = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "tool": "tool",
    "user": "user",
    "assistant": "assistant",
}
"""LangChain's types of messages, by the role that each has."""
ROLES: Final = frozenset(("system", "developer", "user", "assistant", "tool"))
_OLD: Final = "function"
_UNSAID: Final = f"assistant:({NOT_RECORDED})"


def is_message(tree: object) -> bool:
    """Tell whether a JSON value is one message of a chat, in any of the shapes."""
    if not is_mapping(tree):
        return False
    role, kind = tree.get("role"), tree.get("type")
    return role in ROLES or role == _OLD or kind in TYPES


def chat_messages(trees: Sequence[object], system: object = None) -> list[Message]:
    """Return the messages of a chat; raises ShapeError with the place of a bad one.

    ``system`` is the instruction where it stands beside the messages.
    """
    found: list[Message] = []
    if system is not None:
        found.append(_read({"role": "system", "content": system}, "system"))
    for at, tree in enumerate(trees):
        place = f"messages[{at}]"
        found += [_read(each, place) for each in _plain(tree, place)]
    return found


def _read(tree: Mapping[str, Any], place: str) -> Message:
    try:
        return message_of(tree, LeftOut())
    except ShapeError as error:
        inner = error.path.removeprefix("request.messages[]")
        raise ShapeError(f"{place}{inner}", error.problem) from None


def _plain(tree: object, place: str) -> Iterator[Mapping[str, Any]]:
    """Yield a message as chat completions have it; blocks may hold several."""
    if not is_mapping(tree):
        raise ShapeError(place, "is not an object with 'role' and 'content'")
    if "role" not in tree:
        tree = _of_langchain(tree, place)
    if tree["role"] not in ROLES and tree["role"] != _OLD:
        known = ", ".join(sorted(ROLES))
        raise ShapeError(f"{place}.role", f"is {tree['role']!r}, none of {known}")
    content = tree.get("content")
    blocks = content if is_list(content) else ()
    if any(is_mapping(b) and b.get("type") in _BLOCKS for b in blocks):
        yield from _of_blocks(tree, blocks)
    else:
        yield tree


def _of_langchain(tree: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    data = tree.get("data")
    inner = data if is_mapping(data) else tree
    role = TYPES.get(str(tree.get("type")))
    if role is None:
        raise ShapeError(place, 'has no \'role\', such as "user" or "assistant"')
    made: dict[str, Any] = {"role": role, "content": inner.get("content")}
    if inner.get("tool_call_id"):
        made["tool_call_id"] = inner["tool_call_id"]
    calls = inner.get("tool_calls")
    if role == "assistant" and is_list(calls) and calls:
        made["tool_calls"] = [_call(each) for each in calls]
        # The same calls may stand among the blocks once more.
        if is_list(made["content"]):
            made["content"] = [b for b in made["content"] if not _is_call(b)]
    return made


def _call(call: object) -> object:
    if not is_mapping(call) or "args" not in call:
        return call
    function = {"name": call.get("name"), "arguments": _json(call["args"])}
    return {"id": call.get("id"), "type": "function", "function": function}


_BLOCKS: Final = frozenset(("tool_use", "tool_result"))


def _is_call(block: object) -> bool:
    return is_mapping(block) and block.get("type") == "tool_use"


def _of_blocks(
    tree: Mapping[str, Any], blocks: Sequence[Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield a message of Anthropic's: results first, as calls are answered at once."""
    rest = [b for b in blocks if not (is_mapping(b) and b.get("type") in _BLOCKS)]
    for each in blocks:
        if is_mapping(each) and each.get("type") == "tool_result":
            yield {
                "role": "tool",
                "tool_call_id": each.get("tool_use_id"),
                "content": each.get("content"),
            }
    calls = [
        {
            "id": each.get("id"),
            "type": "function",
            "function": {
                "name": each.get("name"),
                "arguments": _json(each.get("input")),
            },
        }
        for each in blocks
        if _is_call(each)
    ]
    if calls:
        yield {"role": tree["role"], "content": rest, "tool_calls": calls}
    elif rest:
        yield {"role": tree["role"], "content": rest}


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
            _tool(declared.get(name, {"name": name}), chat.results.get(name, {}))
            for name in names
        ]
    if max(chat.lengths, default=0) + 1 > ITERATIONS:
        agent["max_iterations"] = max(chat.lengths) + 1
    return {"agent": agent, "model_script": chat.script, "runs": _runs(chat.runs)}


def _runs(inputs: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    return [
        {"input": list(each), **({"continues": True} if at else {})}
        for at, each in enumerate(inputs)
    ]


def _tool(spec: dict[str, Any], by_call: dict[str, list[str]]) -> dict[str, Any]:
    made = {"result": f"({NOT_RECORDED})", **spec}
    return made | ({"by_call": by_call} if any(by_call.values()) else {})
